package estimate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// Names lists the estimators as Parse reads them.
var Names = []string{Forecast, "exact", "noisy:FPN,SIGMA", "constant:P", "poisson"}

// Forecast names the estimator that is a learner, package learn's: Parse reads it, and
// whoever has learners makes it.
const Forecast = "forecast"

// A Spec names an estimator and how it is set.
type Spec struct {
	Name   string  // forecast, exact, noisy, constant or poisson
	FPN    float64 // of noisy: the share of changes expected at a wrong instant
	Sigma  float64 // of noisy: the spread of each change, in instants
	Chance float64 // of constant: of a change in an instant
}

// Parse reads the name of an estimator: "forecast", "exact", "noisy:FPN,SIGMA",
// "constant:P" or "poisson".
func Parse(s string) (Spec, error) {
	name, arg, has := strings.Cut(s, ":")
	bad := func(why string) (Spec, error) {
		return Spec{}, invalid.Errorf("estimate", "%q %s; use one of %s", s, why, strings.Join(Names, ", "))
	}
	var nums []float64
	if has {
		for field := range strings.SplitSeq(arg, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return bad("needs numbers after the colon")
			}
			nums = append(nums, x)
		}
	}
	switch name {
	case Forecast, "exact", "poisson":
		if has {
			return bad("takes no numbers")
		}
		return Spec{Name: name}, nil
	case "noisy":
		if len(nums) != 2 || nums[0] < 0 || nums[0] > 1 || nums[1] < 0 || nums[1] > maxSigma {
			return bad(fmt.Sprintf("needs a share from 0 to 1 and a spread from 0 to %d instants", maxSigma))
		}
		return Spec{Name: name, FPN: nums[0], Sigma: nums[1]}, nil
	case "constant":
		if len(nums) != 1 || !(nums[0] > 0) || nums[0] > 1 {
			return bad("needs one chance above 0 and up to 1")
		}
		return Spec{Name: name, Chance: nums[0]}, nil
	}
	return bad("is not an estimator")
}

// String returns the spec as Parse reads it.
func (s Spec) String() string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch s.Name {
	case "noisy":
		return "noisy:" + num(s.FPN) + "," + num(s.Sigma)
	case "constant":
		return "constant:" + num(s.Chance)
	}
	return s.Name
}

// ReadsTruth reports whether the estimator needs a history to read, which
// there is in a replay and not in a daemon.
func (s Spec) ReadsTruth() bool { return s.Name == "exact" || s.Name == "noisy" }

// New returns the estimator. Seed is for what is drawn by chance. Of the truth,
// estimators that do not read it use only the length of an instant. A forecast is not
// among those that it can make.
func (s Spec) New(truth Truth, seed uint64) (freshet.Estimator, error) {
	if s.ReadsTruth() && truth.Changes == nil {
		return nil, freshet.WithHint(
			&invalid.Error{Field: "estimate", Reason: s.Name + " needs a recorded history, and there is none"},
			"use it only in a replay; elsewhere use constant:P or poisson")
	}
	switch s.Name {
	case "exact":
		return NewExact(truth), nil
	case "noisy":
		return NewNoisy(truth, Noise{FPN: s.FPN, Sigma: s.Sigma, Seed: seed}), nil
	case "constant":
		return &Constant{Chance: s.Chance, Instant: truth.Instant}, nil
	case "poisson":
		return &Poisson{}, nil
	}
	return nil, invalid.Errorf("estimate", "unknown estimator %q; use one of %s", s.Name, strings.Join(Names, ", "))
}

// A Truth is a recorded history as an estimator reads it: the instants, from 1
// to Instants, at which each source changed.
type Truth struct {
	Start    time.Time
	Instant  time.Duration // zero means a minute
	Instants int

	// Changes returns the instants at which a source changed, in order and
	// without repeats. The caller leaves them alone afterwards.
	Changes func(freshet.SourceID) []int32
}

// at returns the instant whose end is nearest to t.
func (t *Truth) at(when time.Time) int {
	d := when.Sub(t.Start) + t.Instant/2
	if d < 0 {
		return 0
	}
	return int(d / t.Instant)
}
