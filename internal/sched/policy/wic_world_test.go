package policy_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

// pis is an estimator that has the chances of every instant in a table.
type pis = policytest.Table

// A wicWorld is pages and how they change.
type wicWorld struct{ policytest.World }

func newWicWorld(pi pis, weights []float64, polls int, life []objective.Visibility, urgency objective.Urgency) wicWorld {
	return wicWorld{policytest.NewWorld(pi, weights, polls, life, urgency)}
}

func (w wicWorld) wic() freshet.Policy {
	return policy.NewWIC(policy.WICConfig{Start: noon, Instant: time.Minute, Estimator: w.Chance})
}

// shrink returns the largest factors by which an instant's delay shrinks what a
// change is worth: by urgency alone, and with its life.
func (w wicWorld) shrink() (a, withLife float64) {
	for i, s := range w.Pages {
		urgency := func(t int) float64 { return s.Urgency.In(policytest.Tick).At(float64(t)) }
		for t := range w.Instants() {
			if now := urgency(t); now > 0 {
				a = max(a, urgency(t+1)/now)
			}
		}
		for k := 1; k < w.Instants(); k++ {
			for j := k; j < w.Instants(); j++ {
				if now := urgency(j-k) * policytest.Lasts(s.Life, w.Chance[i], k, j); w.Chance[i][k-1] > 0 && now > 0 {
					withLife = max(withLife, urgency(j+1-k)*policytest.Lasts(s.Life, w.Chance[i], k, j+1)/now)
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
	var lives []objective.Visibility
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
