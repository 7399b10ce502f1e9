package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/mask"
)

// Find returns the watched source with an ID, a name or a URL. If there is none, it returns the
// removed source that was called so and whose history is kept.
func (r Sources) Find(ctx context.Context, named string) (Source, error) {
	s, err := r.find(ctx, named, false)
	if !errors.Is(err, freshet.ErrNotFound) {
		return s, err
	}
	removed, none := r.find(ctx, named, true)
	if errors.Is(none, freshet.ErrNotFound) {
		return s, err
	}
	return removed, none
}

// find returns the source that was named, among those that are watched or among those that were
// removed.
func (r Sources) find(ctx context.Context, named string, removed bool) (s Source, err error) {
	byID := r.Get
	if removed {
		byID = r.GetRemoved
	}
	if freshet.ValidSourceID(freshet.SourceID(named)) || named != "" && strings.Trim(named, ".") == "" {
		s, err := byID(ctx, freshet.SourceID(named))
		if err == nil || !errors.Is(err, freshet.ErrNotFound) {
			return s, err
		}
	}
	near, err := r.List(ctx, SourceQuery{Text: strings.TrimSuffix(named, "/"), Removed: removed})
	if err != nil {
		return s, err
	}
	var found []Source
	for _, s := range near {
		if s.isCalled(named) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return s, freshet.WithHint(fmt.Errorf("source %q: %w", mask.Shorten(mask.URL(named), 200), freshet.ErrNotFound), "freshet list shows all sources; name one by its id, name or URL")
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, s := range found {
		ids = append(ids, fmt.Sprintf("%s (%s)", s.ID, s.URL))
	}
	return s, freshet.WithHint(invalid.Input(fmt.Errorf("%q matches %d sources", named, len(found))), "use one of these ids: "+strings.Join(ids, ", "))
}

// isCalled reports whether a source is called so: by what it shows as its name, by its URL, or by
// its host and path.
func (s Source) isCalled(named string) bool {
	shown := mask.URL(named)
	return strings.EqualFold(s.DisplayName(), named) || s.URL == shown || strings.TrimSuffix(s.URL, "/") == shown || Address(s.URL) == strings.TrimSuffix(named, "/")
}

// DisplayName returns what people call a source: its name, the title of its page, or its host and path.
func (s Source) DisplayName() string {
	return cmp.Or(s.Name, s.Standing.Title, Address(s.URL), string(s.ID))
}

// Address returns a URL without its scheme and query.
func Address(rawURL string) string {
	_, rest, ok := strings.Cut(rawURL, "://")
	if !ok {
		return rawURL
	}
	rest, _, _ = strings.Cut(rest, "?")
	return strings.TrimSuffix(rest, "/")
}
