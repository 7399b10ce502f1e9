package freshet

import (
	"freshet/internal/invalid"
)

// A NoiseSetting says how to treat a capture that differs only in noise: parts that differ
// at nearly every poll, such as a clock.
type NoiseSetting string

// The settings.
const (
	NoiseReport NoiseSetting = ""     // report it as a change, and show where the noise is
	NoiseAuto   NoiseSetting = "auto" // store it without reporting a change
	NoiseOff    NoiseSetting = "off"  // do not look for noise
)

// ParseNoiseSetting reads "auto", "report" or "off".
func ParseNoiseSetting(text string) (NoiseSetting, error) {
	switch text {
	case "auto", "off":
		return NoiseSetting(text), nil
	case "report":
		return NoiseReport, nil
	}
	return "", invalid.Errorf("noise", "%.40q is not a way to treat noise; use auto, report or off", text)
}

// String returns the setting as ParseNoiseSetting reads it.
func (n NoiseSetting) String() string {
	if n == NoiseReport {
		return "report"
	}
	return string(n)
}

// NoiseState is the key of the learned noise of a source.
const NoiseState = "noise"
