package lab_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// Replay a day in which one page changes every hour and another once, with one
// poll every half hour.
func ExampleReplay() {
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for h := range 24 {
			yield("busy", start.Add(time.Duration(h)*time.Hour+25*time.Minute))
		}
		yield("calm", start.Add(12*time.Hour+10*time.Minute))
	})
	grid, err := history.Quantise(lab.Period{Start: start, End: start.Add(24 * time.Hour), Instant: 30 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	score, err := lab.Replay(context.Background(), grid, &policy.Uniform{}, lab.Options{Budget: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d polls, %d captured, %d missed, %.2f instants late\n", score.Polls, score.Captured, score.Missed(), score.MeanDelay)
	// Output:
	// 48 polls, 25 captured, 0 missed, 0.04 instants late
}

// A look is one poll of a replay.
type look struct{ page, instant int }

// A script is a policy that polls pages at instants written down beforehand.
type script struct {
	grid  *lab.Grid
	polls map[int][]int // instant -> pages
	slots []freshet.Slot
}

func (s *script) Put(_ time.Time, slot freshet.Slot, src freshet.Source, _ time.Time) {
	page, _ := s.grid.Page(src.ID)
	for len(s.slots) <= page {
		s.slots = append(s.slots, 0)
	}
	s.slots[page] = slot
}
func (s *script) Remove(freshet.Slot)                              {}
func (s *script) Observe(time.Time, freshet.Slot, freshet.Outcome) {}
func (s *script) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	j := s.grid.InstantOf(now)
	for _, page := range s.polls[j] {
		take(s.slots[page], 1)
	}
	delete(s.polls, j)
	return s.grid.Time(j + 1)
}

func TestUniformPollsInTheOrderOfIDs(t *testing.T) {
	g := lab.NewGrid(start, time.Minute, 6, make([][]int, 5))
	var looks []look
	score, err := lab.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{Budget: 2, Look: func(page, instant int, _ bool) {
		looks = append(looks, look{page, instant})
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []look{{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {0, 3}, {1, 4}, {2, 4}, {3, 5}, {4, 5}, {0, 6}, {1, 6}}
	if !slices.Equal(looks, want) || score.Polls != 12 {
		t.Errorf("polled %v, want %v", looks, want)
	}
}

// The budget of an instant is exact, whatever the length of the instant does to
// sums of floating point, and a fraction comes to its rate.
func TestBudgetAnInstant(t *testing.T) {
	tier.Slow(t, "it replays with every policy")
	for _, budget := range []float64{1, 7, 31, 57, 125, 481, .25, .1, 2.5, 1.0 / 3, 7.7} {
		for _, instant := range []time.Duration{time.Second, time.Minute, time.Hour, 7 * time.Second, 300 * time.Millisecond} {
			g := lab.NewGrid(start, instant, 400, make([][]int, 1000))
			each := map[int]int{}
			score, err := lab.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{Budget: budget, Look: func(_, j int, _ bool) { each[j]++ }})
			if err != nil {
				t.Fatal(err)
			}
			if want := int(budget*400 + 1e-6); score.Polls != want {
				t.Errorf("%v polls an instant of %v: %d polls in 400 instants, want %d", budget, instant, score.Polls, want)
			}
			for j, n := range each {
				if whole := budget == float64(int(budget)); n > int(budget)+1 || whole && n != int(budget) {
					t.Errorf("%v polls an instant of %v: %d polls in instant %d", budget, instant, n, j)
				}
			}
		}
	}
}

// What is not spent of a whole budget is lost; of a fraction at most an
// instant's worth is carried.
func TestUnspentPolls(t *testing.T) {
	for _, tt := range []struct {
		budget float64
		want   int // polls at instant 10, after nine without
	}{{2, 2}, {.5, 1}, {.75, 1}, {2.5, 5}} {
		g := lab.NewGrid(start, time.Minute, 10, make([][]int, 20))
		everything := make([]int, 20)
		for i := range everything {
			everything[i] = i
		}
		score, err := lab.Replay(t.Context(), g, &script{grid: g, polls: map[int][]int{10: everything}}, lab.Options{Budget: tt.budget})
		if err != nil {
			t.Fatal(err)
		}
		if score.Polls != tt.want {
			t.Errorf("%d polls after nine idle instants at %v an instant, want %d", score.Polls, tt.budget, tt.want)
		}
	}
}

func TestImpossibleBudget(t *testing.T) {
	g := lab.NewGrid(start, time.Minute, 10, [][]int{{1}})
	if _, err := lab.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{Budget: -1}); err == nil {
		t.Error("a budget below nothing is taken")
	}
	score, err := lab.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{})
	if err != nil || score.Polls != 0 || score.Changes != 1 || score.Recall != 0 {
		t.Errorf("without a budget: %+v, %v", score, err)
	}
}

func TestReplayStopsWhenTold(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	g := lab.NewGrid(start, time.Minute, 1000, make([][]int, 5))
	reached := 0
	_, err := lab.Replay(ctx, g, &policy.Uniform{}, lab.Options{Budget: 1, Progress: func(j int) {
		if reached = j; j == 10 {
			stop()
		}
	}})
	if err == nil || reached > 11 {
		t.Errorf("went on to instant %d, error %v", reached, err)
	}
}

// randomGrid draws a small grid.
func randomGrid(t *rapid.T) *lab.Grid {
	n := rapid.IntRange(1, 30).Draw(t, "instants")
	changes := make([][]int, rapid.IntRange(1, 4).Draw(t, "pages"))
	for i := range changes {
		changes[i] = rapid.SliceOfN(rapid.IntRange(1, n), 0, 12).Draw(t, "changes")
	}
	return lab.NewGrid(start, time.Minute, n, changes)
}

// randomPolls draws polls of a grid, at most one of a page an instant.
func randomPolls(t *rapid.T, g *lab.Grid) map[int][]int {
	polls := map[int][]int{}
	for j := 1; j <= g.Instants; j++ {
		for page := range g.Pages() {
			if rapid.IntRange(0, 3).Draw(t, "poll") == 0 {
				polls[j] = append(polls[j], page)
			}
		}
	}
	return polls
}

// paperSize is a set of pages as large as that of the papers.
func paperSize(pages int) *lab.Grid {
	r := rand.New(rand.NewPCG(1, 2))
	changes := make([][]int, pages)
	for i := range changes {
		for range r.IntN(4) {
			changes[i] = append(changes[i], 1+r.IntN(1440))
		}
	}
	return lab.NewGrid(start, time.Minute, 1440, changes)
}

func BenchmarkReplayUniform(b *testing.B) {
	for _, size := range []struct{ pages, budget int }{{7550, 8}, {1_000_000, 1000}} {
		b.Run(fmt.Sprintf("pages=%d/budget=%d", size.pages, size.budget), func(b *testing.B) {
			g := paperSize(size.pages)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := lab.Replay(b.Context(), g, &policy.Uniform{}, lab.Options{Budget: float64(size.budget)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
