package freshet_test

import (
	"testing"

	"freshet/internal/freshet"
)

// A source has its own aim, or the first of its tags' in the order of the list, or that
// of all.
func TestAimOf(t *testing.T) {
	byTag := []freshet.TagLevel{
		{Tag: "quiet"}, // which says nothing of aims
		{Tag: "news", Aim: freshet.AimFreshness},
		{Tag: "shop", Aim: freshet.AimCaptures},
		{Aim: freshet.AimAge},
	}
	for _, tt := range []struct {
		what   string
		source freshet.Source
		byTag  []freshet.TagLevel
		want   freshet.Aim
	}{
		{"nothing said", freshet.Source{Tags: []string{"news"}}, nil, ""},
		{"its own", freshet.Source{Aim: freshet.AimCaptures, Tags: []string{"news"}}, byTag, freshet.AimCaptures},
		{"its tag", freshet.Source{Tags: []string{"quiet", "news"}}, byTag, freshet.AimFreshness},
		{"the first of its tags in the list", freshet.Source{Tags: []string{"shop", "news"}}, byTag, freshet.AimFreshness},
		{"that of all", freshet.Source{Tags: []string{"quiet"}}, byTag, freshet.AimAge},
		{"no tag", freshet.Source{}, byTag[:3], ""},
	} {
		if got := freshet.AimOf(tt.source, tt.byTag); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}
