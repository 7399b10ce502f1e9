package learn_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

func TestDirectories(t *testing.T) {
	for url, want := range map[string][]string{
		"https://a.example":                nil,
		"https://a.example/":               nil,
		"https://a.example/page":           nil,
		"https://a.example/news/":          nil,
		"https://a.example/news/1":         {"https://a.example/news"},
		"https://a.example/a/b/1/":         {"https://a.example/a", "https://a.example/a/b"},
		"https://a.example/shop?item=1/2":  {"https://a.example/shop"},
		"https://a.example/a/shop/?item=1": {"https://a.example/a", "https://a.example/a/shop"},
		"https://a.example/?p=1":           nil,
		"https://a.example/a/1#b/c":        {"https://a.example/a"},
		"no URL/at/all":                    nil,
	} {
		if got := learn.Directories(url); !slices.Equal(got, want) {
			t.Errorf("%s is in the directories %q, want %q", url, got, want)
		}
	}
}

// in returns a source in a directory of a site.
func in(directory string, n int) freshet.Source {
	return freshet.Source{URL: fmt.Sprintf("https://site.example/%s/%d", directory, n)}
}

// sections is a world of one site with two directories, of which one has a fast and a slow one,
// after a few polls of every second page.
func sections(t *testing.T, gap map[string]time.Duration) (w *world, slots map[string][]freshet.Slot) {
	t.Helper()
	const pages = 12
	w, slots = newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 10}, 4), map[string][]freshet.Slot{}
	end := monday.Add(day)
	for _, directory := range slices.Sorted(maps.Keys(gap)) {
		for i := range pages {
			slots[directory] = append(slots[directory], w.add(in(directory, i), w.poisson(monday, end, 1/gap[directory].Seconds())))
		}
	}
	for i := 1; i <= 12; i++ {
		for _, directory := range slices.Sorted(maps.Keys(slots)) {
			for _, slot := range slots[directory][:pages/2] {
				w.poll(slot, monday.Add(time.Duration(i)*time.Hour+time.Duration(slot)*time.Second))
			}
		}
	}
	return w, slots
}

// A page that nothing is known of is like the others of its directory, at whatever depth that
// is.
func TestUnlikeDirectories(t *testing.T) {
	w, slots := sections(t, map[string]time.Duration{"law": 30 * day, "news/old": 20 * day, "news/live": time.Hour})
	rate := func(slot freshet.Slot) float64 {
		return w.Outlook(monday.Add(13*time.Hour), slot).Rate.Mean * time.Hour.Seconds()
	}
	unpolled := func(directory string) float64 { return rate(slots[directory][11]) }
	newer := func(directory string) float64 {
		slot := freshet.Slot(w.Slots())
		w.Put(monday.Add(13*time.Hour), slot, in(directory, 99), monday.Add(13*time.Hour))
		defer w.Remove(slot)
		return rate(slot)
	}
	law, old, live := unpolled("law"), unpolled("news/old"), unpolled("news/live")
	t.Logf("changes an hour of pages that were not polled: %.3f of law, %.3f of news/old, %.3f of news/live; of a new section %.3f", law, old, live, newer("new"))
	if live < 2.5*law || live < 2.5*old {
		t.Errorf("a page of news/live is expected to change %.3f times an hour, and one of law %.3f, of news/old %.3f", live, law, old)
	}
	for directory, want := range map[string]float64{"law": law, "news/old": old, "news/live": live} {
		if got := newer(directory); got < want/1.5 || got > want*1.5 {
			t.Errorf("a new page of %s is expected to change %.3f times an hour, and one that was there %.3f", directory, got, want)
		}
	}
	if got := newer("new"); got < 1.1*law || got > live/1.5 {
		t.Errorf("a page of a new directory is expected to change %.3f times an hour; it should lie between %.3f of law and %.3f of news/live", got, law, live)
	}
}

// Where directories do not differ, what is found in one says as much of the pages of another.
func TestDirectoriesThatDoNotMatter(t *testing.T) {
	w, slots := sections(t, map[string]time.Duration{"a": 2 * time.Hour, "b": 2 * time.Hour, "c": 2 * time.Hour})
	low, high := 1e9, 0.0
	for _, pages := range slots {
		rate := w.Outlook(monday.Add(13*time.Hour), pages[11]).Rate.Mean
		low, high = min(low, rate), max(high, rate)
	}
	if high > 1.6*low {
		t.Errorf("pages of like directories are expected to change %.2f times as often as others", high/low)
	}
}

// What is known of a directory is that of the pages that it has: pages that come, go or move leave
// it as if they had always been where they are.
func TestPagesThatMove(t *testing.T) {
	w, slots := sections(t, map[string]time.Duration{"law": 30 * day, "news/live": time.Hour})
	moved, gone := slots["news/live"][:3], slots["news/live"][3]
	for i, slot := range moved {
		w.sources[slot] = in("law", 50+i)
		w.sources[slot].ID = freshet.SourceID(fmt.Sprint("moved", i))
		w.Put(monday.Add(13*time.Hour), slot, w.sources[slot], w.since[slot])
	}
	w.Remove(gone)
	again := learn.New(learn.Config{Start: monday, Tick: 10 * time.Minute, Polls: 10})
	again.GrowAs(w.Learner)
	for slot, s := range w.sources {
		if freshet.Slot(slot) != gone {
			again.Put(monday, freshet.Slot(slot), s, monday)
		}
	}
	parts := saved(t, w.Learner)
	for _, slot := range slices.Sorted(maps.Keys(parts)) {
		if err := again.Restore(slot, []byte(parts[slot])); err != nil {
			t.Fatal(err)
		}
	}
	at := monday.Add(14 * time.Hour)
	for slot := range w.sources {
		if got, want := again.Outlook(at, freshet.Slot(slot)), w.Outlook(at, freshet.Slot(slot)); got != want {
			t.Errorf("slot %d: restored where pages are now, the outlook is\n%+v, and was\n%+v", slot, got, want)
		}
	}
}
