package rest

import (
	"net/url"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// Between is a span of time that a client asks for.
type Between struct {
	Since string `query:"since" doc:"Only versions seen at this time or later: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d"`
	Until string `query:"until" doc:"Only versions seen before this time; a date means its beginning"`
}

// RefuseEmpty returns the errors of parameters that are named and have no value: they would
// select what no time selects.
func RefuseEmpty(query url.Values, names ...string) (errs []*client.ErrorDetail) {
	for _, name := range names {
		if query.Has(name) && query.Get(name) == "" {
			errs = append(errs, &client.ErrorDetail{Location: "query." + name, Message: "must not be empty; leave it out, or give a time such as 2026-11-01T08:00:00Z"})
		}
	}
	return errs
}

// ParseBetween reads a span of time.
func (s *Server) ParseBetween(in Between) (span freshet.Between, err error) {
	if span.Since, err = s.ParseTime("query.since", in.Since); err != nil {
		return span, err
	}
	if span.Until, err = s.ParseTime("query.until", in.Until); err != nil {
		return span, err
	}
	if !span.Since.IsZero() && !span.Until.IsZero() && !span.Since.Before(span.Until) {
		return span, Invalid("query.until", "is not after since", in.Until)
	}
	return span, nil
}

// ParseTime reads a time that was given at a location such as "query.at"; "" is the zero
// time.
func (s *Server) ParseTime(location, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := freshet.ParseTime(text, s.Now(), time.UTC)
	if err != nil {
		return t, Invalid(location, err.Error(), text)
	}
	return t, nil
}

// UTC returns t in UTC, and the zero time unchanged.
func UTC(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
