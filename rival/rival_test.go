package rival_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"freshet"
	"freshet/policy"
	"freshet/rival"
)

// New knows the daemon's policies and the rivals, with their options.
func TestNew(t *testing.T) {
	for _, name := range rival.Names() {
		if _, err := rival.New(name, policy.Setting{}); err != nil {
			t.Errorf("%s is named and not known: %v", name, err)
		}
	}
	for _, name := range slices.Concat(policy.Names, policy.Experimental) {
		if !slices.Contains(rival.Names(), name) {
			t.Errorf("%s is not among the names", name)
		}
	}
	for _, name := range []string{"cam:slip=3", "price:horizon=64,patience=100", "nutch:min=1m,max=1h", "frequency:floor=0.1", "fixed:every=90s"} {
		if _, err := rival.New(name, policy.Setting{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, reason := range map[string]string{
		"unifrom":           `there is no policy "unifrom"; there are auto, uniform`,
		"unifrom:x=1":       "nutch, stormcrawler",
		"cam:slop=3":        "cam has no option slop; it has epoch, slip",
		"cam:slip=x":        "slip=x: that is not a whole number",
		"cam:slip":          "is not key=value",
		"yardstick:x=1":     "yardstick has no options",
		"nutch:every=1h":    "nutch has no option every; it has initial, min, max",
		"frequency:florr=1": "frequency has no option florr",
	} {
		_, err := rival.New(name, policy.Setting{})
		if invalid, ok := errors.AsType[*freshet.InvalidError](err); !ok || invalid.Field != "policy" || !strings.Contains(invalid.Reason, reason) {
			t.Errorf("%s gives %v, want an error that says %q", name, err, reason)
		}
	}
}

// Each name stands for a rule of its own.
func TestNewMakesWhatIsNamed(t *testing.T) {
	for name, want := range map[string]string{
		"price": "*rival.Priced", "cam": "*rival.CAM", "yardstick": "*rival.Yardstick",
		"miniflux": "*policy.Revisit", "nutch": "*policy.Revisit", "stormcrawler": "*policy.Revisit", "wic": "*policy.WIC",
	} {
		p, err := rival.New(name, policy.Setting{})
		if got := fmt.Sprintf("%T", p); err != nil || got != want {
			t.Errorf("%s is a %s (%v), want %s", name, got, err, want)
		}
	}
}
