package adversary

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Search judges so many webs and returns the worst for the policy called name. It climbs from
// the worst web so far, and begins with a web drawn by chance every so often. The same seed
// and count give the same web. Progress, if set, receives the number of webs judged.
//
// It ends early, with what it has found, when ctx is done.
func Search(ctx context.Context, name string, seed uint64, webs int, progress func(judged int, worst float64)) (Verdict, error) {
	r := rand.New(rand.NewPCG(seed, 0xbad))
	worst := Verdict{Worst: math.Inf(1)}
	climb := worst
	const fresh = 25 // webs after which it begins elsewhere
	for n := range webs {
		w := drawn(r)
		if n%fresh == 0 {
			climb = Verdict{Worst: math.Inf(1)}
		} else if n%fresh > 4 {
			w = mutated(r, climb.Web)
		}
		v, err := Judge(ctx, name, w)
		switch {
		case ctx.Err() != nil && n > 0:
			return worst, nil
		case err != nil:
			return worst, err
		}
		if v.Worst < climb.Worst {
			climb = v
		}
		if v.Worst < worst.Worst {
			worst = v
		}
		if progress != nil {
			progress(n+1, worst.Worst)
		}
	}
	return worst, nil
}

// drawn returns a web drawn by chance.
func drawn(r *rand.Rand) Web {
	w := Web{Instants: 200 << r.IntN(3)}
	pages := 0
	for range 1 + r.IntN(mostGroups) {
		g := drawnGroup(r, w.Instants)
		pages += g.Pages
		w.Groups = append(w.Groups, g)
	}
	w.Budget = rounded(float64(pages) * math.Exp(-4.5+4*r.Float64()))
	return w
}

func drawnGroup(r *rand.Rand, instants int) Group {
	return Group{
		Pages: 1 + r.IntN(mostPages), Kind: kinds[r.IntN(len(kinds))],
		Rate: rounded(math.Exp(-5 + 5*r.Float64())), Turn: 2 + r.IntN(instants/2),
		Phase: rounded(r.Float64()), Apart: r.IntN(2) == 0,
	}
}

// mutated returns a web that differs a little from another.
func mutated(r *rand.Rand, w Web) Web {
	w.Groups = slices.Clone(w.Groups)
	i := r.IntN(len(w.Groups))
	g := &w.Groups[i]
	factor := math.Exp(r.NormFloat64() / 2)
	switch r.IntN(8) {
	case 0:
		w.Budget = rounded(min(100, w.Budget*factor))
	case 1:
		g.Pages = min(mostPages, max(1, int(math.Round(float64(g.Pages)*factor))))
	case 2:
		g.Rate = rounded(min(2, g.Rate*factor))
	case 3:
		g.Turn = min(w.Instants, max(2, int(math.Round(float64(g.Turn)*factor))))
	case 4:
		g.Kind = kinds[r.IntN(len(kinds))]
	case 5:
		g.Phase, g.Apart = rounded(r.Float64()), !g.Apart
	case 6:
		if len(w.Groups) < mostGroups {
			w.Groups = append(w.Groups, drawnGroup(r, w.Instants))
		} else {
			w.Groups = slices.Delete(w.Groups, i, i+1)
		}
	case 7:
		*g = drawnGroup(r, w.Instants)
	}
	return w
}

// rounded returns a number with three digits, so that webs can be read.
func rounded(x float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return short
}
