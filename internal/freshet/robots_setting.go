package freshet

import (
	"freshet/internal/invalid"
)

// A RobotsSetting says whether a source is polled only if the robots.txt files of its
// hosts allow it.
type RobotsSetting string

// The settings.
const (
	RobotsDefault RobotsSetting = "" // the global setting
	RobotsObey    RobotsSetting = "obey"
	RobotsIgnore  RobotsSetting = "ignore"
)

// ParseRobotsSetting reads "obey", "ignore" or "default".
func ParseRobotsSetting(text string) (RobotsSetting, error) {
	switch text {
	case "obey", "ignore":
		return RobotsSetting(text), nil
	case "default":
		return RobotsDefault, nil
	}
	return "", invalid.Errorf("robots", "%.40q is not a way to treat robots.txt; use obey, ignore or default", text)
}

// String returns the setting as ParseRobotsSetting reads it.
func (r RobotsSetting) String() string {
	if r == RobotsDefault {
		return "default"
	}
	return string(r)
}

// Obeys reports whether the source is polled only if robots.txt files allow it, given the
// global setting. A page of a site always obeys.
func (s Source) Obeys(byDefault bool) bool {
	return s.Of != "" || s.Robots == RobotsObey || s.Robots == RobotsDefault && byDefault
}
