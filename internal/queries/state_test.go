package queries_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
	"freshet/internal/invalid"
	"freshet/internal/queries"
	"freshet/internal/store/sqlite"
)

// An archive is a store whose history is written beforehand.
type archive struct {
	testing.TB
	freshet.Store
	states queries.States
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	store, err := sqlite.Open(context.WithoutCancel(t.Context()), sqlite.Config{Features: features.All(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	scopes := func(_ context.Context, id queries.ID) (queries.Scope, error) {
		if id != "deals" {
			return queries.Scope{}, freshet.ErrNotFound
		}
		return queries.Scope{Sources: []freshet.SourceID{"kettles-a"}}, nil
	}
	read := func(ctx context.Context, r reading.Recipe, resp freshet.Response) (extract.Reading, error) {
		return extract.NewReader(extract.ReaderConfig{}).Read(ctx, r, resp)
	}
	return &archive{t, store, queries.States{Store: store, Scope: scopes, Read: read}}
}

// watch adds a source that extracts values of these types.
func (a *archive) watch(id, name string, tags []string, fields map[string]reading.ValueType) {
	a.Helper()
	s := freshet.Source{ID: freshet.SourceID(id), Name: name, URL: "http://user:secret@" + id + ".example/?key=secret", Tags: tags, Recipe: reading.Recipe{Extract: reading.Extracts{}}}
	for name, as := range fields {
		s.Recipe.Extract[name] = reading.Extract{CSS: "." + name, As: as}
	}
	if _, err := a.AddSource(a.Context(), s); err != nil {
		a.Fatal(err)
	}
}

// see commits a version.
func (a *archive) see(id string, after time.Duration, text string, fields freshet.Fields, quiet freshet.Quiet) {
	a.Helper()
	at := start.Add(after)
	r := freshet.Record{
		Outcome: freshet.Outcome{Source: freshet.SourceID(id), Since: at.Add(-time.Minute), Began: at, Ended: at, Result: freshet.Changed, Status: http.StatusOK, Requests: 1},
		Capture: &freshet.Capture{
			Recipe: reading.Recipe{}.Key(), Text: []byte(text), Hash: freshet.HashOf([]byte(text)), Summary: "other", Fields: fields, Title: "Page of " + id,
			Raw: freshet.Raw{Status: http.StatusOK, URL: "http://" + id + ".example/", Body: []byte(text)},
		},
	}
	if quiet == freshet.QuietSuspect {
		r.Capture.Quiet, r.Outcome.Suspect, r.Outcome.Result = quiet, suspect.Login, freshet.Doubted
	}
	if _, _, err := a.Commit(a.Context(), r); err != nil {
		a.Fatal(err)
	}
}

// ask returns the answer to a query some time after the start, one line a row.
func (a *archive) ask(text string, after time.Duration) string {
	a.Helper()
	table, err := a.states.Eval(a.Context(), queries.StateQuery{Text: text, AsOf: start.Add(after), Limit: 100})
	if err != nil {
		a.Fatalf("%s: %v", text, err)
	}
	return shown(table)
}

func shown(table queries.StateTable) string {
	var b strings.Builder
	for _, r := range table.Rows {
		var cells []string
		if r.Version != nil {
			cells = append(cells, string(r.Version.Source)+":")
		}
		for _, v := range r.Values {
			cells = append(cells, freshet.ShowValue(v))
		}
		b.WriteString(strings.Join(cells, " ") + "\n")
	}
	return b.String()
}

// shops is an archive of three shops, their stock lists, and a page of news.
func shops(t testing.TB) *archive {
	a := newArchive(t)
	fields := map[string]reading.ValueType{"price": reading.AsNumber, "shop": reading.AsText, "sku": reading.AsText, "status": reading.AsText, "tags": reading.AsList}
	a.watch("kettles-a", "Kettles at A", []string{"shop"}, fields)
	a.watch("kettles-b", "", []string{"shop"}, fields)
	a.watch("toasters-b", "", []string{"shop"}, fields)
	a.watch("rating", "", []string{"test"}, map[string]reading.ValueType{"code": reading.AsText, "stars": reading.AsNumber, "price": reading.AsNumber})
	a.watch("news", "Daily news", nil, nil)
	a.watch("empty", "", []string{"shop"}, nil)
	a.see("kettles-a", 0, "kettle 20", freshet.Fields{"price": 20.0, "shop": "A", "sku": "k1", "tags": []string{"red", "steel"}}, "")
	a.see("kettles-b", 0, "kettle 22", freshet.Fields{"price": 22.0, "shop": "B", "sku": "k1", "tags": []string{"red"}}, "")
	a.see("toasters-b", 0, "toaster 40", freshet.Fields{"price": 40.0, "shop": "B", "sku": "t1", "status": "down"}, "")
	a.see("rating", 0, "k1: 4", freshet.Fields{"code": "k1", "stars": 4.0, "price": 25.0}, "")
	a.see("news", 0, "nothing happened", nil, "")
	a.see("kettles-b", time.Hour, "kettle 18", freshet.Fields{"price": 18.0, "shop": "B", "sku": "k1"}, "")
	a.see("news", time.Hour, "outage at B", nil, "")
	a.see("kettles-a", 2*time.Hour, "are you a robot", freshet.Fields{"price": 1.0, "shop": "A"}, freshet.QuietSuspect)
	return a
}

func TestStateQueries(t *testing.T) {
	a := shops(t)
	for _, tt := range []struct {
		query string
		after time.Duration
		want  string
	}{
		{"min(price) by shop", 0, "A 20\nB 22\nrows without: \n"},
		{"min(price) by shop from tag:shop", 0, "A 20\nB 22\n"},
		{"min(price) by shop from tag:shop", time.Hour, "A 20\nB 18\n"},
		{"min(price) by shop from tag:shop", 3 * time.Hour, "A 20\nB 18\n"}, // a quarantined version is no state
		{"min(price) by shop from tag:shop", -time.Hour, ""},
		{"count() from tag:shop", -time.Hour, "0\n"},
		{"min(price), count() from tag:shop where price < 0", 0, "none 0\n"},
		{"max(price) - min(price), sum(price), avg(price), count(price < 21) from tag:shop", time.Hour, "22 78 26 2\n"},
		{"first(price), last(price) from tag:shop by sku", time.Hour, "k1 20 18\nt1 40 40\n"},
		{"shop, price from tag:shop sort price", time.Hour, "kettles-b: B 18\nkettles-a: A 20\ntoasters-b: B 40\n"},
		{"price from tag:shop sort price desc", time.Hour, "toasters-b: 40\nkettles-a: 20\nkettles-b: 18\n"},
		{"min(price) by shop from tag:shop sort min(price)", time.Hour, "B 18\nA 20\n"},
		{"count() by tags from tag:shop", 0, "red 2\nsteel 1\nnone 1\n"},
		{"by shop from tag:shop", 0, "A 1\nB 2\n"},
		{"count(), shop by shop from tag:shop", 0, "1 A\n2 B\n"},
		{"shop + '!' from kettles-a", 0, "kettles-a: A!\n"},
		{"price from \"Kettles at A\", toasters-b", 0, "kettles-a: 20\ntoasters-b: 40\n"},
		{"price from query:deals", 0, "kettles-a: 20\n"},
		{"source.id, source.url, state.version from kettles-b", time.Hour, "kettles-b: kettles-b http://***@kettles-b.example/?key=*** 2\n"},
		{"shop from tag:shop where price * 2 > 41", 0, "kettles-b: B\ntoasters-b: B\n"},
		{"shop from tag:shop where price < 30 || status == 'down'", 0, "kettles-a: A\nkettles-b: B\ntoasters-b: B\n"},
		{"where has(now.status) from tag:shop", 0, "toasters-b: 40 B t1 down none\n"},
		{"text where text.contains('20')", 0, "kettles-a: kettle 20\n"},
		{"shop join news where status == 'down' && news.text.contains('outage at ' + shop)", 0, ""},
		{"shop join news where status == 'down' && news.text.contains('outage at ' + shop)", time.Hour, "toasters-b: B\n"},
		{"shop, price, r.stars from tag:shop join tag:test as r on sku = code", 0, "kettles-a: A 20 4\nkettles-b: B 22 4\n"},
		{"shop from tag:shop join rating on sku = rating.code where price < rating.price - 4", 0, "kettles-a: A\n"},
		{"max(rating.stars) by shop from tag:shop join rating on sku == code", 0, "A 4\nB 4\n"},
		{"a.shop, shop from tag:shop join tag:shop as a on sku where a.price < price", 0, "kettles-b: A B\n"},
		{"count() from tag:shop join tag:shop as a join tag:shop as b", 0, "27\n"},
	} {
		got := a.ask(tt.query, tt.after)
		if strings.HasSuffix(tt.want, "rows without: \n") { // those without a shop come last
			tt.want = strings.TrimSuffix(tt.want, "rows without: \n") + "none 25\n"
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s\n%s", tt.query, diff)
		}
	}
}

func TestStateQueryCounts(t *testing.T) {
	a := shops(t)
	table, err := a.states.Eval(t.Context(), queries.StateQuery{Text: "price from tag:shop where status != 'up' sort price", AsOf: start, Offset: 0, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if table.Sources != 3 || table.Without != 1 || table.Missing != 2 || table.Total != 1 {
		t.Errorf("%+v", table)
	}
	table, err = a.states.Eval(t.Context(), queries.StateQuery{Text: "price from tag:shop sort price", AsOf: start, Offset: 1, Limit: 1})
	if err != nil || shown(table) != "kettles-b: 22\n" || table.Total != 3 {
		t.Errorf("%v %+v", err, table)
	}
	table, err = a.states.Eval(t.Context(), queries.StateQuery{Text: "count()", AsOf: start, Tag: "test", Limit: 10})
	if err != nil || shown(table) != "1\n" {
		t.Errorf("with a tag: %v %+v", err, table)
	}
	if _, err = a.states.Eval(t.Context(), queries.StateQuery{Text: "price join news", AsOf: start, Tag: "shop", Limit: 10}); err == nil {
		t.Error("a joined source is seen without the tag")
	}
}

// A value can have a name that means something else.
func TestStateQueryNames(t *testing.T) {
	a := newArchive(t)
	names := map[string]reading.ValueType{}
	fields := freshet.Fields{}
	for i, name := range []string{"type", "in", "by", "text", "source", "price-eur", "min", "string", "Ä"} {
		names[name], fields[name] = reading.AsNumber, float64(i)
	}
	a.watch("odd", "", nil, names)
	a.see("odd", 0, "words", fields, "")
	for query, want := range map[string]string{
		"now.type, now.by, now.text, text, min + 1": "odd: 0 2 3 words 7\n",
		"min(min), max(now.string)":                 "6 7\n",
	} {
		if got := a.ask(query, 0); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// Items are rows, and can be looked at as a list.
func TestStateQueryItems(t *testing.T) {
	a := newArchive(t)
	for _, id := range []string{"list-a", "list-b"} {
		s := freshet.Source{ID: freshet.SourceID(id), URL: "http://" + id + ".example/", Name: strings.ToUpper(id), Tags: []string{"list"}, Recipe: reading.Recipe{
			Items: reading.Items{CSS: "li", Fields: reading.Extracts{"price": {CSS: "i", As: reading.AsNumber}, "sku": {CSS: "b"}}},
		}}
		if _, err := a.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		price := map[string]int{"list-a": 5, "list-b": 7}[id]
		body := fmt.Sprintf("<ul><li><b>k1</b> kettle <i>%d</i></li><li><b>%s</b> own <i>3</i></li></ul>", price, id)
		resp := freshet.Response{Status: http.StatusOK, URL: s.URL, MediaType: "text/html", Body: []byte(body)}
		read, err := a.states.Read(t.Context(), s.Recipe, resp)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = a.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: s.ID, Began: start, Ended: start, Result: freshet.Changed, Status: http.StatusOK, Requests: 1},
			Capture: &freshet.Capture{Recipe: s.Recipe.Key(), Text: read.Text, Hash: freshet.HashOf(read.Text), Raw: freshet.Raw{Status: http.StatusOK, URL: s.URL, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(body)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"min(price), count() by sku from items of tag:list":                                      "k1 5 2\nlist-a 3 1\nlist-b 3 1\n",
		"sku, price from items of list-a sort price desc":                                        "list-a: k1 5\nlist-a: list-a 3\n",
		"sku, price - b.price from items of list-b join items of list-a as b on sku":             "list-b: k1 2\n",
		"source.name, sku from items of all where price > 6":                                     "list-b: LIST-B k1\n",
		"size(items), items.filter(i, i.price < 4).map(i, i.sku) from all where size(items) > 1": "list-a: 2 list-a\nlist-b: 2 list-b\n",
	} {
		if diff := cmp.Diff(want, a.ask(query, time.Hour)); diff != "" {
			t.Errorf("%s\n%s", query, diff)
		}
	}
}

// Mistakes have the place at which they are, and say what to do.
func TestStateQueryMistakes(t *testing.T) {
	a := shops(t)
	for _, tt := range []struct{ query, want string }{
		{"", "1:1: is empty"},
		{"   ", "1:1: is empty"},
		{"pric from tag:shop", `1:1: there is no name or function "pric"|did you mean price?`},
		{"min(pric) by shop", `1:5: there is no name or function "pric"|did you mean price?`},
		{"min(price)\n  by shpo", `2:6: there is no name or function "shpo"|did you mean shop?`},
		{"'é', nope", `1:6: there is no name or function "nope"`},
		{"min(price) * prize by shop", `1:14: there is no name or function "prize"|where rows are put together, a value is an aggregate such as first(price), or stands after by`},
		{"price by shop", `1:1: there is no name or function "price"|where rows are put together`},
		{"price where min(price) < 3", `1:13: min is about many rows, and can only be a value or stand after sort`},
		{"price where price", "1:13: this is a double and not true or false|compare it with something"},
		{"price where price <", "1:20: something is missing at the end of this expression"},
		{"price where", `1:12: something is missing after "where"`},
		{"price where shop < 3", "1:18: the types do not fit"},
		{"min(price) group by shop", `1:12: "group" is not expected here|write by shop, without group`},
		{"price from tag:shpo", `1:12: no source has the tag "shpo"`},
		{"price from kettle-a", `1:12: no source has the id or name "kettle-a"|did you mean kettles-a?`},
		{"price from Daily news", `1:12: "Daily news" is not the name of a source|put a name with spaces in quotes`},
		{"price from query:none", `1:12: there is no query "none"`},
		{"price from kettles-a, ", "1:22: the name of a source is missing"},
		{"price from kettles-a on sku", `1:12: "as" and "on" belong to join`},
		{"price join kettles-a", "1:12: the joined rows need a name|write join tag:shops as shop"},
		{"price join tag:shop as text", `1:24: "text" is not a name`},
		{"price join news join news", `1:22: two joins are named "news"`},
		{"price join news on sku = code = x", "1:20: this does not say which two values are equal"},
		{"code from tag:shop join rating", `1:1: there is no name or function "code"`},
		{"sku join rating on sku = cod", `1:26: there is no name or function "cod"|did you mean code?`},
		{"price where shop == 'A' where price < 3", `1:31: there are two parts that begin with "where"`},
		{"min(max(price))", "1:5: max cannot stand within min"},
		{"min()", "1:1: min needs a value"},
		{"min(price", "1:4: this bracket is not closed"},
		{"sum(shop)", "1:5: sum is about numbers, and this is a string"},
		{"min(source)", "1:5: min is about values that have an order"},
		{"price,, shop", "1:7: a value is missing here"},
		{"lowest(price, '1d')", `1:1: there is no name or function "lowest"`},
	} {
		_, err := a.states.Eval(t.Context(), queries.StateQuery{Text: tt.query, AsOf: start, Limit: 10})
		var m *queries.Mistake
		if !errors.As(err, &m) {
			t.Errorf("%q: %v", tt.query, err)
			continue
		}
		if got, _, _ := strings.Cut(tt.want, "|"); !strings.HasPrefix(fmt.Sprintf("%d:%d: %s|%s", m.Line, m.Column, m.Reason, m.Help), got) {
			t.Errorf("%q: %d:%d: %s, want %s", tt.query, m.Line, m.Column, m.Reason, got)
		}
		if _, help, _ := strings.Cut(tt.want, "|"); !strings.HasPrefix(m.Help, help) {
			t.Errorf("%q: the help is %q, want %q", tt.query, m.Help, help)
		}
	}
}

// A query ends when its client disconnects, and when it exceeds a bound.
func TestStateQueryIsBounded(t *testing.T) {
	a := shops(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.states.Eval(ctx, queries.StateQuery{Text: "price", AsOf: start, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for i := range 130 {
		id := fmt.Sprintf("many-%d", i)
		a.watch(id, "", []string{"many"}, nil)
		a.see(id, 0, "x"+strings.Repeat(id, 100), freshet.Fields{"n": float64(i)}, "")
	}
	_, err := a.states.Eval(t.Context(), queries.StateQuery{Text: "count() from tag:many join tag:many as a join tag:many as b", AsOf: start, Limit: 1})
	if f := (*invalid.Error)(nil); !errors.As(err, &f) || freshet.HintOf(err) == "" {
		t.Errorf("all combinations of 130 rows: %v", err)
	}
	_, err = a.states.Eval(t.Context(), queries.StateQuery{Text: "text, a.text from tag:many join tag:many as a join tag:shop as b join rating", AsOf: start, Limit: 1})
	if f := (*invalid.Error)(nil); !errors.As(err, &f) || freshet.HintOf(err) == "" {
		t.Errorf("60,000 pairs of texts: %v", err)
	}
}

// TestStateExamples: the queries of docs/reference/queries.md can be run.
func TestStateExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	a := shops(t)
	_, rest, _ := strings.Cut(string(page), "```state\n")
	text, _, _ := strings.Cut(rest, "```")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range regexp.MustCompile(`freshet query state '([^']*)'`).FindAllStringSubmatch(string(page), -1) {
		lines = append(lines, line[1])
	}
	if len(lines) < 12 {
		t.Fatalf("only %d queries were found", len(lines))
	}
	want := map[string]string{
		"min(price) by shop": "A 20\nB 18\nnone 25\n",
		"shop, other.shop from tag:shop join tag:shop as other on sku where price < other.price": "kettles-b: B A\n",
		`where status == "down" && news.text.contains("outage at " + shop) join news`:            "toasters-b: none 40 B t1 none down none\n",
		"max(price) - min(price), count() by sku from tag:shop":                                  "k1 2 2\nt1 0 1\n",
		"count() by source.tags": "shop 3\ntest 1\nnone 1\n",
		`shop from tag:shop join news where status == "down" && news.text.contains("outage")`: "toasters-b: B\n",
	}
	for _, line := range lines {
		got := a.ask(line, 3*time.Hour)
		if expected, ok := want[line]; ok && got != expected {
			t.Errorf("%s:\n%swant\n%s", line, got, expected)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("the page has no %s", line)
	}
}
