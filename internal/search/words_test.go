package search_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/search"
)

func TestIn(t *testing.T) {
	page := []string{"Security update 2.4.1 released", "Café in München closes, says the Mayor", "東京都の天気", "never mind OR not"}
	for query, want := range map[string]bool{
		"security":                      true,
		"SECURITY":                      true,
		"update security":               true, // in any order
		"security mayor":                true, // in other passages
		`"security update"`:             true,
		`"update security"`:             false,
		`"released Café"`:               false, // a phrase is within a passage
		"secur":                         false,
		"secur*":                        true,
		`"security upd"*`:               true,
		"cafe munchen":                  true,
		"CAFÉ":                          true,
		"2.4.1":                         true,
		"2.4.2":                         false,
		"security -mayor":               false,
		"security -minister":            true,
		"security NOT minister":         true,
		"minister OR mayor":             true,
		"minister | mayor":              true,
		"(minister OR mayor) security":  true,
		"(minister OR mayor) -security": false,
		"minister AND mayor":            false,
		`"or not"`:                      true, // in quotes it is a word
		`"OR"`:                          true,
		"東京":                            true,
		"京東":                            false,
		"天気":                            true,
		`"security update`:              true, // a quote that is not closed
		"NOT NOT security":              true,
		"security ---":                  true,
		"security + mayor":              true,
	} {
		q, err := search.Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if got := q.In(page...); got != want {
			t.Errorf("%s is found: %v, want %v", query, got, want)
		}
	}
}

func TestWrongQueries(t *testing.T) {
	for query, want := range map[string]string{
		"":                        "no word to search for",
		"  \t":                    "no word to search for",
		"!!! ***":                 "no word to search for",
		"-foo":                    "what is not wanted",
		"NOT foo":                 "what is not wanted",
		"foo OR -bar":             "what is not wanted",
		"foo OR":                  "side of an OR",
		"OR foo":                  "side of an OR",
		"(foo":                    "a ( without a )",
		"foo)":                    "a ) without a (",
		"()":                      "between ( and )",
		"foo NOT":                 "after a NOT",
		strings.Repeat("(", 1000): "parentheses are open",
		strings.Repeat("a ", 33):  "more than 32",
	} {
		if _, err := search.Parse(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: the error is %v, want one with %q", query, err, want)
		}
	}
}

func TestMarks(t *testing.T) {
	q, err := search.Parse(`"straße zu" OR munch* -nothing`)
	if err != nil {
		t.Fatal(err)
	}
	text := "Die Straße zu Münchhausen, nothing else"
	var got []string
	for _, m := range q.Marks(text) {
		got = append(got, text[m[0]:m[1]])
	}
	if want := []string{"Straße zu", "Münchhausen"}; !slices.Equal(got, want) {
		t.Errorf("marked are %q, want %q", got, want)
	}
}

func TestPassages(t *testing.T) {
	long := ""
	for i := range 100 {
		long += "This is sentence " + strings.Repeat("x", i%7+1) + strings.Repeat("y", i%5) + " of the text. "
	}
	all := slices.Collect(search.Passages("one\n\n ---\n  two three  \n" + long + "\nend"))
	if all[0] != "one" || all[1] != "two three" || all[len(all)-1] != "end" {
		t.Errorf("the passages are %q", all)
	}
	changed := slices.Collect(search.Passages(strings.Replace(long, "sentence", "a new sentence, a longer one,", 1)))
	before := slices.Collect(search.Passages(long))
	if n := len(changed); n < 5 || changed[n-1] != before[len(before)-1] {
		t.Errorf("after an edit at its beginning a line of %d passages ends otherwise", n)
	}
	if got := slices.Collect(search.Passages(strings.Repeat("ä", 5000))); len(got) < 4 || !utf8.ValidString(got[0]) {
		t.Errorf("a word without an end makes %d passages", len(got))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`"a b"* OR (c -d) | e*`, "a b c")
	f.Fuzz(func(t *testing.T, query, text string) {
		q, err := search.Parse(query)
		if err != nil {
			return
		}
		q.In(text)
		last := 0
		for _, m := range q.Marks(text) {
			if m[0] < last || m[1] <= m[0] || m[1] > len(text) {
				t.Fatalf("%q marks %v of %q", query, m, text)
			}
			last = m[1]
		}
		for _, p := range q.Phrases() {
			if len(p.Words) == 0 {
				t.Fatalf("%q has a phrase without words", query)
			}
			for _, w := range p.Words {
				if diff := cmp.Diff([]string{w}, strings.Fields(search.Folded(w))); diff != "" {
					t.Logf("%q is not one word: %s", w, diff)
				}
			}
		}
		joined := strings.Join(slices.Collect(search.Passages(text)), " ")
		if search.Folded(joined) != search.Folded(text) && utf8.ValidString(text) && len(text) < 400 {
			t.Fatalf("the passages of %q have other words: %q", text, joined)
		}
	})
}

// Runs of versions are joined as the words are: what the query says of each version by
// itself is what it says of them in runs.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query := rapid.SampledFrom([]string{"a", "a b", "a OR b", "a -b", "a b -c", "(a OR b) -c", "a OR (b -c)", "a (b OR c) -d -b"}).Draw(t, "query")
		q, err := search.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		const versions = 12
		has := map[string][versions]bool{} // by word
		for _, w := range []string{"a", "b", "c", "d"} {
			has[w] = [versions]bool(rapid.SliceOfN(rapid.Bool(), versions, versions).Draw(t, w))
		}
		of := make([][]search.Run, 0)
		for _, p := range q.Phrases() {
			var runs []search.Run
			for n, ok := range has[p.Words[0]] {
				if ok { // a passage of its own in each version
					runs = append(runs, search.Run{From: int64(n), To: int64(n + 1), Since: int64(10 * n), Until: int64(10 * (n + 1))})
				}
			}
			of = append(of, runs)
		}
		var found [versions]bool
		last := int64(-1)
		for _, r := range q.Runs(of) {
			if r.From <= last || r.To <= r.From || r.Since != 10*r.From || r.Until != 10*r.To {
				t.Fatalf("%s is found in %+v after %d", query, r, last)
			}
			for n := r.From; n < r.To; n++ {
				found[n] = true
			}
			last = r.To
		}
		for n := range versions {
			text := ""
			for w, in := range has {
				if in[n] {
					text += w + " "
				}
			}
			if want := q.In(text); found[n] != want {
				t.Fatalf("%s is found in version %d (%q): %v, want %v", query, n, text, found[n], want)
			}
		}
	})
}

func TestSnippet(t *testing.T) {
	text := strings.Repeat("before ", 100) + "the word " + strings.Repeat("after ", 100)
	q, err := search.Parse("word")
	if err != nil {
		t.Fatal(err)
	}
	got, marks := search.Snippet(text, q.Marks(text), 100)
	if len(got) > 110 || len(marks) != 1 || got[marks[0][0]:marks[0][1]] != "word" || !strings.HasPrefix(got, "…before") || !strings.HasSuffix(got, "…") {
		t.Errorf("cut to %q with %v", got, marks)
	}
	if got, _ := search.Snippet("short", nil, 100); got != "short" {
		t.Errorf("a short text is cut to %q", got)
	}
}
