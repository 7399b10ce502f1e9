package policy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet"
	"freshet/estimate"
	"freshet/policy"
)

// pis is an estimator that has the chances of every instant in a table.
type pis [][]float64 // by slot and instant

func (p pis) Put(freshet.Slot, freshet.Source)      {}
func (p pis) Remove(freshet.Slot)                   {}
func (p pis) Observe(freshet.Slot, freshet.Outcome) {}
func (p pis) instant(t time.Time) int               { return int(t.Sub(noon) / time.Minute) }
func (p pis) Expect(s freshet.Slot, from, to time.Time) (sum float64) {
	for j := p.instant(from); j < min(p.instant(to), len(p[s])); j++ {
		sum += p[s][j]
	}
	return sum
}

func (p pis) Chances(dst []float64, from, to time.Time) {
	for s := range dst {
		dst[s] = 0
		for j := p.instant(from); j < min(p.instant(to), len(p[s])); j++ {
			dst[s] = 1 - (1-dst[s])*(1-p[s][j])
		}
	}
}

// A wicWorld is pages and how they change.
type wicWorld struct {
	pi    pis
	pages []freshet.Source
	polls int // an instant
}

func newWicWorld(pi pis, weights []float64, polls int, life []freshet.Life, urgency freshet.Urgency) wicWorld {
	w := wicWorld{pi: pi, polls: polls}
	for i := range pi {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Life: life[i%len(life)], Urgency: urgency}
		if weights != nil {
			s.Weight = weights[i]
		}
		w.pages = append(w.pages, s)
	}
	return w
}

func (w wicWorld) instants() int { return len(w.pi[0]) }

// g is the worth of a poll of a page at j after one at prev.
func (w wicWorld) g(page, prev, j int) float64 {
	s := w.pages[page]
	return s.Importance() * accrued(s.Life, s.Urgency, w.pi[page], prev, j)
}

// run lets a policy poll, and returns the pages that it polls at each instant.
func (w wicWorld) run(p freshet.Policy) [][]int {
	for i, s := range w.pages {
		p.Put(noon, freshet.Slot(i), s, time.Time{})
	}
	schedule := make([][]int, w.instants())
	for j := range schedule {
		now := noon.Add(time.Duration(j+1) * time.Minute)
		p.Choose(now, w.polls, func(s freshet.Slot, _ float64) bool {
			schedule[j] = append(schedule[j], int(s))
			return true
		})
		for _, page := range schedule[j] {
			p.Observe(now, freshet.Slot(page), freshet.Outcome{Began: now, Ended: now})
		}
		slices.Sort(schedule[j])
	}
	return schedule
}

func (w wicWorld) wic() freshet.Policy {
	return policy.NewWIC(policy.WICConfig{Start: noon, Instant: time.Minute, Estimator: w.pi})
}

// utility is what a schedule is expected to capture; worthless polls are taken
// out of it on the way.
func (w wicWorld) utility(schedule [][]int) (sum float64, useful [][]int) {
	prev := make([]int, len(w.pages))
	for j, pages := range schedule {
		useful = append(useful, nil)
		for _, page := range pages {
			if g := w.g(page, prev[page], j+1); g > 0 {
				sum += g
				useful[j] = append(useful[j], page)
			}
			prev[page] = j + 1
		}
	}
	return sum, useful
}

// optimum is the most that any schedule can capture, by trying all.
func (w wicWorld) optimum() float64 {
	known := map[string]float64{}
	var best func(j int, prev []int) float64
	best = func(j int, prev []int) float64 {
		if j > w.instants() {
			return 0
		}
		key := fmt.Sprint(j, prev)
		if v, ok := known[key]; ok {
			return v
		}
		most := 0.0
		var choose func(from, left int, sum float64, next []int)
		choose = func(from, left int, sum float64, next []int) {
			if left == 0 || from == len(w.pages) {
				most = max(most, sum+best(j+1, next))
				return
			}
			choose(from+1, left, sum, next)
			with := slices.Clone(next)
			with[from] = j
			choose(from+1, left-1, sum+w.g(from, prev[from], j), with)
		}
		choose(0, w.polls, 0, prev)
		known[key] = most
		return most
	}
	return best(1, make([]int, len(w.pages)))
}

// shrink returns the largest factors by which an instant's delay shrinks what a
// change is worth: by urgency alone, and with its life.
func (w wicWorld) shrink() (a, withLife float64) {
	for i, s := range w.pages {
		for t := range w.instants() {
			if now := s.Urgency.At(t); now > 0 {
				a = max(a, s.Urgency.At(t+1)/now)
			}
		}
		for k := 1; k < w.instants(); k++ {
			for j := k; j < w.instants(); j++ {
				if now := s.Urgency.At(j-k) * lasts(s.Life, w.pi[i], k, j); w.pi[i][k-1] > 0 && now > 0 {
					withLife = max(withLife, s.Urgency.At(j+1-k)*lasts(s.Life, w.pi[i], k, j+1)/now)
				}
			}
		}
	}
	return a, withLife
}

type scheduleInput struct {
	Pi      pis
	W       []float64
	C       int
	Life    any // one for all pages, or a list
	Urgency string
}

func (in scheduleInput) world(t *testing.T) wicWorld {
	t.Helper()
	var lives []freshet.Life
	switch l := in.Life.(type) {
	case string:
		lives = append(lives, oracleLife(t, l))
	case []any:
		for _, name := range l {
			lives = append(lives, oracleLife(t, name.(string)))
		}
	}
	return newWicWorld(in.Pi, in.W, max(1, in.C), lives, oracleUrgency(t, in.Urgency))
}

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
				schedule := w.run(w.wic())
				u, _ := w.utility(schedule)
				if !agrees(u, want.U, 1e-9) {
					t.Errorf("utility %v, want %v", u, want.U)
				}
				if want.Schedule != nil {
					if _, useful := w.utility(want.Schedule); fmt.Sprint(schedule) != fmt.Sprint(useful) {
						t.Errorf("schedule %v, want %v", schedule, useful)
					}
				}
				if got := w.optimum(); !agrees(got, want.Optimal, 1e-9) {
					t.Errorf("optimum %v, want %v", got, want.Optimal)
				}
				if a, withLife := w.shrink(); want.A != nil && (!agrees(a, *want.A, 1e-9) || !agrees(withLife, *want.ALife, 1e-9)) {
					t.Errorf("delay shrinks by %v and %v, want %v and %v", a, withLife, *want.A, *want.ALife)
				}
			})
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
		appending := []freshet.Life{{Kind: freshet.LifeAppend}}
		timely := newWicWorld(pi, nil, in.C, appending, freshet.Urgency{Kind: freshet.UrgencyWindow})
		if u, _ := timely.utility(timely.run(timely.wic())); !agrees(u, want.Timely, c.Tol) {
			t.Errorf("%s: %v captured at once, want %v", c.ID, u, want.Timely)
		}
		complete := newWicWorld(pi, nil, in.C, appending, freshet.Urgency{})
		if got := complete.optimum(); !agrees(got, want.Complete, c.Tol) {
			t.Errorf("%s: at most %v can be captured, want %v", c.ID, got, want.Complete)
		}
		if u, _ := complete.utility(complete.run(complete.wic())); 2*u < want.Complete || u > want.Complete+1e-9 {
			t.Errorf("%s: %v captured at all, want between half and all of %v", c.ID, u, want.Complete)
		}
	}
}

func drawWorld(t *rapid.T, urgency freshet.Urgency) wicWorld {
	pages, n := rapid.IntRange(1, 3).Draw(t, "pages"), rapid.IntRange(1, 5).Draw(t, "instants")
	pi, weights, lives := make(pis, pages), make([]float64, pages), make([]freshet.Life, pages)
	for i := range pages {
		lives[i] = drawLife(t)
		weights[i] = rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, "weight")
		for range n {
			pi[i] = append(pi[i], drawChance(t))
		}
	}
	return newWicWorld(pi, weights, rapid.IntRange(1, 2).Draw(t, "polls"), lives, urgency)
}

// WIC captures at least 1/(1+a) of the optimum, also if a takes the lives into
// account.
func TestWICIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, drawUrgency(t))
		u, _ := w.utility(w.run(w.wic()))
		most := w.optimum()
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
		w := drawWorld(t, freshet.Urgency{Kind: freshet.UrgencyWindow})
		if u, _ := w.utility(w.run(w.wic())); !agrees(u, w.optimum(), 1e-9) {
			t.Errorf("captured %v, want %v", u, w.optimum())
		}
	})
}

// Whatever is refused, in flight or fails, WIC offers what is worth most of
// what may be offered, in order, ties by ID, and each at most once a choice.
func TestWICOffersInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 40
		pages := rapid.IntRange(1, 60).Draw(t, "pages")
		ids := rapid.Permutation(slices.Collect(seq(pages))).Draw(t, "ids")
		pi := make(pis, pages)
		w := wicWorld{pi: pi}
		for i := range pi {
			for range n {
				pi[i] = append(pi[i], drawChance(t))
			}
			w.pages = append(w.pages, freshet.Source{
				ID: freshet.SourceID(fmt.Sprintf("p%03d", ids[i])), Cost: rapid.SampledFrom([]float64{0, 2}).Draw(t, "cost"),
				Life: freshet.Life{Kind: freshet.LifeAppend},
			})
		}
		wic := w.wic()
		for i, s := range w.pages {
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
					src := w.pages[s]
					if g := w.g(int(s), prev[s], j) / src.Price(); !agrees(worth, g, 1e-12) || worth <= 0 {
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
						if !offered[freshet.Slot(s)] && !flying[s] && w.g(s, prev[s], j) > 0 {
							t.Fatalf("page %s is worth something and was not offered", w.pages[s].ID)
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
	life := freshet.Life{Kind: freshet.LifeAppend}
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
