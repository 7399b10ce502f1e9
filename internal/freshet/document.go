package freshet

import (
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/rendering"
	"freshet/internal/strictjson"
)

// SameDocument reports whether two sources can share a fetch: they have the same URL, request
// and rendering, and no cookies of their own. Their recipes may differ. The origins must be
// equal, because a source of the configuration file may do what one of the API must not.
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

// plain reports whether the source is fetched by a plain GET, as most are.
func (s *Source) plain() bool {
	return s.Request == nil && s.Expect == nil && !s.Recipe.Render.On && MediumOf(s.URL) == OnWeb
}

// asking returns the request and the rendering of the source in canonical form.
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
