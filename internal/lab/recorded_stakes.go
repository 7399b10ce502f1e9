package lab

import "freshet/internal/freshet"

// ownStakes returns what captures are worth to those who named the sources. What
// is not to be their own is as k says.
func ownStakes(g *Grid, known map[freshet.SourceID]freshet.Source, k Stakes, ownLife, ownUrgency bool) Stakes {
	weigh := k.Adjust // by a file of weights, if there is one
	sources := make([]freshet.Source, len(g.Pages()))
	for page, id := range g.Pages() {
		s := known[id]
		s.ID, s.Paused = id, false
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
