package paper

import (
	"context"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// BeyondWith returns the experiments beyond the papers, with policies from make.
func BeyondWith(make func(name string, at policy.Setting) (freshet.Policy, error)) []Experiment {
	return beyondWith(make)
}

// Groupings runs question 2 with sampling under other names.
func Groupings(ctx context.Context, s Options, sampling func(name string, c policy.SamplingConfig) freshet.Policy) (Figure, error) {
	return groupsWith(ctx, s, "question 2", sampling)
}

// GroupedSampling is what question 2 runs.
var GroupedSampling = groupedSampling

// Shapes runs question 4 with the plans of one strategy under the name of
// another.
func Shapes(ctx context.Context, s Options, swapped bool) (Figure, error) {
	ways := assuming()
	if swapped {
		ways[byHistory].plan = ways[byNothing].plan
	}
	return shapesWith(ctx, s, "question 4", ways)
}

// PlanForAge is the plan of question 3 for the least age.
var PlanForAge = planForAge
