package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/units"
)

func siteVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Show and mirror sites, and read sitemaps and robots.txt",
		Long: `A site is a source that stands for all of its pages; "freshet add --site URL" adds one.

list, show, pages and mirror are about sites that are watched. urls and robots read
what any site says to programs that go through its pages, without watching it.`,
		Example: "  freshet site show docs\n  freshet site pages docs --changed-since 24h\n  freshet site mirror docs --out docs-copy\n" +
			"  freshet site urls https://example.com/sitemap.xml\n  freshet site robots https://example.com/ /private/page",
	}
	return grouped(cmd, siteListVerb(p), siteShowVerb(p), sitePagesVerb(p), siteMirrorVerb(p), siteURLsVerb(p), siteRobotsVerb(p))
}

func siteResource() resource[client.Site, *connection] {
	return resource[client.Site, *connection]{
		noun:    "site",
		backend: overAPI,
		all:     func(ctx context.Context, c *connection) ([]client.Site, error) { return c.Sites.List(ctx) },
		none:    "there are no sites; freshet add --site URL adds one",
		table:   display.Table{Head: []string{"SITE", "KNOWN", "FETCHED", "GONE", "CHANGED", "FRESH", "URL"}, Short: map[string]int{"SITE": 20}, Drop: []string{"GONE", "CHANGED"}},
		row: func(s client.Site) []string {
			fresh := "-"
			if s.Copy != nil {
				fresh = percent(s.Copy.Fresh.Mean)
			}
			return []string{string(s.Source.ID), fmt.Sprint(s.Pages.Known), fmt.Sprint(s.Pages.Watched), fmt.Sprint(s.Pages.Gone), changedOf(s), fresh, s.Source.URL}
		},
	}
}

func siteListVerb(p *program) *cobra.Command {
	return siteResource().listVerb(p, &cobra.Command{Short: "List the sites with their pages, and how fresh the copies are", Example: "  freshet site list"})
}

// changedOf returns which part of the downloads of a site brought a change.
func changedOf(s client.Site) string {
	if s.Sampled < 1 {
		return "-"
	}
	return percent(s.Changed.Mean)
}

func siteShowVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show SITE",
		Short: "Show what is known of a site, and how fresh the copy is",
		Long: `Show what Freshet knows of a site: how many pages it has found and in which ways,
what became of them, which share of downloads brought a change, how fresh the copy
is, and what is wrong with the site.

Estimates come with a range that holds the truth nine times in ten.`,
		Example: "  freshet site show docs\n  freshet site show docs --json",
		Args:    takes(1, 1),
	}
	return completed(p, resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (s client.Site, err error) {
		found, err := c.watched(ctx, args[0])
		if err != nil {
			return s, err
		}
		return c.Sites.Get(ctx, found.ID)
	}, func(_ *connection, s client.Site) error { return printSite(p, s) }), 1)
}

// printSite prints a site for people.
func printSite(p *program, s client.Site) error {
	paint := p.screen()
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%s %s\n", paint.Dim(fmt.Sprintf("%-14s", name)), fmt.Sprintf(format, args...))
	}
	n := s.Pages
	row("site", "%s  %s", s.Source.ID, s.Source.URL)
	row("pages", "%d known: %d fetched or about to be, %d waiting, %d gone, %d refused, %d covered by others", n.Known, n.Watched, n.Waiting, n.Gone, n.Refused, n.Covered)
	row("found", "%d by sitemaps, %d by feeds, %d by links", n.Sitemaps, n.Feeds, n.Links)
	if s.LeftOut > 0 {
		row("left out", "%s because of the limit; raise it with freshet edit %s --limit N", counted(s.LeftOut, "page"), s.Source.ID)
	}
	switch {
	case s.Settled.IsZero() && n.Waiting > 0:
		row("first copy", "%s of the known pages are fetched", percent(float64(n.Known-n.Waiting)/math.Max(1, float64(n.Known))))
	case s.Settled.IsZero():
		row("first copy", "not complete yet")
	default:
		row("first copy", "complete since %s; pages found after that are reported as new", s.Settled.Local().Format(time.DateTime))
	}
	if s.Sampled >= 1 {
		row("changes", "%s of downloads bring a change (%s to %s, from the last %.0f)", percent(s.Changed.Mean), percent(s.Changed.Low), percent(s.Changed.High), s.Sampled)
	}
	if c := s.Copy; c != nil {
		row("copy", "%s of fetched pages are up to date now (%s to %s); %s over time, %s out of date on average",
			percent(c.Fresh.Mean), percent(c.Fresh.Low), percent(c.Fresh.High), percent(c.Freshness), units.FormatDuration(time.Duration(c.Age).Round(time.Second)))
	}
	row("budget", "at most %s", percent(s.Share))
	for i, index := range s.Indexes {
		name := ""
		if i == 0 {
			name = "listed by"
		}
		state := "not read yet"
		switch {
		case index.Errors != "":
			state = paint.Red(index.Errors)
		case !index.Seen.IsZero():
			state = "read " + index.Seen.Local().Format(time.DateTime)
		}
		row(name, "%s (%s)", index.URL, state)
		if t := index.Trust; t != nil && t.Times >= 1 {
			row("", "announces %s of changes; %s of its announcements are real; right %.0f of %.0f times", percent(t.Told), percent(t.BorneOut), math.Round(t.Right), math.Round(t.Times))
		}
	}
	for _, t := range s.Traps {
		row("endless", "%s: %s; %s not followed, such as %s", t.Where, t.Reason, counted(t.Cut, "link"), t.Example)
	}
	for _, f := range s.Faults {
		row("problem", "%s: %s", f.URL, f.Text)
	}
	_, err := fmt.Fprint(p.out, b.String())
	return err
}

func sitePagesVerb(p *program) *cobra.Command {
	var asJSON bool
	var state, since string
	var limit int
	cmd := &cobra.Command{
		Use:   "pages SITE",
		Short: "List the pages of a site",
		Long: `List the pages of a site with their state:

  waiting  known, and never fetched
  watched  fetched, or about to be
  gone     not there any more
  refused  not wanted by robots.txt, by the page itself, or by you
  covered  the same as another page or source

With --json each page is one line.`,
		Example: "  freshet site pages docs --changed-since 24h\n  freshet site pages docs --state gone --json",
		Args:    takes(1, 1),
	}
	cmd.Flags().StringVar(&state, "state", "", "only pages in this state")
	cmd.Flags().StringVar(&since, "changed-since", "", "only pages that changed since then: a time such as 24h or 7d, or a date")
	cmd.Flags().IntVar(&limit, "limit", 0, "print at most this many; 0 means all")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		found, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		q := client.SitePageQuery{State: crawl.PageState(state), Limit: limit}
		if since != "" {
			if q.ChangedSince, err = freshet.ParseTime(since, p.now(), time.Local); err != nil {
				return usagef("--changed-since: %v", err)
			}
		}
		if asJSON {
			return c.Sites.Pages(ctx, found.ID, q, func(page client.SitePage) error { return p.printLine(page) })
		}
		now := p.now()
		t := display.Table{Head: []string{"STATE", "FOUND BY", "SEEN", "CHANGED", "VERSION", "URL"}, Drop: []string{"FOUND BY", "VERSION"}}
		err = c.Sites.Pages(ctx, found.ID, q, func(page client.SitePage) error {
			t.Add(display.Plain(string(page.State)), display.Plain(string(page.Found)), display.Plain(ago(page.Seen, now)), display.Plain(ago(page.Changed, now)), display.Plain(cmp.Or(fmt.Sprint(page.Version), "-")), display.Plain(page.URL))
			return nil
		})
		if err != nil || len(t.Rows) == 0 {
			return err
		}
		return t.Write(p.out, p.screen())
	}), 1)
}
