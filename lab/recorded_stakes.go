package lab

import (
	"math"

	"freshet"
	"freshet/policy"
)

// ownStakes returns what captures are worth to those who named the sources. What
// is not to be their own is as k says.
func ownStakes(g *Grid, known map[freshet.SourceID]freshet.Source, k Stakes, ownLife, ownUrgency bool) Stakes {
	weigh := k.Adjust // by a file of weights, if there is one
	ratio := float64(g.Instant) / float64(policy.InstantOf(policy.Default))
	urgencies := map[string]freshet.Urgency{}
	sources := make([]freshet.Source, len(g.Pages()))
	for page, id := range g.Pages() {
		s := known[id]
		s.ID, s.Paused = id, false
		s.Life = scaledLife(s.Life, ratio)
		text := s.Urgency.String()
		if _, ok := urgencies[text]; !ok {
			urgencies[text] = scaledUrgency(s.Urgency, ratio)
		}
		s.Urgency = urgencies[text]
		if !ownLife {
			s.Life = k.Life
		}
		if !ownUrgency {
			s.Urgency = k.Urgency
		}
		if weigh != nil {
			weigh(page, &s)
		}
		sources[page] = s
	}
	k.Adjust = func(page int, s *freshet.Source) { *s = sources[page] }
	return k
}

// scaledLife returns a life in instants that are so many times as long as those
// that it was written for.
func scaledLife(l freshet.Life, ratio float64) freshet.Life {
	if l.Kind == freshet.LifeWindow {
		l.N = int(math.Round(min(float64(l.N)/ratio, 1<<20)))
	}
	return l
}

// mostWorths bounds the table that stands for an urgency which has no formula
// in other instants.
const mostWorths = 4096

// scaledUrgency does the same for an urgency.
func scaledUrgency(u freshet.Urgency, ratio float64) freshet.Urgency {
	switch u.Kind {
	case freshet.UrgencyExp:
		u.A = math.Pow(u.A, ratio)
	case freshet.UrgencyWindow:
		u.A = math.Floor(u.A / ratio)
	case freshet.UrgencyChordal:
		u.A /= ratio
	case freshet.UrgencyPolyexp:
		u.A *= ratio
	case freshet.UrgencyPoly, freshet.UrgencyTable:
		table := []float64{1}
		for t := 1; t < mostWorths; t++ {
			worth := u.At(int(math.Round(min(float64(t)*ratio, math.MaxInt32))))
			if worth == 0 {
				break
			}
			table = append(table, worth)
		}
		return freshet.Urgency{Kind: freshet.UrgencyTable, Table: table}
	}
	return u
}
