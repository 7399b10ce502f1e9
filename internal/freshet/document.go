package freshet

import (
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/rendering"
	"freshet/internal/strictjson"
)

// SameDocument reports whether two sources bring the same response when they are
// asked for: they have one URL, and are asked for and shown in the same way, with no
// cookies of their own. What is read from it may differ. A source of the configuration
// file may do what one that was added over the API must not.
func (s *Source) SameDocument(t *Source) bool {
	switch {
	case s.URL == "" || s.URL != t.URL:
		return false
	case s.Request != nil && s.Request.Jar == profile.OwnJar:
		return false
	case s.plain() && t.plain():
		return true
	}
	return s.Origin == t.Origin && s.asking() == t.asking()
}

// plain reports whether the source is asked for with a plain GET, like most.
func (s *Source) plain() bool {
	return s.Request == nil && s.Expect == nil && !s.Recipe.Render.On && MediumOf(s.URL) == OnWeb
}

// asking returns in a canonical form how the source is asked for and shown.
func (s *Source) asking() string {
	how := struct {
		Request *profile.Profile   `json:"request,omitempty"`
		Expect  *profile.Expect    `json:"expect,omitempty"`
		Render  rendering.Settings `json:"render"`
	}{s.Request, s.Expect, s.Recipe.Render}
	if s.Request.Empty() {
		how.Request = nil
	}
	if s.Expect != nil && strictjson.MarshalCanonical(s.Expect) == "{}" {
		how.Expect = nil
	}
	return strictjson.MarshalCanonical(how)
}
