package freshet

import (
	"strings"
	"time"

	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
)

// A Dial is a named preset of visibility and urgency, the dial between timeliness and
// completeness. The presets are the examples of the paper on WIC: stock tickers and
// auctions are in the same of its four corners.
type Dial struct {
	Name    string
	Life    objective.Visibility
	Urgency objective.Urgency
	Means   string // in words
}

// Dials returns all presets.
func Dials() []Dial {
	soon := func(half time.Duration) objective.Urgency {
		return objective.Urgency{Kind: objective.UrgencyExp, A: 0.5, Per: half}
	}
	return []Dial{
		{"stock ticker", objective.Visibility{}, soon(time.Minute), "each change replaces the one before, and is old news after some minutes"},
		{"auction", objective.Visibility{}, soon(time.Minute), "each bid replaces the one before, and is of use only to those who see it at once"},
		{"front page", objective.Visibility{}, objective.Urgency{}, "each change replaces the one before, and counts whenever it is seen"},
		{"news list", objective.Visibility{Kind: objective.VisibleLast, N: 20}, soon(time.Hour), "a change stays in a list for a while, and is worth most within the first hour"},
		{"archive", objective.Visibility{Kind: objective.VisibleForever}, objective.Urgency{}, "changes stay, and late is as good as early"},
	}
}

// ParseDial reads the name of a preset, such as "stock ticker" or "stock-ticker".
func ParseDial(s string) (Dial, error) {
	var names []string
	for _, d := range Dials() {
		if strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ' ' || r == '-' || r == '_' }), " ") == d.Name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return Dial{}, invalid.Errorf("dial", "%q is not one of: %s", s, strings.Join(names, ", "))
}

// dialField sets life and urgency, unless they are set, to those of a preset. The definition
// keeps and shows the values, not the name.
func dialField(f SourceField) SourceField {
	f.Kind = "string"
	f.Read = func(s *Source, text ...string) error {
		d, err := ParseDial(strings.Join(text, ""))
		if err != nil {
			return err
		}
		if s.Life == (objective.Visibility{}) {
			s.Life = d.Life
		}
		if s.Urgency.Kind == objective.UrgencyUniform {
			s.Urgency = d.Urgency
		}
		return nil
	}
	f.clear = func(*Source) {}
	f.Show = func(*Source) []string { return nil }
	return f
}
