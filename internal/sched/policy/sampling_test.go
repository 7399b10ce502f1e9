package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

// A library is a few sites of pages, of which some have changed, under a
// Sampling.
type library struct {
	p       *policy.Sampling
	ids     []freshet.SourceID
	changed func(id freshet.SourceID) bool
	now     time.Time
}

func newLibrary(c policy.SamplingConfig, sites string, pages int, changed func(freshet.SourceID) bool) *library {
	l := &library{p: policy.NewSampling(c), changed: changed, now: noon}
	for site := range strings.SplitSeq(sites, " ") {
		for i := range pages {
			l.ids = append(l.ids, freshet.SourceID(fmt.Sprintf("%s/%02d", site, i)))
		}
	}
	for slot, id := range l.ids {
		l.p.Put(noon, freshet.Slot(slot), freshet.Source{ID: id}, noon.Add(-time.Hour))
	}
	return l
}

// take lets the policy choose up to n pages, and returns them and when it wants
// to be asked again.
func (l *library) take(n int, shut func(freshet.SourceID) bool) (taken []freshet.Slot, again time.Time) {
	again = l.p.Choose(l.now, n, func(slot freshet.Slot, _ float64) bool {
		if shut != nil && shut(l.ids[slot]) {
			return false
		}
		taken = append(taken, slot)
		return true
	})
	return taken, again
}

func (l *library) tell(slots []freshet.Slot) {
	for _, slot := range slots {
		o := freshet.Outcome{Began: l.now, Ended: l.now}
		if l.changed(l.ids[slot]) {
			o.Result = freshet.Changed
		}
		l.p.Observe(l.now, slot, o)
	}
}

// spend takes up to n pages one after the other, and counts them by site.
func (l *library) spend(n int) map[string]int {
	by := map[string]int{}
	for range n {
		slots, _ := l.take(1, nil)
		l.tell(slots)
		for _, slot := range slots {
			by[policy.SiteOf(freshet.Source{ID: l.ids[slot]})]++
		}
	}
	return by
}

// ofB says that every page of site b has changed, half of c, and none of a.
func ofB(id freshet.SourceID) bool {
	return id[0] == 'b' || id[0] == 'c' && (id[len(id)-1]-'0')%2 == 0
}

func TestSamplingDownloadsWhatItsSamplesPointTo(t *testing.T) {
	cycle := policy.SamplingConfig{Downloads: 40, Cycle: time.Hour, Start: noon, Samples: 4, Step: 4, Seed: 1}
	cases := []struct {
		what   string
		method policy.SamplingMethod
		check  func(a, b, c int) bool
	}{
		{"greedy takes all of b, the rest of c, and only samples of a", policy.SampleGreedy,
			func(a, b, c int) bool { return a == 4 && b == 30 && c == 6 }},
		{"adaptive takes all of b and hardly any of a", policy.SampleAdaptive,
			func(a, b, c int) bool { return a <= 8 && b == 30 }},
		{"proportional takes most of b, and only samples of a", policy.SampleProportional,
			func(a, b, c int) bool { return a == 4 && b > c && c > 4 }},
	}
	for _, c := range cases {
		cfg := cycle
		cfg.Method = c.method
		l := newLibrary(cfg, "a b c", 30, ofB)
		got := l.spend(50) // ten more than the cycle has
		if sum := got["a"] + got["b"] + got["c"]; sum != 40 {
			t.Errorf("method %d spent %d downloads, want 40", c.method, sum)
		}
		if !c.check(got["a"], got["b"], got["c"]) {
			t.Errorf("%s: %v", c.what, got)
		}
		if slots, again := l.take(1, nil); len(slots) != 0 || !again.Equal(noon.Add(time.Hour)) {
			t.Errorf("method %d takes %v in a cycle that is spent, and asks again at %v", c.method, slots, again)
		}
		l.now = noon.Add(time.Hour)
		if got := l.spend(50); got["a"]+got["b"]+got["c"] != 40 {
			t.Errorf("method %d spent %v in the second cycle, want 40", c.method, got)
		}
	}
}

// Where the downloads suffice for ten samples of each site and no more, adaptive sampling
// decides after fewer.
func TestAdaptiveSamplingOfSmallSites(t *testing.T) {
	const sites = "a b c d e f g h i j k l m n o p q r s t"
	l := newLibrary(policy.SamplingConfig{Method: policy.SampleAdaptive, Downloads: 200, Seed: 1}, sites, 100,
		func(id freshet.SourceID) bool { return id[0] == 'b' })
	if got := l.spend(200); got["b"] < 90 {
		t.Errorf("of 200 downloads %d are of the one site whose pages have all changed, want most of its 100: %v", got["b"], got)
	}
}

func TestSamplesAreWaitedFor(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 20, Samples: 2, RoundRobin: 0.1}, "a b", 20, ofB)
	samples, again := l.take(20, nil)
	if len(samples) != 6 || !again.IsZero() {
		t.Fatalf("%d pages taken and again at %v, want four samples and a round-robin share of two, and to wait for news", len(samples), again)
	}
	if more, _ := l.take(5, nil); len(more) != 0 {
		t.Errorf("%v taken while the samples are under way", more)
	}
	l.tell(samples)
	rest, _ := l.take(20, nil)
	if len(rest) != 14 {
		t.Errorf("%d taken after the samples, want the other 14", len(rest))
	}
	for _, slot := range rest {
		if l.ids[slot][0] != 'b' {
			t.Errorf("%s was downloaded, want only pages of b", l.ids[slot])
		}
	}
}

func TestCycleDoesNotHangOnWhatIsShut(t *testing.T) {
	shut := func(id freshet.SourceID) bool { return id[0] == 'b' }
	l := newLibrary(policy.SamplingConfig{Downloads: 12, Samples: 2, Patience: time.Minute}, "a b", 10, ofB)
	samples, _ := l.take(12, shut)
	l.tell(samples)
	if len(samples) != 2 {
		t.Fatalf("%d samples taken, want the two of the site that is open", len(samples))
	}
	none, again := l.take(12, shut)
	if len(none) != 0 || !again.Equal(l.now.Add(time.Minute)) {
		t.Errorf("%v taken and again at %v, want patience with the site that is shut", none, again)
	}
	l.now = again
	rest, _ := l.take(12, shut)
	l.tell(rest)
	if len(rest) != 8 {
		t.Errorf("%d taken when patience has run out, want the other 8 of the open site", len(rest))
	}
	_, again = l.take(12, shut)
	l.now = again
	next, _ := l.take(12, nil)
	l.tell(next)
	if len(next) == 0 {
		t.Errorf("nothing taken, want a new cycle")
	}
}

// A failed sample tells nothing: the site is judged by the others.
func TestFailedSamplesDoNotCount(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 14, Samples: 2}, "a b", 10, ofB)
	samples, _ := l.take(4, nil)
	for i, slot := range samples {
		r := freshet.Unchanged
		if l.ids[slot][0] == 'b' {
			r = freshet.Changed
			if i < 2 {
				r = freshet.Failed
			}
		}
		l.p.Observe(l.now, slot, freshet.Outcome{Began: l.now, Result: r})
	}
	stand, _ := l.take(10, nil)
	l.tell(stand)
	rest, _ := l.take(9, nil)
	b := len(stand)
	for _, slot := range rest {
		if l.ids[slot][0] == 'b' {
			b++
		}
	}
	if b != 8 {
		t.Errorf("%d pages of b downloaded, want all 8 that were not sampled", b)
	}
}

// A poll that failed, or that saw its page for the first time, says nothing of its
// site: of two sites of which one sample in two had changed, the one whose other
// sample tells nothing is the better one, although it comes later by name.
func TestOnlySamplesThatTellCount(t *testing.T) {
	for _, tells := range []struct {
		result freshet.Result
		first  byte // the site that is downloaded first
	}{{freshet.Failed, 'b'}, {freshet.First, 'b'}, {freshet.Unchanged, 'a'}} {
		l := newLibrary(policy.SamplingConfig{Downloads: 14, Samples: 2}, "a b", 10, ofB)
		samples, _ := l.take(4, nil)
		seen := map[byte]int{}
		for _, slot := range samples {
			site := l.ids[slot][0]
			seen[site]++
			r := freshet.Changed
			if seen[site] == 2 {
				r = freshet.Unchanged
				if site == 'b' {
					r = tells.result
				}
			}
			l.p.Observe(l.now, slot, freshet.Outcome{Began: l.now, Result: r})
		}
		rest, _ := l.take(8, nil)
		for _, slot := range rest {
			if l.ids[slot][0] != tells.first {
				t.Errorf("with a second sample of b that was %v, %s is downloaded, want pages of %c first", tells.result, l.ids[slot], tells.first)
				break
			}
		}
	}
}

// What somebody else wanted polled needs no poll of the cycle.
func TestPagesPolledByHandAreVisited(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 6, Samples: 1, Cycle: time.Hour, Start: noon}, "a b", 5, ofB)
	l.spend(1)
	byHand := freshet.Outcome{Began: noon, Cause: freshet.ByHand, Result: freshet.Changed}
	visited := map[freshet.Slot]bool{}
	for slot := freshet.Slot(5); slot < 10; slot++ { // all of b, whose pages would come first
		l.p.Observe(noon, slot, byHand)
		visited[slot] = true
	}
	for range 9 {
		slots, _ := l.take(1, nil)
		l.tell(slots)
		for _, slot := range slots {
			if visited[slot] {
				t.Errorf("%s was polled again in the cycle in which it was polled by hand", l.ids[slot])
			}
		}
	}
}

// Samples that cost a tenth of a download leave more of them; a changed one is
// still to be paid for.
func TestCheapSamples(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 10, Samples: 5, SampleCost: 0.1, Cycle: time.Hour, Start: noon}, "a b", 20, ofB)
	got := l.spend(40)
	// 10 samples cost 1 and the 5 changed ones 5 more, which leaves 4.
	if got["a"] != 5 || got["b"] != 9 {
		t.Errorf("%v polled, want 5 samples of a, and 5 samples and 4 downloads of b", got)
	}
}

func TestWeightsCountInSites(t *testing.T) {
	p := policy.NewSampling(policy.SamplingConfig{Downloads: 20, Samples: 4, Group: func(s freshet.Source) string { return s.Name }})
	for slot := range freshet.Slot(40) {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%02d", slot)), Name: "dear", Weight: 5}
		if slot%2 == 0 {
			s.Name, s.Weight = "cheap", 1
		}
		p.Put(noon, slot, s, noon.Add(-time.Hour))
	}
	dear := 0
	for range 20 {
		var taken freshet.Slot
		p.Choose(noon, 1, func(slot freshet.Slot, _ float64) bool { taken = slot; return true })
		r := freshet.Changed // all of the cheap, and half of the dear
		if taken%2 == 1 {
			dear++
			if taken%4 == 1 {
				r = freshet.Unchanged
			}
		}
		p.Observe(noon, taken, freshet.Outcome{Began: noon, Result: r})
	}
	if dear < 12 {
		t.Errorf("%d of 20 downloads went where changes matter more, want most", dear)
	}
}

func TestGroups(t *testing.T) {
	cases := []struct {
		source          freshet.Source
		site, directory string
	}{
		{freshet.Source{ID: "site1/news/7"}, "site1", "site1/news"},
		{freshet.Source{ID: "a", URL: "https://A.example/news/today.html?x=/y/"}, "a.example", "a.example/news/"},
		{freshet.Source{ID: "a", URL: "https://a.example"}, "a.example", "a.example"},
		{freshet.Source{ID: "a", URL: "%"}, "", ""},
		{freshet.Source{ID: "a", URL: "https://www.a.example/x/1", Of: "docs"}, "docs", "www.a.example/x/"},
		{freshet.Source{ID: "docs", URL: "https://a.example/", Site: &crawl.Settings{}}, "docs", "a.example/"},
	}
	for _, c := range cases {
		if got := policy.SiteOf(c.source); got != c.site {
			t.Errorf("%s %s is of site %q, want %q", c.source.ID, c.source.URL, got, c.site)
		}
		if got := policy.DirectoryOf(c.source); got != c.directory {
			t.Errorf("%s %s is in directory %q, want %q", c.source.ID, c.source.URL, got, c.directory)
		}
	}
}

// The same seed gives the same cycle, and another one another.
func TestSamplingRepeats(t *testing.T) {
	run := func(seed uint64) string {
		l := newLibrary(policy.SamplingConfig{Downloads: 30, Seed: seed}, "a b c", 30, ofB)
		var all []freshet.Slot
		for range 60 {
			slots, _ := l.take(3, nil)
			l.tell(slots)
			all = append(all, slots...)
			l.now = l.now.Add(time.Second)
		}
		return fmt.Sprint(all)
	}
	if first, again := run(1), run(1); first != again {
		t.Error("two runs from one seed differ")
	}
	if run(1) == run(2) {
		t.Error("two seeds draw the same samples")
	}
}

func TestSamplingKeepsCount(t *testing.T) {
	for m := range policy.SamplingMethod(3) {
		t.Run(fmt.Sprint(m), func(t *testing.T) {
			policytest.KeepsCount(t, func() freshet.Policy {
				return policy.NewSampling(policy.SamplingConfig{
					Method: m, Downloads: 5, Samples: 2, Step: 1, RoundRobin: 0.2, High: 0.5, Instant: tick, Patience: 2 * tick})
			}, false)
		})
	}
}

// However it is asked, a Sampling that may poll whenever it wants uses every
// poll it is offered, as long as there are pages it has not just polled.
func TestSamplingIdlesOnlyForItsSamples(t *testing.T) {
	for m := range policy.SamplingMethod(3) {
		l := newLibrary(policy.SamplingConfig{Method: m, Downloads: 17, Step: 3}, "a b c d", 25, ofB)
		for instant := range 200 {
			n := 0
			for asked := 0; asked < 20 && n < 8; asked++ {
				slots, _ := l.take(8-n, nil)
				l.tell(slots)
				n += len(slots)
			}
			if n != 8 {
				t.Fatalf("method %d took %d of 8 polls in instant %d", m, n, instant)
			}
			l.now = l.now.Add(time.Second)
		}
	}
}

// One subset of the sites comes after the other, until all have had their turn.
func TestSubsetsGoRound(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 6, Samples: 1, High: 0.5}, "a b c d e f", 6, func(freshet.SourceID) bool { return true })
	for cycle, want := range []string{"ab", "cd", "ef", "ab"} {
		for site := range l.spend(6) {
			if !strings.Contains(want, site) {
				t.Errorf("site %s in cycle %d, want only %s", site, cycle, want)
			}
		}
		l.now = l.now.Add(time.Minute)
	}
}

// When the downloads do not suffice to sample every site, sites take turns.
func TestSitesTakeTurns(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 5, Samples: 1}, "a b c d e f g h i j k l", 3, func(freshet.SourceID) bool { return true })
	seen := map[string]int{}
	for range 6 {
		for site, n := range l.spend(5) {
			seen[site] += n
		}
		l.now = l.now.Add(time.Minute)
	}
	if len(seen) != 12 {
		t.Errorf("%v polled in six cycles, want all twelve sites", seen)
	}
}
