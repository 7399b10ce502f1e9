package paper

import (
	"context"
	"fmt"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/lab/plot"
)

// A wicScene is the example of section 4: pages that append, one poll an
// instant, and a special page that is likelier to change than the others.
type wicScene struct {
	pages, instants int
	pi, special     float64 // chances of a change in an instant
}

func (x wicScene) String() string {
	return fmt.Sprintf("%d pages, %d instants, pi = %v, pi' = %v", x.pages, x.instants, x.pi, x.special)
}

// A wicYield is what a schedule is expected to capture, and at once.
type wicYield struct{ captured, atOnce float64 }

// timely is what the paper derives for timeliness only.
func (x wicScene) timely() wicYield {
	n := float64(x.instants)
	return wicYield{n * x.special, n * x.special}
}

// complete is what the paper derives for completeness only; at once, at most.
func (x wicScene) complete() wicYield {
	n, p := float64(x.instants), float64(x.pages)
	return wicYield{n*x.special + ((p-1)*n-p*(p-1)/2)*x.pi, n*x.special - (p-1)*(x.special-x.pi)}
}

func (x wicScene) chance(page int) float64 {
	if page == 0 {
		return x.special
	}
	return x.pi
}

// best tries every schedule. It returns the best for timeliness, and the best
// for completeness that captures the most at once.
func (x wicScene) best() (timely, complete wicYield) {
	const same = 1e-9
	last := make([]int, x.pages)
	var extend func(at int, atOnce float64)
	extend = func(at int, atOnce float64) {
		if at > x.instants {
			y := wicYield{0, atOnce}
			for page, j := range last {
				y.captured += x.chance(page) * float64(j)
			}
			if y.atOnce > timely.atOnce+same || y.atOnce > timely.atOnce-same && y.captured > timely.captured {
				timely = y
			}
			if y.captured > complete.captured+same || y.captured > complete.captured-same && y.atOnce > complete.atOnce {
				complete = y
			}
			return
		}
		for page := range last {
			before := last[page]
			last[page] = at
			extend(at+1, atOnce+x.chance(page))
			last[page] = before
		}
	}
	extend(1, 0)
	return timely, complete
}

// yield returns what a policy is expected to capture that goes by the chances
// of the scene and the urgency r^t.
func (x wicScene) yield(ctx context.Context, p wicPolicy, r float64) (y wicYield, err error) {
	g := lab.NewGrid(wicBegin, wicMinute, x.instants, make([][]int, x.pages))
	know := &wicChances{scene: x, first: g.Pages()[0]}
	last := make([]int, x.pages)
	_, err = lab.Replay(ctx, g, p(g, 1, know), lab.Options{
		Budget:  1,
		Weights: wicCase{objective.Visibility{Kind: objective.VisibleForever}, r}.weights(g),
		Look: func(page, instant int, _ bool) {
			last[page] = instant
			y.atOnce += x.chance(page)
		},
	})
	for page, j := range last {
		y.captured += x.chance(page) * float64(j)
	}
	return y, err
}

// wicChances knows the chances of a scene. It implements [freshet.Estimator].
type wicChances struct {
	scene  wicScene
	first  freshet.SourceID // the special page
	bySlot []float64
}

// Put implements [freshet.Estimator].
func (e *wicChances) Put(_ time.Time, slot freshet.Slot, s freshet.Source, _ time.Time) {
	for int(slot) >= len(e.bySlot) {
		e.bySlot = append(e.bySlot, 0)
	}
	e.bySlot[slot] = e.scene.pi
	if s.ID == e.first {
		e.bySlot[slot] = e.scene.special
	}
}

// Remove implements [freshet.Estimator].
func (e *wicChances) Remove(slot freshet.Slot) { e.bySlot[slot] = 0 }

// Observe implements [freshet.Estimator]. All is known.
func (e *wicChances) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// Expect implements [freshet.Estimator].
func (e *wicChances) Expect(slot freshet.Slot, from, to time.Time) float64 {
	return e.bySlot[slot] * float64(to.Sub(from)) / float64(wicMinute)
}

// Chances implements [freshet.Estimator].
func (e *wicChances) Chances(dst []float64, _, _ time.Time) {
	clear(dst)
	copy(dst, e.bySlot)
}

// wicScenes are small enough to try every schedule.
var wicScenes = []wicScene{{3, 6, .1, .3}, {2, 7, .2, .5}, {4, 6, .1, .2}, {3, 10, .05, .2}}

// tradeoff is section 4: timeliness against completeness, by formulas, by trying
// every schedule, and by what WIC makes of it.
func (w wicStudy) tradeoff(ctx context.Context, s Options) (Figure, error) {
	f := Figure{Title: "Timeliness against completeness, by analysis"}
	t := Table{Head: []string{"expected numbers of changes", "", "captured", "captured at once"}}
	row := func(name string, what string, y wicYield) {
		t.Rows = append(t.Rows, []string{name, what, wicFigure(y.captured), wicFigure(y.atOnce)})
	}
	var off [4]float64 // the largest differences of formulas from the best schedules, and of WIC
	opposed := true
	for _, x := range wicScenes {
		timely, complete := x.best()
		wic, err := x.yield(ctx, w.wic, 0)
		if err != nil {
			return Figure{}, err
		}
		row(x.String(), "timeliness only, formula", x.timely())
		row("", "timeliness only, best schedule", timely)
		row("", "WIC, r = 0", wic)
		row("", "completeness only, formula", x.complete())
		row("", "completeness only, best schedule", complete)
		off[0] = max(off[0], math.Abs(timely.captured-x.timely().captured), math.Abs(timely.atOnce-x.timely().atOnce))
		off[1] = max(off[1], math.Abs(complete.captured-x.complete().captured))
		off[2] = max(off[2], math.Abs(complete.atOnce-x.complete().atOnce))
		off[3] = max(off[3], timely.atOnce-wic.atOnce)
		opposed = opposed && complete.captured > timely.captured && complete.atOnce < timely.atOnce
	}
	f.Tables = []Table{t}
	claim := func(text, expected string, off float64) Claim {
		return Claim{Paper: WIC, Where: "section 4", Claim: text, Expected: expected,
			Measured: fmt.Sprintf("differs from the best of all schedules by at most %.1e in %d scenes", off, len(wicScenes)), Holds: off < 1e-9}
	}
	f.Claims = []Claim{
		claim("timeliness only captures the changes of the special page, all at once", "N pi' captured, N pi' at once", off[0]),
		claim("completeness only captures most changes of the other pages too", "N pi' + [(|P|-1) N - |P| (|P|-1)/2] pi captured", off[1]),
		claim("completeness only captures at most so many at once", "N pi' - (|P|-1) (pi' - pi) at once", off[2]),
		{Paper: WIC, Where: "section 4", Claim: "each of the two aims costs the other", Expected: "completeness captures more, and fewer at once", Measured: fmt.Sprintf("in all %d scenes: %t", len(wicScenes), opposed), Holds: opposed},
		claim("WIC with r = 0 finds the best schedule for timeliness", "N pi' at once", off[3]),
	}
	err := w.knob(ctx, s, &f)
	return f, err
}

// knob lets r go from 0 to 1 in a larger scene.
func (w wicStudy) knob(ctx context.Context, s Options, f *Figure) error {
	x := wicScene{20, 500, .02, .06}
	f.About = fmt.Sprintf("One poll an instant, pages that append. Every schedule is tried in the scenes of the table. The picture is what WIC is expected to capture in a larger one (%s), beside the formulas. Nothing is drawn by chance (seed %d has no part in it).", x, s.Seed)
	var rates, captured, atOnce []float64
	for i := range 21 {
		r := float64(i) / 20
		y, err := x.yield(ctx, w.wic, r)
		if err != nil {
			return err
		}
		rates, captured, atOnce = append(rates, r), append(captured, y.captured), append(atOnce, y.atOnce)
	}
	level := func(name, colour string, y float64) plot.Line {
		return plot.Line{Name: name, Colour: colour, Dashed: true, Points: [][2]float64{{0, y}, {1, y}}}
	}
	f.SVGs = []string{wicKnob("WIC from timeliness to completeness, "+x.String(), "expected number of changes",
		wicOver("captured", rates, captured), wicOver("captured at once", rates, atOnce),
		level("most at all, formula", plot.Black, x.complete().captured), level("most at once, formula", "#999", x.timely().atOnce))}
	last := len(rates) - 1
	f.Claims = append(f.Claims, Claim{
		Paper: WIC, Where: "section 4", Claim: "urgency is a knob between timeliness and completeness",
		Expected: "from r = 0 to r = 1 more is captured, and less at once",
		Measured: fmt.Sprintf("captured %.1f to %.1f of at most %.1f; at once %.1f to %.1f of at most %.1f",
			captured[0], captured[last], x.complete().captured, atOnce[0], atOnce[last], x.timely().atOnce),
		Holds: captured[last] > captured[0] && atOnce[last] < atOnce[0] && wicRises(captured),
	})
	return nil
}
