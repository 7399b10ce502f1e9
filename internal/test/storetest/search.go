package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/invalid"
	"freshet/internal/search"
)

// index brings the index up to date, a few versions at a time.
func (b *bench) index() {
	b.Helper()
	for range 1000 {
		left, err := b.Index(b.Context(), 3)
		b.ok("index", err)
		if left == 0 {
			return
		}
	}
	b.Fatal("the index is never done")
}

// search returns what is found, in short: the source, the versions, whether that is now,
// and what is marked.
func (b *bench) search(q search.Request) (list []string) {
	b.Helper()
	r, err := b.Search(b.Context(), q)
	b.ok("search for "+q.Words, err)
	for _, h := range r.Hits {
		text := fmt.Sprintf("%s %d-%d", h.Source, h.First, h.Last)
		if h.Current() {
			text += " now"
		}
		for _, p := range h.Passages {
			for _, m := range p.Marks {
				text += " " + p.Text[m[0]:m[1]]
			}
		}
		list = append(list, text)
	}
	if q.Order == "" {
		slices.Sort(list)
	}
	return list
}

// pages commits versions of a source, ten minutes apart.
func (b *bench) pages(id freshet.SourceID, texts ...string) {
	b.Helper()
	for i, text := range texts {
		b.commit(saw(id, minute(10*i), freshet.Changed, text))
	}
}

// indexedAtOnce brings an index of two sources, b like a, up to date: a after each of its versions, b with all of its versions at once.
func (b *bench) indexedAtOnce(texts []string) {
	b.Helper()
	b.add("a")
	b.add("b")
	for i, text := range texts {
		b.commit(saw("a", minute(10*i), freshet.Changed, text))
		b.index()
	}
	b.pages("b", texts...)
	_, err := b.Index(b.Context(), 1000)
	b.ok("index", err)
}

var searchTests = []test{
	{"versions that are indexed together are found as those that are indexed one by one", func(b *bench) {
		words := []string{"ant", "bee", "cat", "dog", "eel"}
		chance := rand.New(rand.NewPCG(1, 2))
		var texts []string
		for range 40 {
			var lines []string
			for _, w := range words {
				if chance.IntN(3) > 0 {
					lines = append(lines, w+" "+words[chance.IntN(len(words))])
				}
			}
			texts = append(texts, strings.Join(lines, "\n")+fmt.Sprintf("\nversion %d", len(texts)))
		}
		b.indexedAtOnce(texts)
		for _, query := range append([]string{"ant bee", "ant -cat", "dog OR eel", `"bee cat"`, `"version 7"`}, words...) {
			one := b.search(search.Request{Words: query, Source: "a", Order: search.ByOldest, Limit: 1000})
			all := b.search(search.Request{Words: query, Source: "b", Order: search.ByOldest, Limit: 1000})
			for i := range one {
				one[i] = strings.Replace(one[i], "a ", "b ", 1)
			}
			same(b, "found by "+query, all, one)
		}
		same(b, "a passage of one version among many", b.search(search.Request{Words: `"version 7"`, Source: "b"}), []string{"b 8-8 version 7"})
		same(b, "one that is there now", b.search(search.Request{Words: `"version 39"`, Source: "b"}), []string{"b 40-40 now version 39"})
	}},
	{"what stays over versions is found once", func(b *bench) {
		b.add("a")
		b.addSource(freshet.Source{ID: "b", URL: "https://b.example/", Tags: []string{"shop"}, Created: noon})
		b.pages("a", "The pump is new\nprice 10", "The pump is new\nprice 11", "The pump is new\nprice 12", "all sold\nprice 12", "The Pump is new\nused, too")
		b.pages("b", "No pumps here\nheat is on")
		b.index()
		for words, want := range map[string][]string{
			"pump":              {"a 1-3 pump", "a 5-5 now Pump"},
			"pump*":             {"a 1-3 pump", "a 5-5 now Pump", "b 1-1 now pumps"},
			"pump price":        {"a 1-3 pump price"},
			`"pump is"`:         {"a 1-3 pump is", "a 5-5 now Pump is"},
			`"is pump"`:         nil,
			"price":             {"a 1-4 price"},
			"price -sold":       {"a 1-3 price"},
			"price 12":          {"a 3-4 price 12"},
			"sold OR heat":      {"a 4-4 sold", "b 1-1 now heat"},
			"(sold OR heat) on": {"b 1-1 now heat on"},
			"price NOT pump":    {"a 4-4 price"},
			"elephant":          nil,
		} {
			same(b, "found by "+words, b.search(search.Request{Words: words}), want)
		}
		r, err := b.Search(b.Context(), search.Request{Words: "price 12"})
		b.ok("search", err)
		if len(r.Hits) != 1 || r.Hits[0].First != 3 || r.Hits[0].Last != 4 || r.Hits[0].Versions != 2 || r.Total != 1 || r.Waiting != 0 || r.Cut {
			b.Errorf("found by two words in one line: %+v", r)
		}
		if h := r.Hits[0]; !h.Since.Equal(minute(20).Add(1e9)) || !h.Until.Equal(minute(40).Add(1e9)) || h.Label.URL != "https://a.example/" || h.Score <= 0 {
			b.Errorf("it is told as %+v", h)
		}
		same(b, "with a tag", b.search(search.Request{Words: "pump*", Tag: "shop"}), []string{"b 1-1 now pumps"})
		same(b, "in a source", b.search(search.Request{Words: "pump*", Source: "b"}), []string{"b 1-1 now pumps"})
		same(b, "that is there now", b.search(search.Request{Words: "pump", Current: true}), []string{"a 5-5 now Pump"})
		same(b, "at a time", b.search(search.Request{Words: "pump", Seen: freshet.Between{Since: minute(31), Until: minute(39)}}), []string(nil))
		same(b, "up to a time", b.search(search.Request{Words: "pump", Seen: freshet.Between{Until: minute(20)}}), []string{"a 1-3 pump"})
		same(b, "the newest first", b.search(search.Request{Words: "pump", Order: search.ByNewest}), []string{"a 5-5 now Pump", "a 1-3 pump"})
		same(b, "the oldest first", b.search(search.Request{Words: "pump", Order: search.ByOldest, Limit: 1}), []string{"a 1-3 pump"})
		same(b, "the next page", b.search(search.Request{Words: "pump", Order: search.ByOldest, Offset: 1, Limit: 1}), []string{"a 5-5 now Pump"})
		_, err = b.Search(b.Context(), search.Request{Words: "pump", Source: "none"})
		b.is("in a source that is not there", err, freshet.ErrNotFound)
		b.reopen()
		same(b, "after a restart", b.search(search.Request{Words: "sold"}), []string{"a 4-4 sold"})
	}},
	{"no words make a search fail in an odd way", func(b *bench) {
		b.add("a")
		b.pages("a", `"quoted" text's * column:value NEAR(a, b) ^x {y} +z`)
		b.index()
		for _, words := range []string{`"`, `'`, `"a" "`, "col:x", "NEAR(a b)", "a NEAR b", "^x", "{y}", "a + b", "x'; DROP TABLE words;--", "a\x00b", "*", "-", "AND", "OR", "a AND", "\xff", "💧", strings.Repeat("x", 5000)} {
			if _, err := b.Search(b.Context(), search.Request{Words: words}); err != nil {
				if field, ok := invalid.FieldOf(err); !ok || field != "words" {
					b.Errorf("a search for %q: %v", words, err)
				}
			}
		}
		same(b, "what looks like a column", b.search(search.Request{Words: "column:value"}), []string{"a 1-1 now column:value"})
	}},
	{"the index follows the record", func(b *bench) {
		b.add("a")
		b.pages("a", "one alpha", "two alpha", "three alpha", "four beta")
		r, err := b.Search(b.Context(), search.Request{Words: "alpha"})
		b.ok("search", err)
		if len(r.Hits) != 0 || r.Waiting == 0 {
			b.Errorf("before anything is indexed a search finds %d, and %d versions wait", len(r.Hits), r.Waiting)
		}
		left, err := b.Index(b.Context(), 2)
		b.ok("index", err)
		if left == 0 {
			b.Error("after two of four versions none waits")
		}
		b.reopen()
		b.index()
		same(b, "what is indexed in parts", b.search(search.Request{Words: "alpha"}), []string{"a 1-3 alpha"})
		b.commit(saw("a", minute(100), freshet.Changed, "five alpha"))
		r, err = b.Search(b.Context(), search.Request{Words: "alpha"})
		b.ok("search", err)
		same(b, "versions that wait", r.Waiting, 1)
		b.index()
		same(b, "what is back", b.search(search.Request{Words: "alpha", Current: true}), []string{"a 5-5 now alpha"})

		b.prune(minute(200), freshet.Keep{Versions: 3}, 0)
		same(b, "what is left, before the index is up to date", b.search(search.Request{Words: "alpha", Order: search.ByOldest}), []string{"a 3-3 alpha", "a 5-5 now alpha"})
		same(b, "what was pruned", b.search(search.Request{Words: "one OR two"}), []string(nil))
		b.index()
		same(b, "what was pruned", b.search(search.Request{Words: "one OR two"}), []string(nil))
		same(b, "what is left", b.search(search.Request{Words: "alpha", Order: search.ByOldest}), []string{"a 3-3 alpha", "a 5-5 now alpha"})

		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		r, err = b.Search(b.Context(), search.Request{Words: "five"})
		b.ok("search", err)
		if len(r.Hits) != 1 || !r.Hits[0].Removed {
			b.Errorf("a removed source is found as %+v", r.Hits)
		}
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		same(b, "what was purged", b.search(search.Request{Words: "alpha OR beta"}), []string(nil))
		b.add("a")
		b.commit(saw("a", minute(300), freshet.First, "six beta"))
		b.index()
		same(b, "what came after it", b.search(search.Request{Words: "alpha OR beta"}), []string{"a 6-6 now beta"})
		b.reopen()
		b.index()
		same(b, "what came after it, after a restart", b.search(search.Request{Words: "alpha OR beta"}), []string{"a 6-6 now beta"})
	}},
	{"what is held is found when it is told", func(b *bench) {
		b.add("a")
		b.pages("a", "the page")
		doubted := saw("a", minute(20), freshet.Doubted, "")
		doubted.Capture = saw("a", minute(20), freshet.Changed, "please log in").Capture
		doubted.Capture.Quiet, doubted.Outcome.Suspect = freshet.QuietSuspect, suspect.Login
		doubted.Held = freshet.Held{Suspect: suspect.Login, Since: minute(20), Looks: 1}
		b.commit(doubted)
		b.index()
		same(b, "what is held", b.search(search.Request{Words: "log"}), []string(nil))
		same(b, "the page before it", b.search(search.Request{Words: "page"}), []string{"a 1-1 now page"})
		_, err := b.Confirm(b.Context(), "a", 2)
		b.ok("confirm", err)
		b.index()
		same(b, "what was confirmed", b.search(search.Request{Words: "log OR page"}), []string{"a 1-2 now log page"})
	}},
}
