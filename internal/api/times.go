package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/freshet"
)

// Between is a span of time that a client asks for.
type Between struct {
	Since string `query:"since" doc:"Only what was seen at this time or later: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d"`
	Until string `query:"until" doc:"Only what was seen before this time; a date is its beginning"`
}

// said refuses parameters that are named and have no value: whoever meant a time would get
// what no time brings.
func said(ctx huma.Context, names ...string) (errs []error) {
	u := ctx.URL()
	for query, i := u.Query(), 0; i < len(names); i++ {
		if name := names[i]; query.Has(name) && query.Get(name) == "" {
			errs = append(errs, &huma.ErrorDetail{Location: "query." + name, Message: "must not be empty; leave it out, or give a time such as 2026-11-01T08:00:00Z"})
		}
	}
	return errs
}

// span reads a span of time.
func (a *api) span(in Between) (span freshet.Between, err error) {
	if span.Since, err = a.moment("query.since", in.Since); err != nil {
		return span, err
	}
	if span.Until, err = a.moment("query.until", in.Until); err != nil {
		return span, err
	}
	if !span.Since.IsZero() && !span.Until.IsZero() && !span.Since.Before(span.Until) {
		return span, invalid("query.until", "is not after since", in.Until)
	}
	return span, nil
}

// moment reads a time that was given at a location such as "query.at"; none is the zero
// time.
func (a *api) moment(location, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := freshet.ParseTime(text, a.Now(), time.UTC)
	if err != nil {
		return t, invalid(location, err.Error(), text)
	}
	return t, nil
}

// versionAt returns the version that a source had at a time that was given at a location.
func (a *api) versionAt(ctx context.Context, id freshet.SourceID, location, text string) (freshet.Version, error) {
	at, err := a.moment(location, text)
	if err != nil {
		return freshet.Version{}, err
	}
	v, err := freshet.VersionAt(ctx, a.Store, id, at)
	if err == nil || !errors.Is(err, freshet.ErrNotFound) {
		return v, err
	}
	if _, err := a.newest(ctx, id, 0); err != nil {
		return v, err
	}
	first, err := a.oldest(ctx, id)
	if err != nil {
		return v, err
	}
	p := problem(http.StatusNotFound, fmt.Sprintf("no version of %s is known at %s: the oldest that is stored is version %d, first seen at %s",
		id, at.UTC().Format(time.RFC3339), first.Number, utc(first.SeenAt).Format(time.RFC3339)))
	p.Hint = "ask for a time at or after " + utc(first.SeenAt).Format(time.RFC3339Nano)
	return v, p
}

// oldest returns the oldest version of a source that has one.
func (a *api) oldest(ctx context.Context, id freshet.SourceID) (first freshet.Version, err error) {
	w, err := a.watchedOrRemoved(ctx, id)
	if err != nil {
		return first, err
	}
	for before := w.Standing.Head.Number + 1; ; before = first.Number {
		found, err := a.Store.Versions(ctx, id, before, maxPage)
		if err != nil || len(found) == 0 {
			return first, err
		}
		first = found[len(found)-1]
	}
}
