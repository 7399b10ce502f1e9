package objective_test

import (
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

// A source has its own aim, or the first of its tags' in the order of the list, or that
// of all.
func TestAimOf(t *testing.T) {
	byTag := []freshet.TagLevel{
		{Tag: "quiet"}, // which says nothing of aims
		{Tag: "news", Aim: objective.Freshness},
		{Tag: "shop", Aim: objective.Captures},
		{Aim: objective.Age},
	}
	for _, tt := range []struct {
		what   string
		source freshet.Source
		byTag  []freshet.TagLevel
		want   objective.Objective
	}{
		{"nothing said", freshet.Source{Tags: []string{"news"}}, nil, ""},
		{"its own", freshet.Source{Aim: objective.Captures, Tags: []string{"news"}}, byTag, objective.Captures},
		{"its tag", freshet.Source{Tags: []string{"quiet", "news"}}, byTag, objective.Freshness},
		{"the first of its tags in the list", freshet.Source{Tags: []string{"shop", "news"}}, byTag, objective.Freshness},
		{"that of all", freshet.Source{Tags: []string{"quiet"}}, byTag, objective.Age},
		{"no tag", freshet.Source{}, byTag[:3], ""},
	} {
		if got := freshet.ObjectiveOf(tt.source, tt.byTag); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}
