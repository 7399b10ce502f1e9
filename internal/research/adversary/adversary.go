// Package adversary searches for webs and budgets on which a policy captures least,
// relative to policies that learn nothing.
package adversary

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// A Web describes a web and a budget. Draws of the same Web differ in what is random.
type Web struct {
	Groups   []Group `json:"groups"`
	Instants int     `json:"instants"` // of a minute
	Budget   float64 `json:"budget"`   // polls an instant
}

// A Group is pages that change alike. Those of one group are a site.
type Group struct {
	Pages int     `json:"pages"`
	Kind  Kind    `json:"kind"`
	Rate  float64 `json:"rate"`  // changes of a page an instant, while it is active
	Turn  int     `json:"turn"`  // instants: the period of a clock, the length of a burst, or when habits end
	Phase float64 `json:"phase"` // share of a turn by which the group is shifted
	Apart bool    `json:"apart"` // each page has a phase of its own
}

// A Kind says how pages change.
type Kind string

// The kinds.
const (
	Random Kind = "random" // at any time, at the rate
	Clock  Kind = "clock"  // once a turn
	Bursts Kind = "bursts" // at the rate in every fourth turn, and not at all otherwise
	Ends   Kind = "ends"   // at the rate up to the turn, and no more after it
	Begins Kind = "begins" // not at all up to the turn, and at the rate after it
	Once   Kind = "once"   // one time, at random
)

var kinds = [...]Kind{Random, Clock, Bursts, Ends, Begins, Once}

// Bounds of what is searched. Webs with few changes say more about luck than about
// policies.
const (
	mostGroups   = 4
	mostPages    = 24 // of a group
	leastChanges = 200
	draws        = 3
)

// Rivals are the policies that learn nothing.
var Rivals = [...]string{"uniform", "round-robin"}

// A Verdict is how a policy did on a Web.
type Verdict struct {
	Policy  string             `json:"policy"`
	Web     Web                `json:"web"`
	Changes int                `json:"changes"` // over all draws
	Share   float64            `json:"share"`   // of the changes, that it captured
	Rivals  map[string]float64 `json:"rivals"`  // and each rival
	Worst   float64            `json:"worst"`   // the lowest ratio of it to a rival
}

// Judge replays the policy called name and its rivals on a web.
func Judge(ctx context.Context, name string, w Web) (Verdict, error) {
	v := Verdict{Policy: name, Web: w, Rivals: map[string]float64{}, Worst: math.Inf(1)}
	if err := w.check(); err != nil {
		return v, err
	}
	captured := map[string]int{}
	for draw := range uint64(draws) {
		g, err := w.grid(draw)
		if err != nil {
			return v, err
		}
		v.Changes += g.Changes()
		for _, each := range append([]string{name}, Rivals[:]...) {
			p, err := policy.New(each, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: w.Budget, Sources: len(g.Pages())})
			if err != nil {
				return v, err
			}
			s, err := lab.Replay(ctx, g, p, lab.Options{Budget: w.Budget})
			if err != nil {
				return v, fmt.Errorf("replay %s: %w", each, err)
			}
			captured[each] += s.Captured
		}
	}
	v.Share = lab.Ratio(float64(captured[name]), float64(v.Changes), 1)
	for _, rival := range Rivals {
		v.Rivals[rival] = lab.Ratio(float64(captured[rival]), float64(v.Changes), 1)
		v.Worst = min(v.Worst, lab.Ratio(float64(captured[name]), float64(captured[rival]), 1))
	}
	if v.Changes < leastChanges {
		v.Worst = max(v.Worst, 1) // it proves nothing
	}
	return v, nil
}

// check refuses what cannot be drawn.
func (w Web) check() error {
	switch {
	case w.Instants < 1 || w.Instants > 100_000:
		return invalid.Errorf("instants", "%d is not from 1 to 100000", w.Instants)
	case !(w.Budget > 0 && w.Budget <= 1000):
		return invalid.Errorf("budget", "%v is not above 0 and up to 1000", w.Budget)
	case len(w.Groups) == 0:
		return invalid.Errorf("groups", "there are none")
	}
	for i, g := range w.Groups {
		field := fmt.Sprintf("groups[%d]", i)
		switch {
		case g.Pages < 1 || g.Pages > 10_000:
			return invalid.Errorf(field+".pages", "%d is not from 1 to 10000", g.Pages)
		case !slices.Contains(kinds[:], g.Kind):
			return invalid.Errorf(field+".kind", "%q is not one of %v", g.Kind, kinds)
		case !(g.Rate >= 0 && g.Rate <= 10):
			return invalid.Errorf(field+".rate", "%v is not from 0 to 10", g.Rate)
		case g.Turn < 1:
			return invalid.Errorf(field+".turn", "%d is less than 1", g.Turn)
		case !(g.Phase >= 0 && g.Phase <= 1):
			return invalid.Errorf(field+".phase", "%v is not from 0 to 1", g.Phase)
		}
	}
	return nil
}

// grid draws the changes of a web.
func (w Web) grid(draw uint64) (*lab.Grid, error) {
	r := rand.New(rand.NewPCG(draw, 0xadd))
	var pages []freshet.SourceID
	var changes [][]int
	for k, group := range w.Groups {
		for page := range group.Pages {
			pages = append(pages, freshet.SourceID(fmt.Sprintf("site%d.example/%d", k, page)))
			changes = append(changes, group.changes(r, w.Instants))
		}
	}
	all := func(yield func(freshet.SourceID, time.Time) bool) {
		for i, list := range changes {
			for _, j := range list {
				if !yield(pages[i], start.Add(time.Duration(j)*time.Minute-30*time.Second)) {
					return
				}
			}
		}
	}
	return lab.NewHistory(all, pages...).Quantise(lab.Period{Start: start, End: start.Add(time.Duration(w.Instants) * time.Minute), Instant: time.Minute})
}

// start is when all webs begin.
var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// changes draws the instants at which a page changes.
func (g Group) changes(r *rand.Rand, instants int) (at []int) {
	shift := int(g.Phase * float64(g.Turn))
	if g.Apart {
		shift = r.IntN(4 * g.Turn)
	}
	chance := -math.Expm1(-g.Rate)
	once := 1 + r.IntN(instants)
	for j := 1; j <= instants; j++ {
		var changed bool
		switch g.Kind {
		case Random:
			changed = r.Float64() < chance
		case Clock:
			changed = (j+shift)%g.Turn == 0
		case Bursts:
			changed = (j+shift)/g.Turn%4 == 0 && r.Float64() < chance
		case Ends:
			changed = j <= g.Turn && r.Float64() < chance
		case Begins:
			changed = j > g.Turn && r.Float64() < chance
		case Once:
			changed = j == once
		}
		if changed {
			at = append(at, j)
		}
	}
	return at
}
