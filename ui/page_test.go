package ui_test

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

// board returns a page with a table.
func board(n, edition int) string {
	return fmt.Sprintf(`<title>Board %d</title><main><h1>Tenders %d</h1><p>Open tenders: %d</p><p class=price>%d.00 EUR</p>
<table><tr><th>No<th>What</tr><tr><td>1<td>Street lighting %d</tr><tr><td>2<td>Bridge</tr></table></main>`, n, n, edition, 100+edition, edition)
}

// furnish gives the daemon sources with a history, and a query.
func (r *rig) furnish() {
	for n := range 4 {
		path, id := fmt.Sprintf("/board%d", n), freshet.SourceID(fmt.Sprintf("board%d", n))
		r.web.PutHTML(path, board(n, 1))
		r.watch(client.NewSource{ID: id, URL: r.web.URL + path, Name: fmt.Sprintf("Board %d", n), Tags: []string{"boards", fmt.Sprintf("t%d", n%2)},
			Extract: map[string]any{"price": map[string]any{"css": ".price", "as": "number"}}})
		for edition := 2; edition < 5; edition++ {
			r.change(path, id, board(n, edition))
		}
	}
	r.watch(client.NewSource{ID: "broken", URL: r.web.URL + "/none", Name: "A page that is not there"})
	if _, err := r.api.Sinks.Add(r.Context(), "held", client.NewSink{Kind: "json", URL: r.web.URL + "/in", Tags: []string{"nobody"}, Paused: true}); err != nil {
		r.Fatal(err)
	}
	if _, err := r.api.Queries.Add(r.Context(), client.QueryToAdd{NewQuery: client.NewQuery{ID: "dearer", Name: "Dearer", When: "now.price > before.price"}, Backfill: "0"}); err != nil {
		r.Fatal(err)
	}
}

// screens are the addresses of the page, and what is there when a screen is.
var screens = map[string]string{
	"/":                              "document.querySelectorAll('.change').length > 3",
	"/changes":                       "document.querySelectorAll('.log .change').length > 3",
	"/changes?tag=t1&since=1h&q=2":   "document.querySelectorAll('.log .change').length > 0",
	"/sources":                       "document.querySelectorAll('.list-row').length == 5",
	"/sources/board1":                "document.querySelector('.diff') && document.querySelector('.say')",
	"/sources/board1?view=side":      "document.querySelector('.diff table')",
	"/sources/board1?view=words":     "document.querySelector('.diff del')",
	"/sources/board1/versions":       "document.querySelectorAll('tbody tr').length > 3",
	"/sources/board1/polls":          "document.querySelectorAll('tbody tr').length > 3",
	"/sources/board1/settings":       "document.querySelector('.preview pre')",
	"/sources/broken":                "document.querySelector('.trouble .remedies')",
	"/queries":                       "document.querySelector('.pick a[href]')",
	"/queries/dearer":                "document.querySelectorAll('tbody tr').length > 3",
	"/settings/history":              "document.querySelectorAll('.field').length > 4",
	"/settings/notifications":        "document.querySelector('h2')",
	"/settings/people":               "[...document.querySelectorAll('h2')].some(e => e.textContent == 'Tokens')",
	"/settings/browser":              "document.querySelector('.input.code')",
	"/settings/audit":                "document.querySelector('h2')",
	"/settings":                      "document.querySelectorAll('.field').length > 8",
	"/lab":                           "document.querySelectorAll('.policies input').length > 5",
	"/sinks":                         "document.querySelectorAll('tbody tr').length > 5",
	"/sinks/new?kind=ntfy":           "document.querySelectorAll('select option').length > 5",
	"/sinks/held":                    "document.querySelector('.say')",
	"/start":                         "document.querySelector('#address')",
	"/sources?q=tag%3At1&state=well": "document.querySelectorAll('.list-row').length == 2",
	"/sources/board0?from=1&to=4":    "document.querySelector('.diff')",
	"/sources/board0/versions?to=2":  "document.querySelector('.diff')",
	"/sources/board2?view=rendered":  "document.querySelector('iframe')",
}

// sizes are those of a desk and of a hand.
var sizes = []struct {
	name          string
	width, height int64
	schemes       [2]string // the first is looked at for all barriers, the other for those that colours make
}{{"desktop", 1280, 900, [2]string{"light", "dark"}}, {"phone", 390, 844, [2]string{"dark", "light"}}}

// Every screen shows what it is for, in both sizes and both colours, complains of
// nothing, asks nobody else for anything, and has no barrier that a program finds.
func TestScreens(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	for _, size := range sizes {
		b.resize(size.width, size.height, size.schemes[0])
		for _, path := range slices.Sorted(maps.Keys(screens)) {
			b.visit(path, screens[path])
			for i, scheme := range size.schemes {
				b.colours(scheme)
				where := size.name + "-" + scheme + " " + path
				b.clean(where)
				b.accessible(where, [][]string{nil, byColour}[i]...)
				b.shot(strings.NewReplacer("/", "_", "?", "_", "%", "_", "&", "_", "=", "_").Replace(size.name + "-" + scheme + path))
			}
		}
		b.expects(404)
		b.look(size.name+"-nowhere", "/nowhere", "document.body.textContent.includes('There is no such page')")
	}
}

// What was captured, and what sources are called, never runs.
func TestNothingCapturedRuns(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	const evil = `"><img src=x onerror=canary()><script>canary()</script><svg onload=canary()>javascript:canary()`
	page := func(n int) string {
		return fmt.Sprintf(`<title>%s</title><base href="javascript:canary()//"><p onclick=canary()>%d %s</p><pre>&lt;script&gt;canary()&lt;/script&gt;</pre>
<a href="javascript:canary()">go</a><iframe srcdoc="<script>parent.canary()</script>"></iframe><style>@import "http://127.0.0.2/x.css"; p{background:url(http://127.0.0.2/y.png)}</style>
<img src="http://127.0.0.2/z.png" onerror="canary()"><form action="javascript:canary()"><button autofocus onfocus=canary()>x</button></form><div class=price>%s</div>`, evil, n, evil, evil)
	}
	r.web.PutHTML("/evil", page(1))
	r.watch(client.NewSource{ID: "evil", URL: r.web.URL + "/evil?" + strings.ReplaceAll(evil, " ", "%20"), Name: evil, Tags: []string{"<script>canary()</script>"},
		Extract: map[string]any{"price": map[string]any{"css": ".price"}}})
	r.change("/evil", "evil", strings.ReplaceAll(page(2), evil, evil+" again"))
	if _, err := r.api.Queries.Add(r.Context(), client.QueryToAdd{NewQuery: client.NewQuery{ID: "q", Name: evil, Value: "text"}, Backfill: "0"}); err != nil {
		t.Fatal(err)
	}
	chat := r.receiver()
	chat.status.Store(400)
	if _, err := r.api.Sinks.Add(t.Context(), "evil", client.NewSink{Kind: "json", URL: chat.URL + "/in", Template: evil, Tags: []string{"<script>canary()</script>"}, Sources: []freshet.SourceID{"evil"}}); err != nil {
		t.Fatal(err)
	}
	r.change("/evil", "evil", page(3)) // is refused, and becomes a letter
	// A feed, headers and an error that are hostile, too.
	feed := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
			w.Header().Set("ETag", fmt.Sprintf(`"<script>canary(%d)</script>"`, n))
			var item strings.Builder
			_ = xml.EscapeText(&item, []byte(evil))
			fmt.Fprintf(w, `<rss version="2.0"><channel><title>%[1]s</title><item><guid>%[2]d %[1]s</guid><title>%[2]d %[1]s</title><link>javascript:canary()</link><description>%[1]s</description></item></channel></rss>`, &item, n)
		}
	}
	r.web.Answer("/feed", feed(0))
	r.watch(client.NewSource{ID: "evil-feed", URL: r.web.URL + "/feed"})
	r.changeBy("evil-feed", func() { r.web.Answer("/feed", feed(1)) })
	r.web.Answer("/away", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "javascript:canary()//<script>canary()</script>")
		w.WriteHeader(http.StatusMovedPermanently)
	})
	r.watch(client.NewSource{ID: "evil-away", URL: r.web.URL + "/away"})
	b := r.tab(1200, 900, "light")
	b.expects(404)
	b.expects(422)
	for _, path := range []string{
		"/", "/changes", "/changes?q=%3Cscript%3Ecanary()%3C%2Fscript%3E", "/sources", "/sources/evil", "/sources/evil?view=words", "/sources/evil?view=side", "/sources/evil?view=rendered", "/sources/evil/versions",
		"/sources/evil/settings", "/sources/evil/polls", "/sources/evil-feed", "/sources/evil-feed/versions", "/sources/evil-away", "/sources/evil-away/polls", "/queries", "/queries/q", "/settings", "/settings/people", "/settings/browser", "/lab", "/lab/%3Cscript%3Ecanary()%3C%2Fscript%3E", "/lab?tag=%3Cscript%3Ecanary()%3C%2Fscript%3E", "/sinks", "/sinks/evil", "/sinks/new?kind=%3Cscript%3Ecanary()%3C%2Fscript%3E", "/start", "/sources?q=" + "%3Cscript%3Ecanary()%3C%2Fscript%3E", "/sources/%3Cscript%3Ecanary()%3C%2Fscript%3E",
	} {
		b.visit("/start", "document.querySelector('#address')")
		eval[bool](b, "(window.canary = () => { window.ran = true }, true)")
		// A change of the address within the page keeps the canary alive.
		eval[bool](b, fmt.Sprintf("(history.pushState(null, '', %q), dispatchEvent(new PopStateEvent('popstate')), true)", path))
		there := "document.querySelector('main h1, main .wrong, main .title')"
		switch {
		case strings.Contains(path, "view=rendered"):
			there = "document.querySelector('iframe')"
		case strings.HasPrefix(path, "/sources/evil"):
			there = "document.querySelector('.tabs') && document.querySelector('.diff, .preview pre, tbody tr, .empty')"
		}
		b.await(there)
		b.await("!document.querySelector('.bars')")
		if eval[bool](b, "window.ran === true") {
			t.Errorf("%s: captured script ran", path)
		}
		for _, rights := range eval[[]string](b, "[...document.querySelectorAll('iframe')].map(e => e.getAttribute('sandbox') ?? 'all')") {
			if rights != "" {
				t.Errorf("%s: what was captured is framed with the rights %q", path, rights)
			}
		}
		b.clean(path)
		b.resize(390, 844, "dark")
		b.clean(path + " on a phone")
		b.shot("evil-" + strings.Map(func(c rune) rune {
			if strings.ContainsRune("/?%&=()<>", c) {
				return '_'
			}
			return c
		}, path))
		b.resize(1200, 900, "light")
		for _, link := range eval[[]string](b, "[...document.querySelectorAll('a[href], [src]')].map(e => e.href || e.src)") {
			if !strings.HasPrefix(link, "http") {
				t.Errorf("%s: a link leads to %s", path, link)
			}
		}
	}
	// A list whose entries are hostile is shown as text.
	b.visit("/start", "document.querySelector('.drop textarea')")
	eval[bool](b, "(window.canary = () => { window.ran = true }, true)")
	b.fill("Paste a list, or drop a file here", `<opml><outline text="&lt;img src=x onerror=canary()>" xmlUrl="javascript:canary()"/><outline text="&lt;script>canary()&lt;/script>" xmlUrl="https://example.com/&lt;svg onload=canary()>"/></opml>`)
	b.await("document.querySelectorAll('.numbers tbody tr').length == 2")
	if eval[bool](b, "window.ran === true || !!document.querySelector('.numbers img, .numbers svg[onload], .numbers a[href^=javascript]')") {
		t.Error("an entry of a list ran")
	}
	if to := b.foreign.Load(); to != nil {
		t.Errorf("the page asked for %s", *to)
	}
}

// A change shows by itself. When the daemon ends the page says so and keeps what it shows,
// and when the daemon is back the page catches up.
func TestLive(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/", "document.querySelectorAll('.change').length > 3")
	before := eval[int](b, "document.querySelectorAll('.change').length")
	change := func(edition int) {
		r.change("/board0", "board0", board(0, edition))
	}
	change(50)
	b.await(fmt.Sprintf("document.querySelectorAll('.change').length == %d && document.querySelector('.change').textContent.includes('50')", before+1))

	r.settings.API.Listen = strings.TrimPrefix(r.url, "http://")
	r.stop()
	b.await("document.querySelector('[role=alert]')?.textContent.includes('cannot be reached')")
	if n := eval[int](b, "document.querySelectorAll('.change').length"); n != before+1 {
		t.Errorf("while the daemon is away the page shows %d changes, want %d", n, before+1)
	}
	r.serve()
	change(51)
	change(52)
	b.await(fmt.Sprintf("!document.querySelector('.banner.bad') && document.querySelectorAll('.change').length == %d", before+3))
	if got := eval[[]string](b, "[...document.querySelectorAll('.change .what')].slice(0, 3).map(e => e.textContent)"); !strings.Contains(got[0], "52") || !strings.Contains(got[1], "51") || !strings.Contains(got[2], "50") {
		t.Errorf("the newest changes are %q, want 52, 51, 50", got)
	}
}

// Somebody without a mouse adds a source: an address, a look, a choice.
func TestAddByKeyboard(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/board", board(7, 1))
	b := r.tab(1440, 1000, "light")
	b.visit("/", "location.pathname == '/start' && document.querySelector('#address')")
	for range 20 {
		if eval[string](b, "document.activeElement.id") == "address" {
			break
		}
		b.press("\t")
	}
	b.press(r.web.URL + "/board")
	b.press("\r")
	b.await("document.querySelectorAll('input[type=radio]').length > 1")
	if all, err := r.api.Sources.List(t.Context(), client.SourceQuery{}); err != nil || len(all) != 0 {
		t.Errorf("a preview added %d sources, %v", len(all), err)
	}
	b.accessible("a look")
	b.shot("look")
	for range 20 {
		if eval[bool](b, "document.activeElement.textContent == 'Save'") {
			break
		}
		b.press("\t")
	}
	b.press("\r")
	b.await("location.pathname.startsWith('/sources/') && document.querySelector('.tabs')")
	b.await("document.querySelector('.tabs').textContent.includes('Versions 1')")
	if all, err := r.api.Sources.List(t.Context(), client.SourceQuery{}); err != nil || len(all) != 1 || all[0].Standing.Version != 1 {
		t.Errorf("%d sources are watched, %v", len(all), err)
	}
	b.clean("the new source")
}

// What is typed in the settings is saved once, and what a query had before is gone.
func TestSettingsAreSaved(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/sources/board1/settings", "document.querySelector('.preview pre')")
	fill := func(label, text string) {
		t.Helper()
		if !eval[bool](b, fmt.Sprintf(`(() => {
			const field = [...document.querySelectorAll('label')].find(l => l.querySelector('.label')?.textContent == %q)?.querySelector('input');
			if (!field) return false;
			field.value = %q;
			field.dispatchEvent(new Event('input', {bubbles: true}));
			return true;
		})()`, label, text)) {
			t.Fatalf("there is no field %q", label)
		}
	}
	press := func(word string) {
		t.Helper()
		b.await(fmt.Sprintf("[...document.querySelectorAll('button')].some(e => e.textContent == %q && !e.disabled)", word))
		eval[bool](b, fmt.Sprintf("([...document.querySelectorAll('button')].find(e => e.textContent == %q).click(), true)", word))
	}
	fill("Name", "Another name")
	press("Save")
	b.await("document.body.textContent.includes('Saved.') && [...document.querySelectorAll('button')].find(e => e.textContent == 'Save').disabled")
	if s, err := r.api.Sources.Get(t.Context(), "board1"); err != nil || s.Name != "Another name" || fmt.Sprint(s.Tags) != "[boards t1]" {
		t.Errorf("the source is saved as %q with the tags %v (%v)", s.Name, s.Tags, err)
	}

	patch := map[string]any{"scope": map[string]any{"tags": []string{"t0"}, "sources": []string{"board1"}}, "digest": map[string]any{"count": 3}}
	if _, err := r.api.Queries.Edit(t.Context(), "dearer", patch, 0); err != nil {
		t.Fatal(err)
	}
	b.visit("/queries/dearer", "document.querySelectorAll('tbody tr').length > 3")
	fill("Only these sources", "")
	fill("Send in one message", `{"every": "hour"}`)
	press("Save")
	b.await("document.body.textContent.includes('Saved.')")
	q, err := r.api.Queries.Get(t.Context(), "dearer")
	if err != nil || q.Scope == nil || fmt.Sprint(q.Scope.Tags, q.Scope.Sources) != "[t0] []" || strings.Contains(fmt.Sprint(q.Digest), "count") || q.When == "" {
		t.Errorf("the query is saved as %+v, scope %+v (%v)", q.NewQuery, q.Scope, err)
	}
	b.clean("saved")
}
