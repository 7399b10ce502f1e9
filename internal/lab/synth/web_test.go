package synth_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC)

// one makes a web of a single page.
func one(p synth.Page) *synth.Web {
	if p.ID == "" {
		p.ID, p.Host = "page", "host"
	}
	return synth.New(synth.Config{Seed: 1, Start: start, Pages: []synth.Page{p}})
}

func TestSameSeedSameWeb(t *testing.T) {
	a, b, other := synth.Demo(7, start), synth.Demo(7, start), synth.Demo(8, start)
	end, differ := start.Add(5*time.Minute), false
	for _, p := range a.Pages() {
		// Asking b in small steps and a at once must come to the same.
		for s := range 60 {
			b.VersionAt(p.ID, start.Add(time.Duration(s)*5*time.Second))
		}
		if diff := cmp.Diff(a.Changes(p.ID, start, end), b.Changes(p.ID, start, end)); diff != "" {
			t.Errorf("two webs of one seed change %s at different moments:\n%s", p.ID, diff)
		}
		differ = differ || !slices.Equal(a.Changes(p.ID, start, end), other.Changes(p.ID, start, end))
		v := a.VersionAt(p.ID, end)
		if !bytes.Equal(a.Body(p.ID, v, end), b.Body(p.ID, v, end)) {
			t.Errorf("two webs of one seed have different bodies for version %d of %s", v, p.ID)
		}
	}
	if !differ {
		t.Error("two webs of different seeds change at the same moments")
	}
}

// TestVersionsCountChanges holds for any schedule: the version is one more than
// the changes so far, and changes come one after another within what was asked.
func TestVersionsCountChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := synth.Page{ID: "page", Host: "host", Schedule: schedules().Draw(t, "schedule")}
		w := synth.New(synth.Config{Seed: rapid.Uint64().Draw(t, "seed"), Start: start, Pages: []synth.Page{p}})
		from := start.Add(moments().Draw(t, "from"))
		to := start.Add(moments().Draw(t, "to"))
		changes := w.Changes("page", from, to)
		if got, want := len(changes), max(w.VersionAt("page", to)-w.VersionAt("page", from), 0); got != want {
			t.Errorf("%d changes in (%v, %v], but %d versions", got, from, to, want)
		}
		last := from
		for _, c := range changes {
			if !c.After(last) || c.After(to) {
				t.Fatalf("a change at %v, after one at %v and asked up to %v", c, last, to)
			}
			last = c
			if before, at := w.VersionAt("page", c.Add(-1)), w.VersionAt("page", c); at != before+1 {
				t.Errorf("the change at %v leads from version %d to %d", c, before, at)
			}
		}
	})
}

func moments() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(-10_000, 300_000).Draw(t, "ms")) * time.Millisecond
	})
}

func schedules() *rapid.Generator[synth.Schedule] {
	seconds := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond
	})
	return rapid.Custom(func(t *rapid.T) synth.Schedule {
		mean := seconds.Draw(t, "mean")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return synth.Never{}
		case 1:
			return synth.Regular{Every: mean, Offset: seconds.Draw(t, "offset")}
		case 2:
			return synth.Clockwork{Marks: rapid.SliceOfN(seconds, 0, 4).Draw(t, "marks"), Late: mean}
		case 3:
			return synth.Burst{Quiet: mean, Count: rapid.IntRange(0, 5).Draw(t, "count"), Gap: seconds.Draw(t, "gap")}
		case 4:
			return synth.Cycle{Mean: mean, Depth: rapid.Float64Range(0, 1).Draw(t, "depth")}
		case 5:
			return synth.Until{Schedule: synth.Poisson{Mean: mean}, Stop: seconds.Draw(t, "stop")}
		default:
			return synth.Poisson{Mean: mean}
		}
	})
}

func TestUnknownPageIsNothing(t *testing.T) {
	w := synth.Demo(1, start)
	if v := w.VersionAt("nobody", start); v != 0 {
		t.Errorf("a page that is not there is at version %d, want 0", v)
	}
	if c := w.Changes("nobody", start, start.Add(time.Hour)); c != nil {
		t.Errorf("a page that is not there changes: %v", c)
	}
	if b := w.Body("nobody", 1, start); b != nil {
		t.Errorf("a page that is not there says %q", b)
	}
	if b := w.Body("attic-imprint", 2, start); b != nil {
		t.Errorf("a page that never changes has a second version: %q", b)
	}
	if u := w.URL("nobody"); u != "" {
		t.Errorf("a page that is not there is at %s", u)
	}
}

func TestSlipsOfThePenPanic(t *testing.T) {
	tests := []struct {
		name  string
		pages []synth.Page
	}{
		{"the same name twice", []synth.Page{{ID: "a", Path: "/1"}, {ID: "a", Path: "/2"}}},
		{"the same path twice", []synth.Page{{ID: "a", Path: "/1"}, {ID: "b", Path: "/1"}}},
		{"a name that is none", []synth.Page{{ID: "a b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("New took it")
				}
			}()
			synth.New(synth.Config{Pages: tt.pages})
		})
	}
}

func TestZeroConfigStartsNow(t *testing.T) {
	now := start.Add(time.Hour)
	w := synth.New(synth.Config{Now: func() time.Time { return now }})
	if !w.Start().Equal(now) {
		t.Errorf("a web without a start begins at %v, want %v", w.Start(), now)
	}
	if synth.New(synth.Config{}).Start().IsZero() {
		t.Error("a web without a clock has no start")
	}
}

func TestReadyMadeWebs(t *testing.T) {
	tests := []struct {
		name         string
		web          *synth.Web
		pages, hosts int
	}{
		{"demo", synth.Demo(1, start), 40, 8},
		{"many", many(1, start), 200, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := len(tt.web.Pages()); got != tt.pages {
				t.Errorf("%d pages, want %d", got, tt.pages)
			}
			if got := len(tt.web.Hosts()); got != tt.hosts {
				t.Errorf("%d hosts, want %d", got, tt.hosts)
			}
			changes, hosts := 0, map[string]bool{}
			for i, s := range tt.web.Sources() {
				if i > 0 && tt.web.Sources()[i-1].ID >= s.ID {
					t.Errorf("source %s comes out of order", s.ID)
				}
				hosts[s.Host()] = true
				changes += len(tt.web.Changes(s.ID, start, start.Add(time.Minute)))
			}
			if len(hosts) != tt.hosts {
				t.Errorf("the sources are on %d hosts, want %d", len(hosts), tt.hosts)
			}
			if changes < tt.pages/2 {
				t.Errorf("only %d changes in the first minute", changes)
			}
		})
	}
}

// TestPagesWithoutNoise lets whoever polls them compare stored bodies with the
// truth byte by byte.
func TestPagesWithoutNoise(t *testing.T) {
	w := many(1, start)
	for _, p := range w.Pages() {
		if !bytes.Equal(w.Body(p.ID, 1, start), w.Body(p.ID, 1, start.Add(time.Hour))) {
			t.Errorf("the body of %s depends on when it is asked for", p.ID)
		}
	}
}

var _ freshet.Fetcher = (*synth.Web)(nil)
