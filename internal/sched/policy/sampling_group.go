package policy

import (
	"net/url"
	"strings"

	"freshet/internal/freshet"
)

// SiteOf returns the site that a source was found for or stands for, if there is
// one. Otherwise it is the part of its ID before the first slash, or its host if
// there is none.
func SiteOf(s freshet.Source) string {
	switch {
	case s.Of != "":
		return string(s.Of)
	case s.Site != nil:
		return string(s.ID)
	}
	if site, _, ok := strings.Cut(string(s.ID), "/"); ok {
		return site
	}
	return s.Host()
}

// DirectoryOf returns a source's ID up to the last slash, or where there is none
// its URL up to the last slash of the path: a finer Group than the site.
func DirectoryOf(s freshet.Source) string {
	if at := strings.LastIndexByte(string(s.ID), '/'); at >= 0 {
		return string(s.ID[:at])
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.Host()
	}
	return s.Host() + u.Path[:strings.LastIndexByte(u.Path, '/')+1]
}

// TagsOf returns a Group by tags: sources belong together that have the same tags,
// of those that begin with the prefix. One that has none is in the group of its
// site.
func TagsOf(prefix string) func(freshet.Source) string {
	return func(s freshet.Source) string {
		var group strings.Builder
		for _, tag := range s.Tags {
			if strings.HasPrefix(tag, prefix) {
				group.WriteString("#" + tag + " ") // as no site is called
			}
		}
		if group.Len() == 0 {
			return SiteOf(s)
		}
		return group.String()
	}
}

// group takes what makes a group of sources.
func (o *Options) group() func(freshet.Source) string {
	return read(o, "group", "one of site, directory, tag, tag:PREFIX", func(s string) (func(freshet.Source) string, bool) {
		switch kind, prefix, prefixed := strings.Cut(s, ":"); {
		case s == "site":
			return SiteOf, true
		case s == "directory":
			return DirectoryOf, true
		case kind == "tag" && (!prefixed || prefix != ""):
			return TagsOf(prefix), true
		}
		return nil, false
	}, SiteOf)
}
