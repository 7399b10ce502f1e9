package freshet

import (
	"strings"
	"time"

	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
)

// A Dial is a setting of the dial between timeliness and completeness that has a name: how
// long a change of a source can be captured, and how fast it loses its value until then.
// The four are the corners of the space that the paper on WIC spans.
type Dial struct {
	Name    string
	Life    objective.Visibility
	Urgency objective.Urgency
	Means   string // in words
}

// Dials returns the settings that have a name.
func Dials() []Dial {
	soon := func(half time.Duration) objective.Urgency {
		return objective.Urgency{Kind: objective.UrgencyExp, A: 0.5, Per: half}
	}
	return []Dial{
		{"stock ticker", objective.Visibility{}, soon(time.Minute), "each change replaces the one before, and is old news after some minutes"},
		{"auction", objective.Visibility{}, objective.Urgency{}, "each change replaces the one before, and counts whenever it is seen"},
		{"news list", objective.Visibility{Kind: objective.VisibleLast, N: 20}, soon(time.Hour), "a change stays in a list for a while, and is worth most within the first hour"},
		{"archive", objective.Visibility{Kind: objective.VisibleForever}, objective.Urgency{}, "changes stay, and late is as good as early"},
	}
}

// ParseDial reads the name of a setting, such as "stock ticker" or "stock-ticker".
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

// dialField sets life and urgency by a name, as far as nobody said what they are. It is
// a short form: what is kept and shown is what it stands for.
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
