package main

import (
	"encoding/json"

	"github.com/spf13/pflag"

	"freshet/internal/freshet"
)

// siteFlags are what can be said with flags of a source that stands for a whole site.
type siteFlags struct {
	set *pflag.FlagSet

	site, subdomains     bool
	match, exclude, find []string
	limit, depth         int
	share                string
}

func (f *siteFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.BoolVar(&f.site, "site", false, "watch the whole site that begins at the URL: a page, a sitemap or a feed")
	set.StringArrayVar(&f.match, "match", nil, "with --site: watch only pages whose path matches this pattern, such as '/guide/**'; can be repeated")
	set.StringArrayVar(&f.exclude, "exclude", nil, "with --site: leave out pages whose path matches this pattern; can be repeated")
	set.StringSliceVar(&f.find, "find", nil, "with --site: find pages by sitemaps, feeds or links only (default all three)")
	set.IntVar(&f.limit, "limit", 0, "with --site: watch at most this many pages (default 10000)")
	set.IntVar(&f.depth, "depth", 0, "with --site: follow links at most this far from the first page (default 10)")
	set.BoolVar(&f.subdomains, "subdomains", false, "with --site: include subdomains")
	set.StringVar(&f.share, "share", "", "with --site: most of the budget to use for it, such as 30% (default 50% while other sources want the rest)")
}

// described returns what the flags say of a new source, as the API takes it; nil if they
// say nothing.
func (f *siteFlags) described() (any, error) {
	site, err := f.given()
	switch {
	case err != nil:
		return nil, err
	case !f.site && len(site) > 0:
		return nil, freshet.WithHint(usagef("--match, --exclude, --find, --limit, --depth, --subdomains and --share are for a whole site"), "add --site")
	case !f.site:
		return nil, nil
	case len(site) == 0:
		return true, nil
	}
	return site, nil
}

// edit returns what the flags change, as the API takes it; nil if they change nothing.
func (f *siteFlags) edit() (any, error) {
	site, err := f.given()
	switch {
	case err != nil:
		return nil, err
	case f.set.Changed("site") && !f.site:
		return json.RawMessage("null"), nil
	case len(site) > 0:
		return site, nil
	case f.site:
		return true, nil
	}
	return nil, nil
}

// given returns the flags that were given, by their names in the file.
func (f *siteFlags) given() (map[string]any, error) {
	site := map[string]any{}
	for name, value := range map[string]any{
		"match": f.match, "exclude": f.exclude, "find": f.find, "limit": f.limit, "depth": f.depth, "subdomains": f.subdomains,
	} {
		if f.set.Changed(name) {
			site[name] = value
		}
	}
	if f.set.Changed("share") {
		x, err := freshet.ParseShare(f.share)
		if err != nil || x == 0 {
			return nil, usagef("--share: %q is not a share above 0%% and up to 100%%", f.share)
		}
		site["share"] = freshet.FormatShare(x)
	}
	return site, nil
}
