package paper

import "context"

func (u samplingRules) histogram(context.Context, Setting) (Figure, error)    { return Figure{}, nil }
func (u samplingRules) comparison(context.Context, Setting) (Figure, error)   { return Figure{}, nil }
func (u samplingRules) sampleCounts(context.Context, Setting) (Figure, error) { return Figure{}, nil }
func (u samplingRules) resources(context.Context, Setting) (Figure, error)    { return Figure{}, nil }
func (u samplingRules) longTerm(context.Context, Setting) (Figure, error)     { return Figure{}, nil }
func (u samplingRules) adaptiveSettings(context.Context, Setting) (Figure, error) {
	return Figure{}, nil
}
func (u samplingRules) greediness(context.Context, Setting) (Figure, error)  { return Figure{}, nil }
func (u samplingRules) normalSites(context.Context, Setting) (Figure, error) { return Figure{}, nil }
