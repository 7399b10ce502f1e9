package freshet

import (
	"cmp"

	"freshet/internal/invalid"
)

// A NoiseSetting says how to treat a capture that differs only in noise: parts that differ
// at nearly every poll, such as a clock.
type NoiseSetting string

// The settings.
const (
	NoiseAuto   NoiseSetting = "auto"   // store it without reporting a change; the default of new sources
	NoiseReport NoiseSetting = "report" // report it as a change, and show where the noise is
	NoiseOff    NoiseSetting = "off"    // do not look for noise

	// NoiseUnset is NoiseReport in a source that was added when that was the default, and otherwise
	// not yet decided.
	NoiseUnset NoiseSetting = ""
)

// ParseNoiseSetting reads "auto", "report" or "off".
func ParseNoiseSetting(text string) (NoiseSetting, error) {
	switch text {
	case "auto", "report", "off":
		return NoiseSetting(text), nil
	}
	return "", invalid.Errorf("noise", "%.40q is not a way to treat noise; use auto, report or off", text)
}

// String returns the setting as ParseNoiseSetting reads it.
func (n NoiseSetting) String() string {
	return string(cmp.Or(n, NoiseReport))
}

// NoiseState is the key of the learned noise of a source.
const NoiseState = "noise"
