package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// prune prunes as of a moment.
func (b *bench) prune(now time.Time, overall freshet.Keep, logs time.Duration) freshet.Pruned {
	b.Helper()
	would, err := b.WouldPrune(b.Context(), now, overall, logs)
	b.ok("ask what would be pruned", err)
	again, err := b.WouldPrune(b.Context(), now, overall, logs)
	b.ok("ask what would be pruned", err)
	same(b, "what would be dropped, asked again", again, would)
	done, err := b.Prune(b.Context(), now, overall, logs)
	b.ok("prune", err)
	same(b, "the outcomes that would be dropped", would.Outcomes, done.Outcomes)
	if overall.Bytes == 0 && overall.Total == 0 {
		same(b, "the versions that would be dropped", would.Versions, done.Versions)
	} else if !near(would.Versions, done.Versions, 3) {
		b.Errorf("%d versions would be dropped, and %d were", would.Versions, done.Versions)
	}
	if !near(int(would.Bytes), int(done.Bytes), 5000) {
		b.Errorf("%d bytes would be freed, and %d were", would.Bytes, done.Bytes)
	}
	return done
}

// near says whether a foretold number is close to what became of it: within a quarter, and
// a slack for what matters most where there is little.
func near(foretold, was, slack int) bool {
	return foretold >= was*3/4-slack && foretold <= was*4/3+slack
}

// keeping adds a source with bounds and n versions, a minute apart.
func (b *bench) keeping(id freshet.SourceID, keep freshet.Keep, n int) {
	b.Helper()
	b.addSource(freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Keep: keep})
	b.history(id, n)
}

// readable fails the test if a version that is listed cannot be read.
func (b *bench) readable(id freshet.SourceID) {
	b.Helper()
	for _, n := range b.numbers(id) {
		same(b, fmt.Sprintf("the text of version %d", n), b.text(id, n), fmt.Sprintf("state %d of %s", n, id))
		raw, err := b.Raw(b.Context(), id, n)
		b.ok("raw", err)
		same(b, fmt.Sprintf("the body of version %d", n), string(raw.Body), fmt.Sprintf("<p>state %d of %s", n, id))
	}
}

var pruneTests = []test{
	{"without bounds everything stays", func(b *bench) {
		b.keeping("a", freshet.Keep{}, 5)
		same(b, "what was dropped", b.prune(minute(1e6), freshet.Keep{}, 0), freshet.Pruned{})
		same(b, "the versions", b.numbers("a"), []int{5, 4, 3, 2, 1})
	}},
	{"a source keeps so many versions", func(b *bench) {
		b.keeping("a", freshet.Keep{Versions: 2}, 130)
		b.keeping("b", freshet.Keep{}, 3)
		done := b.prune(minute(1000), freshet.Keep{}, 0)
		if done.Versions != 128 {
			b.Errorf("%d versions were dropped, want 128", done.Versions)
		}
		for range 2 {
			same(b, "the versions", b.numbers("a"), []int{130, 129})
			same(b, "those of another source", b.numbers("b"), []int{3, 2, 1})
			b.readable("a")
			b.readable("b")
			b.reopen()
		}
		_, err := b.Text(b.Context(), "a", 128)
		b.is("a dropped text", err, freshet.ErrNotFound)
	}},
	{"a source keeps versions superseded not too long ago", func(b *bench) {
		b.keeping("a", freshet.Keep{Age: 150 * time.Second}, 6)
		b.prune(minute(5), freshet.Keep{}, 0) // version n was seen in minute n-1
		same(b, "the versions", b.numbers("a"), []int{6, 5, 4, 3})
		b.readable("a")
		b.prune(minute(1e6), freshet.Keep{}, 0)
		same(b, "the versions much later", b.numbers("a"), []int{6})
		b.readable("a")
	}},
	{"a bound of all is a bound of each on age", func(b *bench) {
		b.keeping("a", freshet.Keep{}, 4)
		b.keeping("b", freshet.Keep{Age: 1000 * time.Hour}, 4)
		b.prune(minute(1000), freshet.Keep{Age: time.Hour}, 0)
		same(b, "the versions of one", b.numbers("a"), []int{4})
		same(b, "the versions of another", b.numbers("b"), []int{4})
	}},
	{"all together keep so many versions", func(b *bench) {
		b.keeping("a", freshet.Keep{}, 5)
		b.keeping("b", freshet.Keep{}, 3)
		b.commit(saw("b", minute(10), freshet.Changed, "state 4 of b"))
		done := b.prune(minute(60), freshet.Keep{Versions: 4}, 0)
		if done.Versions != 5 {
			b.Errorf("%d versions were dropped, want 5", done.Versions)
		}
		// Superseded: a1 b1 in minute 1, a2 b2 in 2, a3 in 3, a4 in 4, b3 in 10.
		same(b, "the versions of one", b.numbers("a"), []int{5, 4})
		same(b, "the versions of another", b.numbers("b"), []int{4, 3})
		b.readable("a")
		b.readable("b")
	}},
	{"the newest version always stays", func(b *bench) {
		b.keeping("a", freshet.Keep{Age: 1, Bytes: 1}, 3)
		b.keeping("b", freshet.Keep{}, 3)
		b.prune(minute(1e6), freshet.Keep{Age: 1, Versions: 1, Bytes: 1}, 1)
		same(b, "the versions of one", b.numbers("a"), []int{3})
		same(b, "the versions of another", b.numbers("b"), []int{3})
		b.readable("a")
		b.readable("b")
	}},
	{"bytes are bounded, of one and of all", func(b *bench) {
		rnd := rand.New(rand.NewPCG(1, 2))
		noise := func() string {
			var text strings.Builder
			for range 500 {
				fmt.Fprintf(&text, "%x", rnd.Uint64())
			}
			return text.String()
		}
		for _, id := range []freshet.SourceID{"a", "b"} {
			keep := freshet.Keep{}
			if id == "a" {
				keep.Bytes = 60_000 // two of its versions, or three
			}
			b.addSource(freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Keep: keep})
			for i := range 20 {
				b.commit(saw(id, minute(i), freshet.Changed, noise()))
			}
		}
		done := b.prune(minute(60), freshet.Keep{}, 0)
		left := len(b.numbers("a"))
		if left < 2 || left > 10 || len(b.numbers("b")) != 20 {
			b.Errorf("%d versions of the bounded source are left and %d of the other", left, len(b.numbers("b")))
		}
		if done.Versions != 20-left || done.Bytes < 50_000 {
			b.Errorf("%+v was dropped where %d versions are left", done, left)
		}
		b.prune(minute(60), freshet.Keep{Bytes: 100_000}, 0)
		all := len(b.numbers("a")) + len(b.numbers("b"))
		if all < 3 || all > 16 {
			b.Errorf("%d versions are left under a bound of 100 kB", all)
		}
	}},
	{"changes, numbers and standings stay as they are", func(b *bench) {
		b.keeping("a", freshet.Keep{Versions: 1}, 5)
		before, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		standing := b.watched("a").Status
		done := b.prune(minute(1e6), freshet.Keep{}, time.Minute)
		if done.Versions != 4 || done.Outcomes != 5 {
			b.Errorf("%+v was dropped, want 4 versions and 5 outcomes", done)
		}
		for range 2 {
			after, err := b.Changes(b.Context(), freshet.ChangeQuery{})
			b.ok("changes", err)
			same(b, "the changes", after, before)
			same(b, "the standing", b.watched("a").Status, standing)
			b.reopen()
		}
		o, c := b.commit(saw("a", minute(1e6), freshet.Changed, "on"))
		if c.Seq != 5 || c.Number != 6 || o.Version != 6 || o.Cursor != 6 && o.Cursor <= 5 {
			b.Errorf("the next poll is %+v, with the change %+v", o, c)
		}
	}},
	{"logs are dropped by age", func(b *bench) {
		s := b.add("a")
		for i := range 10 {
			b.ok("begin", b.begin(freshet.Poll{Source: s, At: minute(i)}))
			if i != 1 && i != 8 {
				b.commit(saw("a", minute(i), freshet.Unchanged, ""))
			}
		}
		done := b.prune(minute(10), freshet.Keep{}, 5*time.Minute)
		if done.Outcomes != 4 {
			b.Errorf("%d outcomes were dropped, want 4", done.Outcomes)
		}
		for range 2 {
			attempts, err := b.Attempts(b.Context(), noon)
			b.ok("attempts", err)
			if len(attempts) != 5 || !attempts[0].Began.Equal(minute(5)) || !attempts[3].Ended.IsZero() {
				b.Errorf("the attempts left are %+v", attempts)
			}
			log, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{Source: "a"})
			b.ok("outcomes", err)
			if len(log) != 4 || !log[0].Began.Equal(minute(5)) {
				b.Errorf("the outcomes left are %+v", log)
			}
			b.reopen()
		}
	}},
	{"a source goes on after a prune", func(b *bench) {
		b.keeping("a", freshet.Keep{Versions: 3}, 1)
		for i := 1; i < 40; i++ {
			b.commit(saw("a", minute(i), freshet.Changed, fmt.Sprintf("state %d of a", i+1)))
			b.prune(minute(i), freshet.Keep{}, 0)
			if n := b.numbers("a"); len(n) != min(i+1, 3) || n[0] != i+1 {
				b.Fatalf("after version %d there are %v", i+1, n)
			}
			b.readable("a")
		}
	}},
}
