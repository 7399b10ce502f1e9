package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

var noon = policytest.Noon

// choose asks p for n sources, none of which may be among the shut, and returns
// their slots in a line.
func choose(p freshet.Policy, n int, shut ...freshet.Slot) string {
	var taken []string
	p.Choose(noon, n, func(s freshet.Slot, _ float64) bool {
		if slices.Contains(shut, s) {
			return false
		}
		taken = append(taken, fmt.Sprint(s))
		return true
	})
	return strings.Join(taken, " ")
}

func put(p freshet.Policy, slot freshet.Slot, id freshet.SourceID) {
	p.Put(noon, slot, freshet.Source{ID: id}, time.Time{})
}

func TestNew(t *testing.T) {
	for _, name := range policy.Names {
		if _, err := policy.New(name, policy.Setting{}); err != nil {
			t.Errorf("%s is named and not known: %v", name, err)
		}
	}
	_, err := policy.New("unifrom", policy.Setting{})
	if invalid, ok := errors.AsType[*invalid.Error](err); !ok || !strings.Contains(invalid.Reason, "uniform") {
		t.Errorf("error %v, want one that lists the policies there are", err)
	}
	for _, name := range policy.Experimental {
		_, err := policy.New(name+":max=1h", policy.Setting{})
		want := name + " is a baseline of experiments: freshet-lab results --policies " + name + " compares it with others; use one of auto, "
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || !strings.HasPrefix(invalid.Reason, want) {
			t.Errorf("%s gives %v, want an error that begins with %q", name, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, name := range []string{
		"sample-greedy:samples=10,share=0.3,group=directory", "cyclic:period=1h,method=modeled",
		"frequency:floor=0.1,memory=20", "fixed:every=90s",
	} {
		if _, err := policy.New(name, policy.Setting{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	tests := []struct{ name, reason string }{
		{"uniform:x=1", "uniform has no options"},
		{"cyclic:memo=3", "cyclic has no option memo; it has method, explore, memory, period"},
		{"cyclic:memory=x", "memory=x: the value is not a whole number"},
		{"cyclic:memory", "is not of the form key=value"},
		{"cyclic:memory=1,memory=2", "memory is given twice"},
		{"fixed:every=soon", "not a length of time"},
		{"sample-greedy:group=page", "not one of site, directory"},
		{"cyclic:method=best", "not one of optimal, modeled"},
	}
	for _, tt := range tests {
		_, err := policy.New(tt.name, policy.Setting{})
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || !strings.Contains(invalid.Reason, tt.reason) {
			t.Errorf("%s gives %v, want an error that says %q", tt.name, err, tt.reason)
		}
	}
}

func TestUniform(t *testing.T) {
	u := &policy.Uniform{}
	put(u, 0, "b")
	put(u, 1, "a")
	put(u, 2, "c")
	steps := []struct{ what, got, want string }{
		{"in the order of the IDs", choose(u, 2), "1 0"},
		{"goes on, and round", choose(u, 2), "2 1"},
		{"b is shut and passed over", choose(u, 1, 0), "2"},
		{"nothing twice in one choice", choose(u, 9, 0), "1 2"},
		{"what was passed over comes first", choose(u, 1), "0"},
	}
	for _, s := range steps {
		if s.got != s.want {
			t.Errorf("%s: slots %q, want %q", s.what, s.got, s.want)
		}
	}
	u.Remove(1)
	put(u, 3, "d")
	put(u, 1, "bb") // the slot is used again
	if got := choose(u, 4); len(strings.Fields(got)) != 4 {
		t.Errorf("slots %q after an edit, want all four", got)
	}
}

func TestUniformGoesOnAfterARestart(t *testing.T) {
	u := &policy.Uniform{}
	for slot, ago := range []time.Duration{1, 3, 2, 9} { // a was seen last
		u.Put(noon, freshet.Slot(slot), freshet.Source{ID: freshet.SourceID("bacd"[slot : slot+1])}, noon.Add(-ago*time.Hour))
	}
	if got := choose(u, 2); got != "2 3" {
		t.Errorf("slots %q, want c and d, which follow b that was seen last", got)
	}
}

func TestUniformBeginsAtTheFirst(t *testing.T) {
	for what, since := range map[string]time.Time{"never seen": {}, "all seen at once": noon} {
		u := &policy.Uniform{}
		for slot, id := range []freshet.SourceID{"b", "a", "c"} {
			u.Put(noon, freshet.Slot(slot), freshet.Source{ID: id}, since)
		}
		if got := choose(u, 3); got != "1 0 2" {
			t.Errorf("%s: slots %q, want a, b and c", what, got)
		}
	}
}

func TestRoundRobin(t *testing.T) {
	r := &policy.RoundRobin{}
	if got := choose(r, 3); got != "" {
		t.Errorf("slots %q of no sources", got)
	}
	for slot := range freshet.Slot(4) {
		put(r, slot, freshet.SourceID(fmt.Sprint("s", slot)))
	}
	steps := []struct{ what, got, want string }{
		{"in the order of putting", choose(r, 2), "0 1"},
		{"2 is shut and keeps its place", choose(r, 2, 2), "3 0"},
		{"2 has waited longest", choose(r, 3), "2 1 3"},
		{"each once in a choice", choose(r, 99), "0 2 1 3"},
	}
	for _, s := range steps {
		if s.got != s.want {
			t.Errorf("%s: slots %q, want %q", s.what, s.got, s.want)
		}
	}
	r.Observe(noon, 0, freshet.Outcome{Cause: freshet.ByHand})
	r.Remove(1)
	put(r, 7, "late")
	if got := choose(r, 99); got != "7 2 3 0" {
		t.Errorf("slots %q, want the newcomer, and last the one polled by hand", got)
	}
}

func TestRoundRobinGoesOnAfterARestart(t *testing.T) {
	r := &policy.RoundRobin{}
	for slot, ago := range []time.Duration{1, 3, 2} {
		r.Put(noon, freshet.Slot(slot), freshet.Source{}, noon.Add(-ago*time.Hour))
	}
	put(r, 3, "never seen")
	if got := choose(r, 4); got != "3 1 2 0" {
		t.Errorf("slots %q, want the one never seen and then the longest unseen first", got)
	}
}

func TestPausedSourcesAreNotOffered(t *testing.T) {
	for _, name := range plain {
		t.Run(name, func(t *testing.T) {
			p, err := policy.New(name, policy.Setting{})
			if err != nil {
				t.Fatal(err)
			}
			put(p, 0, "a")
			put(p, 1, "b")
			p.Put(noon, 0, freshet.Source{ID: "a", Paused: true}, noon)
			p.Observe(noon, 0, freshet.Outcome{Cause: freshet.ByHand})
			if got := choose(p, 9); got != "1" {
				t.Errorf("slots %q, want only the one that is not paused", got)
			}
			put(p, 0, "a")
			if got := choose(p, 9); len(got) != 3 {
				t.Errorf("slots %q, want both when it is resumed", got)
			}
		})
	}
}

// plain policies treat all sources alike, whatever polls find.
var plain = []string{"uniform", "round-robin"}

// Whatever comes and goes, both policies offer every source that is there, none
// that is not, and none twice; and over many rounds they treat all alike.
func TestFairness(t *testing.T) {
	for _, name := range plain {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, err := policy.New(name, policy.Setting{})
				if err != nil {
					t.Fatal(err)
				}
				there := map[freshet.Slot]int{} // slot -> times taken
				steps := rapid.SliceOfN(rapid.IntRange(0, 99), 1, 200).Draw(t, "steps")
				for _, step := range steps {
					slot := freshet.Slot(step % 20)
					switch {
					case step < 40:
						put(p, slot, freshet.SourceID(fmt.Sprint("s", step%20)))
						if _, ok := there[slot]; !ok {
							there[slot] = 0
						}
					case step < 55:
						if _, ok := there[slot]; ok {
							p.Remove(slot)
							delete(there, slot)
						}
					default:
						once := map[freshet.Slot]bool{}
						p.Choose(noon, step%7, func(s freshet.Slot, _ float64) bool {
							if _, ok := there[s]; !ok {
								t.Fatalf("slot %d was taken and is not there", s)
							}
							if once[s] {
								t.Fatalf("slot %d was taken twice in one choice", s)
							}
							once[s] = true
							return true
						})
						if want := min(step%7, len(there)); len(once) != want {
							t.Fatalf("%d taken of %d, want %d", len(once), len(there), want)
						}
					}
				}
				for range 10 * len(there) {
					p.Choose(noon, 1, func(s freshet.Slot, _ float64) bool { there[s]++; return true })
				}
				for slot, n := range there {
					if n < 9 || n > 11 {
						t.Fatalf("slot %d was taken %d times in ten rounds", slot, n)
					}
				}
			})
		})
	}
}
