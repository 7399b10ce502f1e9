package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

// queryFlags say what a query is.
type queryFlags struct {
	when, value, by, over, hold, silent, digest, quiet, rate, importance string
	sources, tags, sites                                                 []string
}

func (f *queryFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.when, "when", "", "condition in CEL, such as 'added.contains(\"security\")'")
	flags.StringVar(&f.value, "value", "", "what a match carries, in CEL, such as now.price")
	flags.StringVar(&f.importance, "importance", "", "count a change that matches as so many when polls are shared out (default 1)")
	flags.StringArrayVar(&f.sources, "source", nil, "only changes of this source; may be repeated")
	flags.StringArrayVar(&f.tags, "tag", nil, "only changes of sources with this tag; may be repeated")
	flags.StringArrayVar(&f.sites, "site", nil, "only changes of this site and its pages; may be repeated")
	flags.StringVar(&f.by, "by", "", "what is counted together: source, all, or CEL such as source.site")
	flags.StringVar(&f.over, "over", "", "how far back functions look that are not told, such as 1h")
	flags.StringVar(&f.hold, "for", "", "the condition must hold for this long, such as 10m")
	flags.StringVar(&f.silent, "silent", "", "match when no change fits any more: a time such as 3d, or 2x the usual gap")
	flags.StringVar(&f.digest, "digest", "", "tell matches together, such as hourly or 'daily 08:00 Europe/Berlin'")
	flags.StringVar(&f.quiet, "quiet", "", "tell nothing then, such as '22:00-07:00 Europe/Berlin'")
	flags.StringVar(&f.rate, "rate", "", "tell at most so many, such as 10/h; the others are told together later")
}

// query returns what the flags say.
func (f *queryFlags) query(ctx context.Context, c *connection) (q client.NewQuery, err error) {
	scope, err := f.scope(ctx, c)
	if err != nil {
		return q, err
	}
	q = client.NewQuery{Scope: scope, When: f.when, Value: f.value, Rate: f.rate}
	if q.Importance, err = f.weight(); err != nil {
		return q, err
	}
	if window := f.window(); len(window) > 0 {
		q.Window = window
	}
	if f.digest != "" {
		q.Digest = f.digest
	}
	if f.quiet != "" {
		q.Quiet = f.quiet
	}
	return q, nil
}

// weight returns the importance; 0 if none is named.
func (f *queryFlags) weight() (float64, error) {
	if f.importance == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(f.importance, 64)
	if err != nil || !(n > 0) {
		return 0, usagef("--importance: %q is not a number above 0", f.importance)
	}
	return n, nil
}

func (f *queryFlags) window() map[string]any {
	window := map[string]any{}
	for name, text := range map[string]string{"by": f.by, "over": f.over, "for": f.hold, "silent": f.silent} {
		if text != "" {
			window[name] = text
		}
	}
	return window
}

// scope returns which sources are meant; nil means all. Sources can be named as
// everywhere.
func (f *queryFlags) scope(ctx context.Context, c *connection) (*client.Scope, error) {
	if len(f.sources)+len(f.tags)+len(f.sites) == 0 {
		return nil, nil
	}
	s := client.Scope{Tags: f.tags}
	for _, list := range []struct {
		names []string
		to    *[]freshet.SourceID
	}{{f.sources, &s.Sources}, {f.sites, &s.Sites}} {
		for _, name := range list.names {
			found, err := c.watched(ctx, name)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, found.ID)
		}
	}
	return &s, nil
}

// patch returns what was named, as a merge patch. What is empty is set back.
func (f *queryFlags) patch(ctx context.Context, c *connection, cmd *cobra.Command) (map[string]any, error) {
	patch := map[string]any{}
	named := cmd.Flags().Changed
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	for name, text := range map[string]string{"when": f.when, "value": f.value, "digest": f.digest, "quiet": f.quiet, "rate": f.rate} {
		if named(name) {
			patch[name] = orNull(text)
		}
	}
	if named("importance") {
		n, err := f.weight()
		if err != nil {
			return nil, err
		}
		if patch["importance"] = n; n == 0 {
			patch["importance"] = nil
		}
	}
	window := map[string]any{}
	for name, text := range map[string]string{"by": f.by, "over": f.over, "for": f.hold, "silent": f.silent} {
		if named(name) {
			window[name] = orNull(text)
		}
	}
	if len(window) > 0 {
		patch["window"] = window
	}
	if named("source") || named("tag") || named("site") {
		scope, err := f.scope(ctx, c)
		if err != nil {
			return nil, err
		}
		patch["scope"] = map[string]any{"sources": orNone(scope.Sources), "tags": orNone(scope.Tags), "sites": orNone(scope.Sites)}
	}
	return patch, nil
}

// orNone returns a list, or nil if it is empty.
func orNone[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}
