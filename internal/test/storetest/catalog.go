package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
)

var catalogTests = []test{
	{"a source comes back as it was added", func(b *bench) {
		want := freshet.Source{
			ID: "a-1.b_C", URL: "https://a.example/?q=é", Name: "Ä page", Tags: []string{"news", "æ"},
			Recipe: reading.Recipe{Kind: reading.HTML, CSS: "main > p"}, Weight: 2.5, Paused: true,
			Life: objective.Visibility{Kind: objective.VisibleLast, N: 3}, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: 0.9}, Cost: 4,
			MinGap: time.Minute, MaxGap: time.Hour, Keep: freshet.Keep{Age: time.Hour, Versions: 7, Bytes: 1 << 40},
			Level:  objective.ServiceLevel{Share: 0.995, Within: 90 * time.Second},
			Origin: freshet.FromFile, Created: noon,
		}
		added := b.addSource(want)
		want.Revision = 1
		same(b, "the source as added", added, want)
		b.reopen()
		same(b, "the source as stored", b.watched(want.ID), freshet.SourceWithStatus{Source: want})
	}},
	{"an ID is made of host, name and path", func(b *bench) {
		for _, c := range []struct{ url, name, want string }{
			{"https://www.one.example/prices.html", "", "one-example-prices"},
			{"https://www.one.example/prices.html?page=2", "", "one-example-prices-2"},
			{"https://one.example/p/17", "Red Kettle (new)", "one-example-red-kettle-new"},
			{"https://one.example/", "", "one-example"},
			{"https://one.example:8080/Übersicht/a", "", "one-example-bersicht-a"},
			{"https://user:hunter2@two.example/?token=hunter2", "", "two-example"},
			{"https://three.example/a-long-path/that-goes-on/and-on/and-on", "", "three-example-a-long-path-that-goes-on"},
			{"dns:four.example", "", "dns-four-example"},
			{"https://five.example/hooks/T0K3NabcdEF/in", "", "five-example-hooks-in"},
			{"https://five.example/s/abcdefghijklmnopqrstuvwxyz", "", "five-example-s"},
			{"https://five.example/news/2026-11-19", "", "five-example-news-2026-11-19"},
		} {
			if got := b.addSource(freshet.Source{URL: c.url, Name: c.name}); string(got.ID) != c.want {
				b.Errorf("%s has the ID %q, want %q", c.url, got.ID, c.want)
			}
		}
		for i := range 20 { // they stay short however many there are
			if got := b.addSource(freshet.Source{URL: fmt.Sprint("https://one.example/prices?page=", i+3)}); !freshet.ValidSourceID(got.ID) || len(got.ID) > len("one-example-prices-")+10 {
				b.Errorf("the ID is %q", got.ID)
			}
		}
		if got := b.addSource(freshet.Source{URL: "https://xn--p1ai.example/ярмарка", Name: "Ярмарка"}); got.ID != "xn-p1ai-example" {
			b.Errorf("the ID of a name in other letters is %q", got.ID)
		}
	}},
	{"an empty ID is filled in", func(b *bench) {
		one, two := b.addSource(freshet.Source{URL: "https://one.example/"}), b.addSource(freshet.Source{URL: "https://two.example/"})
		if !freshet.ValidSourceID(one.ID) || one.ID == two.ID {
			b.Errorf("the IDs are %q and %q", one.ID, two.ID)
		}
		if one.Created.IsZero() {
			b.Error("it is not known when the source was added")
		}
	}},
	{"tags are sorted and without repeats", func(b *bench) {
		s := b.addSource(freshet.Source{URL: "https://a.example/", Tags: []string{"b", "a", "b"}})
		same(b, "tags", b.watched(s.ID).Tags, []string{"a", "b"})
	}},
	{"an ID that cannot be one is refused", func(b *bench) {
		for _, id := range []freshet.SourceID{"a b", "ü", "a/b"} {
			_, err := b.AddSource(b.Context(), freshet.Source{ID: id, URL: "https://a.example/"})
			if _, ok := errors.AsType[*invalid.Error](err); !ok {
				b.Errorf("adding source %q gives %v, want an InvalidError", id, err)
			}
		}
	}},
	{"many sources are added in one transaction, and once", func(b *bench) {
		b.add("a")
		list := []freshet.Source{{URL: "https://one.example/"}, {URL: b.watched("a").URL}, {ID: "a b", URL: "https://two.example/"}, {ID: "three", URL: "https://three.example/"}, {URL: "https://one.example/"}}
		added, refused, err := b.AddSources(b.Context(), list)
		if err != nil {
			b.Fatal(err)
		}
		_, invalidID := errors.AsType[*invalid.Error](refused[2])
		one, isConflict := errors.AsType[*freshet.ConflictError](refused[4])
		if refused[0] != nil || !errors.Is(refused[1], freshet.ErrConflict) || !invalidID || refused[3] != nil || !isConflict || one.Existing != added[0].ID {
			b.Errorf("the sources were refused with %v", refused)
		}
		b.reopen()
		if _, again, err := b.AddSources(b.Context(), list); err != nil || again[0] == nil || again[3] == nil {
			b.Errorf("the same again is refused with %v, %v", again, err)
		}
		if s := b.watched("three"); s.Revision != 1 {
			b.Errorf("the repetition has written a source: its revision is %d", s.Revision)
		}
		found, err := b.SourcesAt(b.Context(), []string{"https://one.example/", "https://none.example/", "https://three.example/"})
		if err != nil || len(found) != 2 {
			b.Errorf("at the URLs there are %v, %v", found, err)
		}
	}},
	{"many sources are updated and removed in one transaction", func(b *bench) {
		one, two, gone := b.add("one"), b.add("two"), b.add("gone")
		if err := b.RemoveSource(b.Context(), gone.ID, false); err != nil {
			b.Fatal(err)
		}
		one.Name, two.Name, two.Revision, gone.Name = "first", "second", two.Revision+7, "third"
		refused, err := b.UpdateSources(b.Context(), []freshet.Source{one, two, gone})
		if err != nil || refused[0] != nil || !errors.Is(refused[1], freshet.ErrStale) || !errors.Is(refused[2], freshet.ErrNotFound) {
			b.Errorf("the updates were refused with %v, %v", refused, err)
		}
		b.reopen()
		if w := b.watched("one"); w.Name != "first" || w.Revision != one.Revision+1 {
			b.Errorf("the updated source is %+v", w.Source)
		}
		if refused, err = b.RemoveSources(b.Context(), []freshet.SourceID{"one", "gone", "none"}); err != nil || refused[0] != nil || !errors.Is(refused[1], freshet.ErrNotFound) || !errors.Is(refused[2], freshet.ErrNotFound) {
			b.Errorf("the removals were refused with %v, %v", refused, err)
		}
		if _, err := b.Source(b.Context(), "one"); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("the removed source: %v", err)
		}
		b.watched("two")
	}},
	{"the same URL and recipe is a conflict", func(b *bench) {
		a := b.add("a")
		_, err := b.AddSource(b.Context(), freshet.Source{ID: "b", URL: a.URL})
		if c, ok := errors.AsType[*freshet.ConflictError](err); !ok || c.Existing != "a" {
			b.Errorf("adding %s twice gives %v, want a ConflictError that names a", a.URL, err)
		}
		b.addSource(freshet.Source{ID: "c", URL: a.URL, Recipe: reading.Recipe{CSS: "p"}})
	}},
	{"an ID that is taken is a conflict", func(b *bench) {
		b.add("a")
		_, err := b.AddSource(b.Context(), freshet.Source{ID: "a", URL: "https://other.example/"})
		b.is("adding another source a", err, freshet.ErrConflict)
		if c, ok := errors.AsType[*freshet.ConflictError](err); !ok || c.Existing != "a" || c.Taken != "https://a.example/" {
			b.Errorf("adding another source a gives %v, want a ConflictError that names a and its URL", err)
		}
	}},
	{"an update replaces the source", func(b *bench) {
		s := b.add("a")
		s.Name, s.Paused, s.URL, s.Tags = "new", true, "https://new.example/", []string{"x"}
		s.Level = objective.ServiceLevel{Share: 0.9, Within: time.Hour}
		b.ok("update", b.UpdateSource(b.Context(), s))
		s.Revision = 2
		same(b, "the source", b.watched("a").Source, s)
		b.is("update of nothing", b.UpdateSource(b.Context(), freshet.Source{ID: "none", URL: "https://x.example/"}), freshet.ErrNotFound)
		other := b.add("other")
		other.URL = s.URL
		b.is("update to a taken URL", b.UpdateSource(b.Context(), other), freshet.ErrConflict)
		b.addSource(freshet.Source{ID: "again", URL: "https://a.example/"})
	}},
	{"each edit makes a revision", func(b *bench) {
		s := b.add("a")
		for want := int64(1); want < 5; want++ {
			if s = b.watched("a").Source; s.Revision != want {
				b.Errorf("the revision is %d, want %d", s.Revision, want)
			}
			s.Name = fmt.Sprint("edit ", want)
			b.ok("edit", b.UpdateSource(b.Context(), s))
			b.reopen()
		}
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		if back := b.addSource(freshet.Source{URL: s.URL}); back.Revision != 6 || b.watched("a").Revision != 6 {
			b.Errorf("it comes back with revision %d, want 6: more than it ever had", back.Revision)
		}
	}},
	{"an edit of what has changed meanwhile is refused", func(b *bench) {
		b.add("a")
		one, two := b.watched("a").Source, b.watched("a").Source
		one.Name, two.Name = "one", "two"
		b.ok("the first edit", b.UpdateSource(b.Context(), one))
		err := b.UpdateSource(b.Context(), two)
		if stale, ok := errors.AsType[*freshet.StaleError](err); !ok || stale.Source != "a" || stale.Given != 1 || stale.Stored != 2 {
			b.Errorf("the second edit of the same revision gives %v, want a StaleError of 1 and 2", err)
		}
		b.is("the second edit", err, freshet.ErrStale)
		if s := b.watched("a").Source; s.Name != "one" || s.Revision != 2 {
			b.Errorf("then the source is %q in revision %d, want the first edit", s.Name, s.Revision)
		}
		two.Revision = 3
		b.is("an edit of a revision to come", b.UpdateSource(b.Context(), two), freshet.ErrStale)
		two.Revision = 0
		b.ok("an edit of whatever is there", b.UpdateSource(b.Context(), two))
		if s := b.watched("a").Source; s.Name != "two" || s.Revision != 3 {
			b.Errorf("then the source is %q in revision %d, want the second edit", s.Name, s.Revision)
		}
	}},
	{"of edits side by side of one revision, one is made", func(b *bench) {
		b.add("a")
		s := b.watched("a").Source
		errs := make(chan error)
		for i := range 8 {
			mine := s
			mine.Name = fmt.Sprint(i)
			go func() { errs <- b.UpdateSource(b.Context(), mine) }()
		}
		made := 0
		for range 8 {
			switch err := <-errs; {
			case err == nil:
				made++
			case !errors.Is(err, freshet.ErrStale):
				b.Errorf("an edit gives %v", err)
			}
		}
		if made != 1 || b.watched("a").Revision != 2 {
			b.Errorf("%d edits were made, and the revision is %d", made, b.watched("a").Revision)
		}
	}},
	{"sources come in the order of their IDs", func(b *bench) {
		want := []freshet.SourceID{}
		for i := range 1203 {
			id := freshet.SourceID(fmt.Sprintf("s%d", (i*7919)%1203))
			b.add(id)
			want = append(want, id)
		}
		slices.Sort(want)
		got := []freshet.SourceID{}
		for w, err := range b.Sources(b.Context()) {
			b.ok("sources", err)
			got = append(got, w.ID)
		}
		same(b, "the order", got, want)
		for range b.Sources(b.Context()) {
			break // must not hang
		}
		for _, after := range []freshet.SourceID{"", "s", want[600], want[1202], "z"} {
			from, found := slices.BinarySearch(want, after)
			if found {
				from++
			}
			rest := []freshet.SourceID{}
			for w, err := range b.SourcesAfter(b.Context(), after) {
				b.ok("sources after "+string(after), err)
				rest = append(rest, w.ID)
			}
			same(b, "those after "+string(after), rest, want[from:])
		}
	}},
	{"a removed source is hidden and its history stays", func(b *bench) {
		b.add("a")
		b.history("a", 3)
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		_, err := b.Source(b.Context(), "a")
		b.is("a removed source", err, freshet.ErrNotFound)
		b.is("removing it again", b.RemoveSource(b.Context(), "a", false), freshet.ErrNotFound)
		b.is("updating it", b.UpdateSource(b.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}), freshet.ErrNotFound)
		b.is("polling it", b.begin(freshet.Poll{Source: freshet.Source{ID: "a"}, At: noon}), freshet.ErrNotFound)
		for range b.Sources(b.Context()) {
			b.Error("a removed source is listed")
		}
		same(b, "its versions", b.numbers("a"), []int{3, 2, 1})
		b.commit(saw("a", minute(9), freshet.Changed, "a poll that was under way"))
		b.reopen()
		same(b, "its versions", b.numbers("a"), []int{4, 3, 2, 1})
	}},
	{"a removed source that comes back takes up its ID and history", func(b *bench) {
		s := b.add("a")
		b.history("a", 3)
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		back := b.addSource(freshet.Source{URL: s.URL, Name: "back", Created: minute(100)})
		if back.ID != "a" || !back.Created.Equal(s.Created) || back.Name != "back" {
			b.Errorf("it came back as %+v", back)
		}
		st := b.watched("a").Status
		if st.Head.Number != 3 || st.Changes != 2 || st.Polls != 3 {
			b.Errorf("its standing is %+v", st)
		}
		_, c := b.commit(saw("a", minute(9), freshet.Changed, "new"))
		if c.Seq != 3 || c.Number != 4 {
			b.Errorf("the next change is number %d to version %d, want 3 to 4", c.Seq, c.Number)
		}
	}},
	{"a removed source that comes back under another ID leaves its history where it was", func(b *bench) {
		s := b.add("a")
		b.history("a", 3)
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		other := b.addSource(freshet.Source{ID: "other", URL: s.URL})
		if other.ID != "other" || other.Revision != 1 {
			b.Errorf("it came back as %+v, want other", other)
		}
		if st := b.watched("other").Status; st.Head.Number != 0 || st.Polls != 0 {
			b.Errorf("the standing of other is %+v, want that of a new source", st)
		}
		same(b, "the versions of a", b.numbers("a"), []int{3, 2, 1})
		_, err := b.AddSource(b.Context(), freshet.Source{ID: "a", URL: s.URL})
		if c, ok := errors.AsType[*freshet.ConflictError](err); !ok || c.Existing != "other" || c.Taken != "" {
			b.Errorf("adding a beside other gives %v, want a ConflictError that names other", err)
		}
		b.ok("remove", b.RemoveSource(b.Context(), "other", false))
		if back := b.addSource(freshet.Source{ID: "a", URL: s.URL}); back.ID != "a" || b.watched("a").Status.Head.Number != 3 {
			b.Errorf("a came back as %+v", back)
		}
	}},
	{"removed sources are listed apart", func(b *bench) {
		for _, id := range []freshet.SourceID{"c", "a", "b"} {
			b.add(id)
		}
		b.history("a", 2)
		b.ok("remove", b.RemoveSource(b.Context(), "c", false))
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		check := func() {
			var ids []freshet.SourceID
			for w, err := range b.RemovedSources(b.Context(), "") {
				b.ok("removed sources", err)
				ids = append(ids, w.ID)
			}
			same(b, "the removed sources", ids, []freshet.SourceID{"a", "c"})
			for w, err := range b.RemovedSources(b.Context(), "https://c.example/") {
				b.ok("removed sources of a URL", err)
				same(b, "the removed source of a URL", w.ID, "c")
			}
			for w := range b.RemovedSources(b.Context(), "https://b.example/") {
				b.Errorf("%s is listed as removed", w.ID)
			}
			w, err := b.RemovedSource(b.Context(), "a")
			b.ok("a removed source", err)
			if w.URL != "https://a.example/" || w.Status.Head.Number != 2 || w.Status.Polls != 2 {
				b.Errorf("the removed source is %+v", w)
			}
			_, err = b.RemovedSource(b.Context(), "b")
			b.is("a watched source among the removed", err, freshet.ErrNotFound)
			_, err = b.RemovedSource(b.Context(), "none")
			b.is("no source among the removed", err, freshet.ErrNotFound)
		}
		check()
		b.reopen()
		check()
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		_, err := b.RemovedSource(b.Context(), "a")
		b.is("a purged source among the removed", err, freshet.ErrNotFound)
	}},
	{"a purged source is gone", func(b *bench) {
		s := b.add("a")
		b.add("b")
		b.history("b", 2)
		changes := b.history("a", 3)
		last := changes[1].Cursor
		b.ok("advance", b.Advance(b.Context(), "r", sinks.Position{Cursor: last}, messages(changes[1:])))
		b.ok("beliefs", b.SaveState(b.Context(), []freshet.State{{Source: "a", Key: "e"}}))
		b.ok("begin", b.begin(freshet.Poll{Source: s, At: minute(8)}))
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		check := func() {
			same(b, "its versions", b.numbers("a"), []int{})
			_, err := b.Text(b.Context(), "a", 1)
			b.is("its text", err, freshet.ErrNotFound)
			_, _, err = b.Commit(b.Context(), saw("a", minute(9), freshet.Unchanged, ""))
			b.is("a poll of it", err, freshet.ErrNotFound)
			b.is("removing it", b.RemoveSource(b.Context(), "a", true), freshet.ErrNotFound)
			left, err := b.Changes(b.Context(), freshet.ChangeQuery{})
			b.ok("changes", err)
			if len(left) != 1 || left[0].Source != "b" {
				b.Errorf("the changes left are %+v, want the one of b", left)
			}
			outcomes, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{})
			b.ok("outcomes", err)
			if len(outcomes) != 2 {
				b.Errorf("%d outcomes are left, want the two of b", len(outcomes))
			}
			attempts, err := b.Attempts(b.Context(), noon)
			b.ok("attempts", err)
			own, spent := 0, 0
			for _, at := range attempts {
				switch {
				case at.Source == "b":
					own++
				case at.Source == "" && at.Route == freshet.Route(s.Host()):
					spent += at.Requests
				default:
					b.Errorf("an attempt is left as %+v", at)
				}
			}
			if own != 2 || spent != 4 {
				b.Errorf("%d attempts of b are left and %d requests of what is purged, want 2 and 4", own, spent)
			}
			open, dead, err := b.CountDeliveries(b.Context(), "r")
			b.ok("owed", err)
			if open+dead != 0 {
				b.Errorf("%d debts are left", open+dead)
			}
		}
		check()
		b.reopen()
		check()
		b.add("a")
		o, _ := b.commit(saw("a", minute(20), freshet.First, "anew"))
		if o.Cursor <= 5 || o.Version != 4 || o.Result != freshet.First {
			b.Errorf("the first poll of the new source is %+v, want a new cursor and version 4", o)
		}
		_, c := b.commit(saw("a", minute(21), freshet.Changed, "anew 2"))
		if c.Cursor <= last || c.Seq != 3 || c.Number != 5 {
			b.Errorf("its first change is %+v, want a new cursor and seq 3", c)
		}
	}},
	{"a removed source can be purged", func(b *bench) {
		b.add("a")
		b.history("a", 2)
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		same(b, "its versions", b.numbers("a"), []int{})
	}},
}
