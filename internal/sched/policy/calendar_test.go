package policy_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A night is a Sampling made from options, with pages that were all seen long ago.
type night struct {
	p   freshet.Policy
	now time.Time
}

func newNight(t *testing.T, options string, start time.Time, pages int) *night {
	t.Helper()
	p, err := policy.New("sample-greedy:"+options, policy.Setting{Start: start, Instant: time.Minute, Polls: 1, Sources: pages, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		id := freshet.SourceID(fmt.Sprintf("%c/%03d", 'a'+i%3, i))
		p.Put(start, freshet.Slot(i), freshet.Source{ID: id}, start.Add(-60*units.Day))
	}
	return &night{p, start}
}

// until goes on by the minute and returns when pages were polled.
func (n *night) until(end time.Time) (polled []time.Time) {
	for ; n.now.Before(end); n.now = n.now.Add(time.Minute) {
		var taken []freshet.Slot
		n.p.Choose(n.now, 1, func(slot freshet.Slot, _ float64) bool {
			taken = append(taken, slot)
			polled = append(polled, n.now)
			return true
		})
		for _, slot := range taken {
			n.p.Observe(n.now, slot, freshet.Outcome{Began: n.now, Ended: n.now, Result: freshet.Changed})
		}
	}
	return polled
}

// firsts returns the polls that come after a while without any.
func firsts(polled []time.Time) (list []string) {
	for i, at := range polled {
		if i == 0 || at.Sub(polled[i-1]) > time.Hour {
			list = append(list, at.UTC().Format("Mon 2006-01-02 15:04"))
		}
	}
	return list
}

func TestCyclesKeepToTheClockOfAZone(t *testing.T) {
	for _, tt := range []struct {
		options    string
		start, end string
		want       []string // in UTC
	}{
		// A trace that begins on a Thursday has its cycles on Mondays all the same.
		{"cycle=7d,downloads=5", "2026-01-01T00:00:00Z", "2026-01-13T00:00:00Z",
			[]string{"Thu 2026-01-01 00:00", "Mon 2026-01-05 00:00", "Mon 2026-01-12 00:00"}},
		{"cycle=1w,downloads=5,begin=sat 02:00", "2026-01-01T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"Thu 2026-01-01 00:00", "Sat 2026-01-03 02:00", "Sat 2026-01-10 02:00"}},
		{"cycle=1d,downloads=5,zone=Asia/Tokyo", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z",
			[]string{"Thu 2026-01-01 00:00", "Thu 2026-01-01 15:00", "Fri 2026-01-02 15:00"}},
		// Clocks go forward on 29 March, and back on 25 October: midnight stays midnight.
		{"cycle=1d,downloads=5,zone=Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"Sat 2026-03-28 00:00", "Sat 2026-03-28 23:00", "Sun 2026-03-29 22:00", "Mon 2026-03-30 22:00"}},
		{"cycle=1w,downloads=5,zone=Europe/Berlin,begin=sun 04:00", "2026-10-12T00:00:00Z", "2026-11-02T00:00:00Z",
			[]string{"Mon 2026-10-12 00:00", "Sun 2026-10-18 02:00", "Sun 2026-10-25 03:00", "Sun 2026-11-01 03:00"}},
		{"cycle=6h,downloads=5,zone=Asia/Kolkata", "2026-01-01T00:00:00Z", "2026-01-01T20:00:00Z",
			[]string{"Thu 2026-01-01 00:00", "Thu 2026-01-01 06:30", "Thu 2026-01-01 12:30", "Thu 2026-01-01 18:30"}},
		// Within a window alone.
		{"cycle=1d,downloads=5,window=22:00-06:00,zone=Europe/Berlin", "2026-06-01T12:00:00Z", "2026-06-03T12:00:00Z",
			[]string{"Mon 2026-06-01 20:00", "Mon 2026-06-01 22:00", "Tue 2026-06-02 22:00"}},
		{"cycle=1d,begin=12:00,downloads=5,window=22:00-06:00,zone=Europe/Berlin", "2026-06-01T12:00:00Z", "2026-06-03T12:00:00Z",
			[]string{"Mon 2026-06-01 20:00", "Tue 2026-06-02 20:00"}},
		{"cycle=7d,downloads=5,window=sat 00:00-mon 00:00", "2026-01-06T00:00:00Z", "2026-01-19T00:00:00Z",
			[]string{"Sat 2026-01-10 00:00", "Sat 2026-01-17 00:00"}},
	} {
		start, _ := time.Parse(time.RFC3339, tt.start)
		end, _ := time.Parse(time.RFC3339, tt.end)
		got := firsts(newNight(t, tt.options, start, 60).until(end))
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: polls at %q, want %q", tt.options, got, tt.want)
		}
	}
}

// Without a number of downloads a cycle has what the budget comes to while its window
// is open: a poll a minute for seven nights of eight hours, less the hour that is not
// there when clocks go forward, which is on the last of them.
func TestWindowBoundsDownloads(t *testing.T) {
	berlin, _ := time.LoadLocation("Europe/Berlin")
	start := time.Date(2026, 3, 23, 0, 0, 0, 0, berlin)
	n := newNight(t, "cycle=1w,window=22:00-06:00,zone=Europe/Berlin", start, 5000)
	polled := n.until(start.Add(9 * units.Day))
	inside := 0
	ends := start.AddDate(0, 0, 7)
	for _, at := range polled {
		if h := at.In(berlin).Hour(); h >= 6 && h < 22 {
			t.Fatalf("a page is polled at %v", at.In(berlin))
		}
		if at.Before(ends) {
			inside++
		}
	}
	if want := (7*8 - 1) * 60; inside != want {
		t.Errorf("%d polls in the week that has the short night, want %d", inside, want)
	}
}

// Whatever the window, zone and time: a time is in the window by its clock, or the
// policy asks for the next minute that is.
func TestWindowsOpenWhenTheySay(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"}
	rapid.Check(t, func(rt *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(rt, "zone")
		from, to := rapid.IntRange(0, 1439).Draw(rt, "from"), rapid.IntRange(0, 1439).Draw(rt, "to")
		if from == to {
			to = (to + 1) % 1440
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 366*24*60).Draw(rt, "minute")) * time.Minute)
		clock := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
		in, _ := time.LoadLocation(zone)
		inside := func(t time.Time) bool {
			m := t.In(in).Hour()*60 + t.In(in).Minute()
			if from < to {
				return m >= from && m < to
			}
			return m >= from || m < to
		}
		n := newNight(t, "downloads=1,zone="+zone+",window="+clock(from)+"-"+clock(to), at, 3)
		taken := false
		again := n.p.Choose(at, 1, func(freshet.Slot, float64) bool { taken = true; return true })
		shift := func(t time.Time) bool { // clocks are set within a few hours
			_, a := t.In(in).Add(-3 * time.Hour).Zone()
			_, b := t.In(in).Add(3 * time.Hour).Zone()
			return a != b
		}
		if shift(at) || !taken && shift(again) {
			return
		}
		if taken != inside(at) {
			rt.Fatalf("a poll at %v: %v, window %s-%s", at.In(in), taken, clock(from), clock(to))
		}
		if !taken && (!again.After(at) || !inside(again) || inside(again.Add(-time.Minute))) {
			rt.Fatalf("asks again at %v, window %s-%s", again.In(in), clock(from), clock(to))
		}
	})
}

// A sample that fails is no page that has not changed: another page of the site is
// taken for it, up to as many as the site was to have.
func TestFailedSamplesAreReplaced(t *testing.T) {
	for _, result := range []freshet.Result{freshet.Failed, freshet.First, freshet.Doubted} {
		l := newLibrary(policy.SamplingConfig{Downloads: 30, Samples: 3}, "a b", 20, ofB)
		samples := map[byte]int{}
		rest := map[byte]int{}
		for range 60 {
			slots, _ := l.take(30, nil)
			if len(slots) == 0 {
				break
			}
			for _, slot := range slots {
				site := l.ids[slot][0]
				o := freshet.Outcome{Began: l.now, Ended: l.now, Result: freshet.Changed}
				if site == 'b' && samples['b'] < 3 { // b changes, but its first samples tell nothing
					o.Result = result
				}
				if site == 'a' {
					o.Result = freshet.Unchanged
				}
				if len(slots) <= 6 && samples[site] < 6 {
					samples[site]++
				} else {
					rest[site]++
				}
				l.p.Observe(l.now, slot, o)
			}
			if rest['a']+rest['b'] > 0 {
				break
			}
		}
		if samples['a'] != 3 || samples['b'] != 6 {
			t.Errorf("%v: %d samples of a and %d of b, want 3, and 6 as three told nothing", result, samples['a'], samples['b'])
		}
		if rest['b'] < 14 {
			t.Errorf("%v: %v downloaded after the samples, want all of b first", result, rest)
		}
	}
}
