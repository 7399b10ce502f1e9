package freshet

import (
	"freshet/internal/invalid"
)

// A NoiseSetting says what becomes of a capture that differs only in what differs at
// nearly every poll, such as a clock.
type NoiseSetting string

// The settings.
const (
	NoiseReport NoiseSetting = ""     // told as a change like any other; the source says where the noise is
	NoiseAuto   NoiseSetting = "auto" // stored, and not told
	NoiseOff    NoiseSetting = "off"  // nobody looks for it
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

// NoiseState is the key under which a store keeps what is known of the noise
// of each source.
const NoiseState = "noise"
