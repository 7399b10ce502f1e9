package policy_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// A shelf is a policy with pages of three sites, of which some were never seen.
type shelf struct {
	p    freshet.Policy
	now  time.Time
	seen map[freshet.Slot]bool
}

func newShelf(t *testing.T, name string) *shelf {
	p, err := policy.New(name, policy.Setting{Instant: time.Second, Polls: 5, Sources: 60, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{p, noon, map[freshet.Slot]bool{}}
}

func (s *shelf) put(from, to freshet.Slot) {
	for slot := from; slot < to; slot++ {
		id := fmt.Sprintf("site%d/%03d", slot%3, slot)
		s.p.Put(s.now, slot, freshet.Source{ID: freshet.SourceID(id), URL: "https://" + id}, time.Time{})
	}
}

// polls returns what is polled in the next instant. Down, if it is not nil, says
// which pages do not answer.
func (s *shelf) polls(n int, down func(freshet.Slot) bool) (taken []freshet.Slot) {
	s.p.Choose(s.now, n, func(slot freshet.Slot, _ float64) bool {
		taken = append(taken, slot)
		return true
	})
	for _, slot := range taken {
		o := freshet.Outcome{Began: s.now, Ended: s.now, Result: freshet.Changed}
		switch {
		case down != nil && down(slot):
			o.Result = freshet.Failed
		case !s.seen[slot]:
			o.Result, s.seen[slot] = freshet.First, true
		}
		s.p.Observe(s.now, slot, o)
	}
	s.now = s.now.Add(time.Second)
	return taken
}

// There is a copy of every page before any is polled again, and one of a page that
// is added later before the others go on.
func TestFirstCopyComesFirst(t *testing.T) {
	for _, name := range policy.Names {
		switch name {
		case "uniform", "wic", "cyclic": // go by the order of IDs, or by chances
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, name)
			s.put(0, 60)
			once := map[freshet.Slot]bool{}
			for len(once) < 60 {
				got := s.polls(5, nil)
				if len(got) == 0 {
					t.Fatalf("nothing is polled, and %d pages of 60 were seen", len(once))
				}
				for _, slot := range got {
					if once[slot] {
						t.Fatalf("page %d is polled again, and %d pages of 60 were seen", slot, len(once))
					}
					once[slot] = true
				}
			}
			for range 20 {
				s.polls(5, nil)
			}
			s.put(60, 63)
			if got := s.polls(3, nil); len(got) != 3 || got[0] < 60 || got[1] < 60 || got[2] < 60 {
				t.Errorf("pages %v are polled after three were added, want those", got)
			}
		})
	}
}

// Cycles do not wait for pages that are down, and those are tried again.
func TestFirstCopyOfWhatIsDown(t *testing.T) {
	for _, name := range []string{"sample-greedy", "sample-proportional", "sample-adaptive", "sample-subset"} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t, name+":downloads=20")
			s.put(0, 60)
			down := func(slot freshet.Slot) bool { return slot < 6 }
			tries, others := 0, 0
			for range 60 {
				for _, slot := range s.polls(5, down) {
					if down(slot) {
						tries++
					} else {
						others++
					}
				}
			}
			// 54 first looks and six tries make the first copy. Of the 240 polls that
			// are left a cycle has 20, and tries of what is down beside them.
			if tries < 12 || tries > 80 || others < 200 {
				t.Errorf("%d polls of six pages that are down and %d of the others, want a few in each cycle", tries, others)
			}
			for range 30 {
				s.polls(5, nil)
			}
			for slot := range freshet.Slot(6) {
				if !s.seen[slot] {
					t.Errorf("page %d is up again and was not seen", slot)
				}
			}
		})
	}
}

// Pages of a host that may not be polled hold up the cycles for an hour, and no
// longer.
func TestFirstCopyOfWhatIsShut(t *testing.T) {
	l := newLibrary(policy.SamplingConfig{Downloads: 6, Samples: 2}, "a b", 10, ofB)
	for slot := range freshet.Slot(10) { // those of a were never seen
		l.p.Put(noon, slot, freshet.Source{ID: l.ids[slot]}, time.Time{})
	}
	shut := func(id freshet.SourceID) bool { return id[0] == 'a' }
	none, again := l.take(4, shut)
	if len(none) != 0 || !again.Equal(noon.Add(time.Hour)) {
		t.Fatalf("%v taken while pages were never seen, and again at %v, want to wait for an hour", none, again)
	}
	l.now = again
	if got, _ := l.take(4, shut); len(got) == 0 || l.ids[got[0]][0] != 'b' {
		t.Errorf("%v taken after an hour, want pages of b", got)
	}
	if got, _ := l.take(4, nil); len(got) != 4 || l.ids[got[0]][0] != 'a' {
		t.Errorf("%v taken when a is open, want pages of it", got)
	}
}
