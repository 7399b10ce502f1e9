package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A diary is pages under a Sampling that is begun again now and then, with what is
// on record of its polls.
type diary struct {
	cfg  policy.SamplingConfig
	ids  []freshet.SourceID
	seen []time.Time
	log  []diaryEntry
	p    *policy.Sampling
	now  time.Time
}

type diaryEntry struct {
	slot freshet.Slot
	freshet.Outcome
}

func newDiary(c policy.SamplingConfig, pages int, at time.Time) *diary {
	d := &diary{cfg: c, now: at}
	for i := range pages {
		d.ids = append(d.ids, freshet.SourceID(fmt.Sprintf("%c/%03d", 'a'+i%5, i)))
		d.seen = append(d.seen, at.Add(-14*units.Day))
	}
	d.restart()
	return d
}

// restart begins the policy again and tells it what is on record.
func (d *diary) restart() {
	d.p = policy.NewSampling(d.cfg)
	for slot, id := range d.ids {
		d.p.Put(d.now, freshet.Slot(slot), freshet.Source{ID: id}, d.seen[slot])
	}
	for _, e := range d.log {
		d.p.Observe(d.now, e.slot, e.Outcome)
	}
}

// spend lets so many polls be made, a minute apart. Pages of e have changed, and
// every third of c.
func (d *diary) spend(n int) (polled []freshet.Slot) {
	for range n {
		d.now = d.now.Add(time.Minute)
		d.p.Choose(d.now, 1, func(slot freshet.Slot, _ float64) bool {
			polled = append(polled, slot)
			id := d.ids[slot]
			o := freshet.Outcome{Began: d.now, Ended: d.now, Since: d.seen[slot]}
			if d.seen[slot].IsZero() {
				o.Result = freshet.First
			} else if id[0] == 'e' || id[0] == 'c' && slot%3 == 0 {
				o.Result = freshet.Changed
			}
			d.seen[slot] = d.now
			d.log = append(d.log, diaryEntry{slot, o})
			return true
		})
		if len(polled) > 0 && d.log[len(d.log)-1].Began.Equal(d.now) {
			last := d.log[len(d.log)-1]
			d.p.Observe(d.now, last.slot, last.Outcome)
		}
	}
	return polled
}

// A restart goes on within the cycle of the clock: the same pages are downloaded as
// without it, and no more than the cycle has.
func TestCycleGoesOnAfterARestart(t *testing.T) {
	monday := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	for method := range policy.SamplingMethod(3) {
		for _, share := range []float64{0, 0.2} {
			cfg := policy.SamplingConfig{Method: method, Share: 0.3, Cycle: units.Day, Samples: 4, Step: 4, RoundRobin: share, Seed: 3}
			for _, at := range []int{0, 3, 11, 20, 37, 59, 60} {
				t.Run(fmt.Sprintf("method %d, share %v, after %d polls", method, share, at), func(t *testing.T) {
					whole := newDiary(cfg, 200, monday)
					want := whole.spend(80)
					d := newDiary(cfg, 200, monday)
					got := d.spend(at)
					d.restart()
					got = append(got, d.spend(80-at)...)
					if len(want) != 60 || len(got) != 60 {
						t.Fatalf("%d downloads in the cycle with a restart, %d without, want 60", len(got), len(want))
					}
					slices.Sort(got)
					if len(slices.Compact(got)) != 60 {
						t.Errorf("pages were downloaded twice in a cycle: %v", got)
					}
					slices.Sort(want)
					if method != policy.SampleAdaptive && share == 0 && !slices.Equal(got, want) {
						t.Errorf("a restart changes what is downloaded\nwith:    %v\nwithout: %v", got, want)
					}
					d.now = time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
					whole.now = d.now
					next := d.spend(at)
					d.restart()
					next = append(next, d.spend(80-at)...)
					after := whole.spend(80)
					if len(next) != 60 {
						t.Errorf("%d downloads in the next cycle, want 60", len(next))
					}
					slices.Sort(next)
					slices.Sort(after)
					if method != policy.SampleAdaptive && share == 0 && !slices.Equal(next, after) {
						t.Errorf("a restart changes what is downloaded in the next cycle\nwith:    %v\nwithout: %v", next, after)
					}
				})
			}
		}
	}
}

// A cycle that is spent before a restart is spent after it, too.
func TestSpentCycleStaysSpent(t *testing.T) {
	d := newDiary(policy.SamplingConfig{Downloads: 20, Cycle: 7 * units.Day, Samples: 2}, 100, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	d.spend(30)
	d.restart()
	if got := d.spend(10); len(got) != 0 {
		t.Errorf("%v downloaded in a cycle that is spent", got)
	}
	again := d.p.Choose(d.now, 1, func(freshet.Slot, float64) bool { return false })
	if want := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC); !again.Equal(want) {
		t.Errorf("the next week begins at %v, want %v, a Monday", again, want)
	}
}

// Pages that were seen for the first time in a cycle wait for the next one.
func TestCyclesBeginAfterTheFirstCopy(t *testing.T) {
	d := newDiary(policy.SamplingConfig{Share: 0.2, Cycle: units.Day}, 50, time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC))
	for slot := range d.seen {
		d.seen[slot] = time.Time{}
	}
	d.restart()
	if got := d.spend(30); len(got) != 30 {
		t.Fatalf("%d of 50 pages seen with 30 polls", len(got))
	}
	d.restart()
	if got := d.spend(60); len(got) != 20 {
		t.Errorf("%d polls after a restart, want the 20 first looks that are left", len(got))
	}
	d.now = time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	if got := d.spend(30); len(got) != 10 {
		t.Errorf("%d polls on the next day, want the 10 of a cycle", len(got))
	}
}

// First looks are none of the downloads of a cycle, after a restart either.
func TestFirstLooksAreNoDownloads(t *testing.T) {
	d := newDiary(policy.SamplingConfig{Downloads: 20, Cycle: units.Day}, 100, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	clear(d.seen[:15])
	d.restart()
	if got := d.spend(25); len(got) != 25 {
		t.Fatalf("%d polls made of 25, want 15 first looks and 10 downloads", len(got))
	}
	d.restart()
	if got := d.spend(30); len(got) != 10 {
		t.Errorf("%d downloads after a restart, want the 10 that are left", len(got))
	}
}

// The round of all pages goes on after a restart where it was, with cycles by the
// clock and without.
func TestRoundGoesOnAfterARestart(t *testing.T) {
	for _, cycle := range []time.Duration{0, units.Day} {
		d := newDiary(policy.SamplingConfig{Downloads: 20, Cycle: cycle, RoundRobin: 1}, 100, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
		seen := map[freshet.Slot]bool{}
		for day := range 5 {
			d.now = time.Date(2026, 3, 2+day, 0, 0, 0, 0, time.UTC)
			d.restart()
			for _, slot := range d.spend(20) {
				seen[slot] = true
			}
		}
		if len(seen) != 100 {
			t.Errorf("%d pages of 100 polled in five cycles of 20, each after a restart", len(seen))
		}
	}
}

// Without a number, a cycle has what the budget comes to in it, as it stands when
// the cycle begins.
func TestDownloadsOfACycleByBudget(t *testing.T) {
	d := newDiary(policy.SamplingConfig{Cycle: time.Hour, Polls: 20.0 / 3600}, 100, time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC))
	if got := d.spend(59); len(got) != 20 {
		t.Errorf("%d polls in an hour with a budget of 20", len(got))
	}
	d.p.SetLimits(sched.Limits{Budget: sched.Budget{Polls: 30, Per: time.Hour}})
	if got := d.spend(59); len(got) != 30 {
		t.Errorf("%d polls in the next hour with a budget of 30", len(got))
	}
}

// Subsets go round by the clock, whatever restarts there are.
func TestSubsetsByTheClock(t *testing.T) {
	d := newDiary(policy.SamplingConfig{Downloads: 20, High: 0.5, Cycle: time.Hour, Samples: 2}, 100, time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC))
	seen := map[byte]bool{}
	for range 3 {
		for _, slot := range d.spend(60) {
			seen[d.ids[slot][0]] = true
		}
		d.restart()
	}
	if len(seen) != 5 {
		t.Errorf("sites %v polled in three cycles of two sites each, want all five", seen)
	}
}

func TestSamplingOptions(t *testing.T) {
	for _, tt := range []struct{ options, want string }{
		{"cycle=24h", ""},
		{"cycle=7d,downloads=20%", ""},
		{"cycle=1w,offset=5d2h,downloads=500", ""},
		{"cycle=1w,zone=Europe/Berlin,begin=sat 02:00,window=22:00-06:00", ""},
		{"cycle=1d,begin=2:30", ""},
		{"cycle=6h,zone=Asia/Tokyo", ""},
		{"window=fri 22:00-mon 06:00", ""},
		{"cycle=1w,zone=Berlin", "zone=Berlin: the value is not a time zone, such as Europe/Berlin"},
		{"cycle=1w,zone=Local", "zone=Local: the value is not a time zone"},
		{"zone=UTC", "zone is for a cycle or a window"},
		{"cycle=5h,zone=UTC", "zone is for cycles of whole days"},
		{"cycle=6h,begin=02:00", "begin is for cycles of whole days or weeks"},
		{"cycle=3d,begin=sat 02:00", "begin names a day of the week, but cycles of 3d begin on other days"},
		{"cycle=1w,begin=someday 02:00", "begin=someday 02:00: the value is not a time of the day"},
		{"cycle=1w,begin=25:00", "begin=25:00: the value is not"},
		{"cycle=1w,begin=sat 02:00,offset=1d", "begin and offset say the same"},
		{"window=22:00", "window=22:00: the value is not a part of the day"},
		{"window=22:00-22:00", "window=22:00-22:00: the value is not"},
		{"window=fri 22:00-06:00", "window=fri 22:00-06:00: the value is not"},
		{"group=tag", ""},
		{"group=tag:topic-", ""},
		{"downloads=0%", "downloads=0%: the value is not a whole number, or a share from 0% to 100%"},
		{"downloads=120%", "downloads=120%: the value is not"},
		{"downloads=0.2", "downloads=0.2: the value is not a whole number, or a share"},
		{"cycle=1 day", "cycle=1 day: the value is not a length of time"},
		{"cycle=1d,offset=2d", "offset is not shorter than the cycle"},
		{"offset=2h", "offset is not shorter than the cycle"},
		{"group=tag:", "group=tag:: the value is not one of site, directory, tag, tag:PREFIX"},
		{"group=host", "group=host: the value is not one of site"},
	} {
		_, err := policy.New("sample-greedy:"+tt.options, policy.Setting{})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.options, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: the error is %v, want %q in it", tt.options, err, tt.want)
		}
	}
}

// By tags, sources belong together that have the same ones, wherever they are.
func TestGroupsByTag(t *testing.T) {
	source := func(id string, tags ...string) freshet.Source {
		return freshet.Source{ID: freshet.SourceID(id), Tags: tags}
	}
	all, topics := policy.TagsOf(""), policy.TagsOf("topic-")
	if all(source("a/1", "news", "uk")) != all(source("b/2", "news", "uk")) {
		t.Error("sources with the same tags are in different groups")
	}
	if all(source("a/1", "news")) == all(source("a/1", "news", "uk")) {
		t.Error("sources with different tags are in one group")
	}
	if topics(source("a/1", "topic-news", "uk")) != topics(source("b/2", "fr", "topic-news")) {
		t.Error("sources of the same topic are in different groups")
	}
	if topics(source("a/1", "uk")) != "a" || all(source("a/1")) != "a" {
		t.Error("a source without such a tag is not in the group of its site")
	}
	if all(source("a/1", "b")) == all(source("b/2")) {
		t.Error("a tag and a site of the same name are one group")
	}
}
