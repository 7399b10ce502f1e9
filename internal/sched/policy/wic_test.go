package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

func TestWICOracle(t *testing.T) {
	for _, prefix := range []string{"B04", "B05", "B10"} {
		for _, c := range wicCases(t, prefix) {
			t.Run(c.ID, func(t *testing.T) {
				var in scheduleInput
				var want struct {
					Schedule [][]int `json:"wic_schedule"`
					U        float64 `json:"wic_U"`
					Optimal  float64 `json:"optimal_U"`
					A        *float64
					ALife    *float64 `json:"a_with_life"`
				}
				c.read(t, &in, &want)
				w := in.world(t)
				schedule := w.Run(w.wic())
				u, _ := w.Utility(schedule)
				if !agrees(u, want.U, 1e-9) {
					t.Errorf("utility %v, want %v", u, want.U)
				}
				if want.Schedule != nil {
					if _, useful := w.Utility(want.Schedule); fmt.Sprint(schedule) != fmt.Sprint(useful) {
						t.Errorf("schedule %v, want %v", schedule, useful)
					}
				}
				if got := w.Optimum(); !agrees(got, want.Optimal, 1e-9) {
					t.Errorf("optimum %v, want %v", got, want.Optimal)
				}
				if a, withLife := w.shrink(); want.A != nil && (!agrees(a, *want.A, 1e-9) || !agrees(withLife, *want.ALife, 1e-9)) {
					t.Errorf("delay shrinks by %v and %v, want %v and %v", a, withLife, *want.A, *want.ALife)
				}
			})
		}
	}
}

// The scheduler asks more often than once an instant, and WIC polls all the
// same as when it is asked once.
func TestWICUnderTheScheduler(t *testing.T) {
	for _, c := range wicCases(t, "B04") {
		var in scheduleInput
		c.read(t, &in, &struct{}{})
		w := in.world(t)
		want := w.Run(w.wic())
		s := sched.New(w.wic(), sched.Limits{Budget: sched.Budget{Polls: float64(w.Polls), Per: time.Minute, Instant: time.Minute}})
		slots := map[freshet.SourceID]int{}
		for i, page := range w.Pages {
			slots[page.ID], page.URL = i, "https://"+string(page.ID)+".example/"
			s.Put(noon, freshet.SourceWithStatus{Source: page})
		}
		got := make([][]int, len(want))
		for now, end := noon, noon.Add(time.Duration(len(want))*time.Minute); !now.After(end); {
			p, wake, ok := s.Next(now)
			if !ok {
				now = wake
				continue
			}
			j := int(now.Sub(noon)/time.Minute) - 1
			got[j] = append(got[j], slots[p.Source.ID])
			slices.Sort(got[j])
			s.Observe(now, freshet.Outcome{Source: p.Source.ID, Began: now, Ended: now, Requests: 1})
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: polls %v, want %v", c.ID, got, want)
		}
	}
}

// One page that changes more often than the others: who wants captures without
// delay polls it always, who wants all changes goes round.
func TestTimelinessAndCompleteness(t *testing.T) {
	for _, c := range wicCases(t, "B06") {
		var in struct {
			P, N, C int
			Pi      float64
			Special float64 `json:"pi_special"`
		}
		var want struct {
			Timely   float64 `json:"timeliness_only_U"`
			Complete float64 `json:"completeness_only_changes"`
		}
		c.read(t, &in, &want)
		pi := make(pis, in.P)
		for i := range pi {
			for range in.N {
				p := in.Pi
				if i == 0 {
					p = in.Special
				}
				pi[i] = append(pi[i], p)
			}
		}
		appending := []objective.Visibility{{Kind: objective.VisibleForever}}
		timely := newWicWorld(pi, nil, in.C, appending, objective.Urgency{Kind: objective.UrgencyWindow})
		if u, _ := timely.Utility(timely.Run(timely.wic())); !agrees(u, want.Timely, c.Tol) {
			t.Errorf("%s: %v captured at once, want %v", c.ID, u, want.Timely)
		}
		complete := newWicWorld(pi, nil, in.C, appending, objective.Urgency{})
		if got := complete.Optimum(); !agrees(got, want.Complete, c.Tol) {
			t.Errorf("%s: at most %v can be captured, want %v", c.ID, got, want.Complete)
		}
		if u, _ := complete.Utility(complete.Run(complete.wic())); 2*u < want.Complete || u > want.Complete+1e-9 {
			t.Errorf("%s: %v captured at all, want between half and all of %v", c.ID, u, want.Complete)
		}
	}
}

func drawWorld(t *rapid.T, urgency objective.Urgency) wicWorld {
	pages, n := rapid.IntRange(1, 3).Draw(t, "pages"), rapid.IntRange(1, 5).Draw(t, "instants")
	pi, weights, lives := make(pis, pages), make([]float64, pages), make([]objective.Visibility, pages)
	for i := range pages {
		lives[i] = drawLife(t)
		weights[i] = rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, "weight")
		for range n {
			pi[i] = append(pi[i], policytest.DrawChance(t))
		}
	}
	return newWicWorld(pi, weights, rapid.IntRange(1, 2).Draw(t, "polls"), lives, urgency)
}

// WIC captures at least 1/(1+a) of the optimum, also if a takes the lives into
// account.
func TestWICIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, drawUrgency(t))
		u, _ := w.Utility(w.Run(w.wic()))
		most := w.Optimum()
		a, withLife := w.shrink()
		if withLife > a+1e-9 {
			t.Fatalf("with its life a change shrinks by %v, without by %v", withLife, a)
		}
		if most > (1+withLife)*u+1e-9 {
			t.Errorf("captured %v of %v, less than 1/(1+%v)", u, most, withLife)
		}
	})
}

// Where only captures without delay count, nothing is better than WIC.
func TestWICIsOptimalWithoutDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, objective.Urgency{Kind: objective.UrgencyWindow})
		if u, _ := w.Utility(w.Run(w.wic())); !agrees(u, w.Optimum(), 1e-9) {
			t.Errorf("captured %v, want %v", u, w.Optimum())
		}
	})
}

// Whatever is refused, in flight or fails, WIC offers what is worth most of
// what may be offered, in order, ties by ID, and each at most once a choice.
func TestWICOffersInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		pages := rapid.IntRange(1, 60).Draw(t, "pages")
		ids := slices.Collect(seq(pages))
		if rapid.Bool().Draw(t, "mixed") {
			ids = rapid.Permutation(ids).Draw(t, "ids")
		}
		pi := make(pis, pages)
		w := wicWorld{policytest.World{Chance: pi}}
		for i := range pi {
			for range n {
				pi[i] = append(pi[i], policytest.DrawChance(t))
			}
			w.Pages = append(w.Pages, freshet.Source{
				ID: freshet.SourceID(fmt.Sprintf("p%03d", ids[i])), Cost: rapid.SampledFrom([]float64{0, 2}).Draw(t, "cost"),
				Life: objective.Visibility{Kind: objective.VisibleForever},
			})
		}
		wic := w.wic()
		for i, s := range w.Pages {
			wic.Put(noon, freshet.Slot(i), s, time.Time{})
		}
		prev, flying := make([]int, pages), make([]bool, pages)
		for j := 0; j < n; {
			j += rapid.IntRange(1, 3).Draw(t, "pass")
			if j > n {
				break
			}
			now := noon.Add(time.Duration(j) * time.Minute)
			for range rapid.IntRange(1, 3).Draw(t, "choices") {
				shut := rapid.IntRange(1, 4).Draw(t, "shut")
				offered := map[freshet.Slot]bool{}
				last := math.Inf(1)
				var lastID freshet.SourceID
				taken, want := 0, rapid.IntRange(1, 12).Draw(t, "n")
				again := wic.Choose(now, want, func(s freshet.Slot, worth float64) bool {
					src := w.Pages[s]
					if g := w.Gain(int(s), prev[s], j) / src.Price(); !agrees(worth, g, 1e-12) || worth <= 0 {
						t.Fatalf("page %s at %d is offered for %v, want %v", src.ID, j, worth, g)
					}
					if offered[s] || flying[s] {
						t.Fatalf("page %s is offered twice, or while it is polled", src.ID)
					}
					if worth > last || worth == last && src.ID < lastID {
						t.Fatalf("page %s for %v is offered after %s for %v", src.ID, worth, lastID, last)
					}
					offered[s], last, lastID = true, worth, src.ID
					if int(s)%shut != 0 {
						return false
					}
					taken++
					flying[s] = true
					return true
				})
				if !again.Equal(now.Add(time.Minute)) {
					t.Fatalf("asked to come again at %v", again)
				}
				if taken < want {
					for s := range pages {
						if !offered[freshet.Slot(s)] && !flying[s] && w.Gain(s, prev[s], j) > 0 {
							t.Fatalf("page %s is worth something and was not offered", w.Pages[s].ID)
						}
					}
				}
			}
			for s := range pages {
				if !flying[s] || rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
					continue
				}
				flying[s] = false
				o := freshet.Outcome{Began: now, Ended: now, Result: freshet.Failed}
				if rapid.Bool().Draw(t, "seen") {
					o.Result, prev[s] = freshet.Changed, j
				}
				wic.Observe(now, freshet.Slot(s), o)
			}
		}
	})
}

func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// A source brings along what it has done since it was last seen; one whose poll
// outlasts an instant keeps what accrued after the poll began.
func TestWICCounts(t *testing.T) {
	offers := func(w *policy.WIC, j int) (got string) {
		w.Choose(noon.Add(time.Duration(j)*time.Minute), 9, func(s freshet.Slot, worth float64) bool {
			got += fmt.Sprintf("%d:%.2f ", s, worth)
			return false
		})
		return got
	}
	minute := func(j int) time.Time { return noon.Add(time.Duration(j) * time.Minute) }
	life := objective.Visibility{Kind: objective.VisibleForever}
	w := policy.NewWIC(policy.WICConfig{Start: noon, Estimator: pis{{0.5, 0.25, 0.25, 0.125, 0}, {0.5, 0.25, 0, 0, 0}}})
	w.Put(noon, 0, freshet.Source{ID: "a", Life: life}, time.Time{})
	w.Put(minute(2), 1, freshet.Source{ID: "b", Life: life}, minute(1))
	steps := []struct{ what, got, want string }{
		{"b was last seen at 1", offers(w, 2), "0:0.75 1:0.25 "},
		{"nothing of b is new", offers(w, 3), "0:1.00 1:0.25 "},
	}
	w.Choose(minute(3), 1, func(freshet.Slot, float64) bool { return true })
	steps = append(steps, struct{ what, got, want string }{"a is being polled", offers(w, 4), "1:0.25 "})
	w.Observe(minute(4), 0, freshet.Outcome{Began: minute(3), Ended: minute(4)})
	steps = append(steps, struct{ what, got, want string }{"and was seen as it was at 3", offers(w, 5), "1:0.25 0:0.12 "})
	w.Put(minute(5), 1, freshet.Source{ID: "b", Life: life, Weight: 4, Cost: 2}, time.Time{})
	steps = append(steps, struct{ what, got, want string }{"b counts for more", offers(w, 5), "1:0.50 0:0.12 "})
	w.Put(minute(5), 1, freshet.Source{ID: "b", Life: life, Paused: true}, time.Time{})
	w.Remove(0)
	steps = append(steps, struct{ what, got, want string }{"one rests, one is gone", offers(w, 5), ""})
	w.Put(minute(5), 0, freshet.Source{ID: "c", Life: life}, time.Time{})
	steps = append(steps, struct{ what, got, want string }{"another source begins with nothing", offers(w, 5), ""})
	for _, s := range steps {
		if s.got != s.want {
			t.Errorf("%s: offers %q, want %q", s.what, s.got, s.want)
		}
	}
}

// After a restart WIC is told again how polls ended, and then counts from the
// last of them.
func TestWICAfterARestart(t *testing.T) {
	begin := noon.Add(time.Hour)
	w := policy.NewWIC(policy.WICConfig{Start: begin, Estimator: &estimate.Constant{Chance: 0.01}})
	for i, since := range []time.Duration{10, 30, 50} {
		w.Put(begin, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i))}, noon.Add(since*time.Minute))
	}
	w.Observe(begin, 0, freshet.Outcome{Began: noon.Add(40 * time.Minute)})
	w.Observe(begin, 0, freshet.Outcome{Began: noon.Add(20 * time.Minute)})
	w.Observe(begin, 0, freshet.Outcome{Began: noon.Add(45 * time.Minute)})
	got := map[freshet.Slot]float64{}
	w.Choose(begin, 9, func(s freshet.Slot, worth float64) bool { got[s] = worth; return true })
	for slot, minutes := range []float64{15, 30, 10} {
		if want := 1 - math.Pow(0.99, minutes); !agrees(got[freshet.Slot(slot)], want, 1e-12) {
			t.Errorf("source %d is worth %v, want %v after %v minutes", slot, got[freshet.Slot(slot)], want, minutes)
		}
	}
}

// Asked again within an instant after everything was taken, WIC asks nobody and
// looks at nothing; and it works as it comes.
func TestWICZeroConfig(t *testing.T) {
	w := policy.NewWIC(policy.WICConfig{})
	w.Put(noon, 0, freshet.Source{ID: "b"}, time.Time{})
	w.Put(noon, 1, freshet.Source{ID: "a"}, time.Time{})
	var got []freshet.Slot
	take := func(s freshet.Slot, _ float64) bool { got = append(got, s); return true }
	w.Choose(noon, 5, take)
	w.Choose(noon.Add(time.Minute), 5, take)
	w.Choose(noon.Add(time.Minute), 5, take)
	if fmt.Sprint(got) != "[1 0]" {
		t.Errorf("polled %v, want both once, in the order of their IDs", got)
	}
	if again := w.Choose(noon.Add(99*time.Hour), 1, take); !again.Equal(noon.Add(99*time.Hour + time.Minute)) {
		t.Errorf("after a long sleep asked to come again at %v", again)
	}
}
