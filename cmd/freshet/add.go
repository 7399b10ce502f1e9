package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

func addVerb(p *program) *cobra.Command {
	var f sourceFlags
	var r requestFlags
	var recipe recipeFlags
	var whole siteFlags
	var alert alertFlags
	var id string
	var paused, poll, asJSON bool
	cmd := &cobra.Command{
		Use:   "add URL...",
		Short: "Start watching pages, feeds or JSON APIs",
		Long: `Start watching URLs. With "-", URLs are read from standard input, one per line;
empty lines and lines that start with # are skipped. Flags apply to every URL;
--id and --name need a single one.

You can watch the same URL several times with different selectors (--css or
--jsonpath) or different requests (--header, --body, --language ...). The same URL
with the same selector and request is refused with exit code 5, and so is an id that
is already used.

With --site, the URL stands for a whole site: Freshet finds its pages by sitemaps,
feeds and links, and watches them all within a share of the budget. The other flags
apply to every page. "freshet site show" says how far it is.

A source that you removed earlier continues its old history. To start over, give
it another --id; the old history then stays under the old id.`,
		Example: "  freshet add https://example.com/\n" +
			"  freshet add https://shop.example/kettle --notify me@example.com --when 'price < 100'\n" +
			"  freshet add https://shop.example/list --name prices --css '#prices' --tag shop --poll\n" +
			"  freshet add https://api.example/v1/status --jsonpath '$.components[*].state' --max-gap 5m\n" +
			"  freshet add https://example.com/feed.xml --level '90% within 10m'\n" +
			"  freshet add --site https://docs.example.com/ --match '/guide/**' --limit 20000\n" +
			"  freshet add --site https://shop.example/sitemap.xml --share 30%\n" +
			"  freshet add - --tag imported < urls.txt",
		Args: takes(1, -1),
	}
	f.register(cmd.Flags(), "")
	r.register(cmd.Flags())
	recipe.register(cmd.Flags())
	whole.register(cmd.Flags())
	alert.register(cmd.Flags())
	cmd.Flags().StringVar(&id, "id", "", "short id for the source (default: generated)")
	cmd.Flags().BoolVar(&paused, "paused", false, "do not poll it until you run freshet resume")
	cmd.Flags().BoolVar(&poll, "poll", false, "poll it now and wait for the result")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, true, func(ctx context.Context, c *connection, urls []string) error {
		described, err := f.newSource()
		if err != nil {
			return err
		}
		request, expect, err := r.described()
		if err != nil {
			return err
		}
		described.Request, described.Expect = withoutNull(request), withoutNull(expect)
		if err := recipe.describe(&described, p.in); err != nil {
			return err
		}
		if described.Site, err = whole.described(); err != nil {
			return err
		}
		described.ID, described.Paused = freshet.SourceID(id), paused
		urls, err = listedURLs(p, urls, described)
		if err != nil {
			return err
		}
		var faults []error
		var added []client.Source
		for _, u := range urls {
			s, err := addOne(ctx, p, c, u, described, alert, poll, asJSON)
			if err != nil {
				faults = append(faults, fmt.Errorf("add %s: %w", u, err))
			}
			if s.ID != "" {
				added = append(added, s)
			}
		}
		if asJSON && len(urls) == 1 && len(added) == 1 {
			faults = append(faults, p.printJSON(added[0]))
		} else if asJSON && len(urls) > 1 {
			faults = append(faults, p.printJSON(added))
		}
		return errors.Join(faults...)
	})
}

// addOne adds one source and says so.
func addOne(ctx context.Context, p *program, c *connection, url string, described client.NewSource, alert alertFlags, poll, quiet bool) (s client.Source, err error) {
	described.URL = url
	if alert.given() {
		return addWithAlert(ctx, p, c, described, alert, poll, quiet)
	}
	if s, err = c.Sources.Add(ctx, described); err != nil {
		return s, err
	}
	if !quiet {
		fmt.Fprintf(p.out, "added %s %s\n", s.ID, s.URL)
	}
	if s.Earlier != nil {
		p.remark("note: %s", earlierInWords(s))
	}
	if s.Render != nil {
		warnOfNoBrowser(p, ctx, c)
	}
	if !poll {
		return s, nil
	}
	answer, err := c.Sources.FirstPoll(ctx, s.ID, pollPatience)
	if err != nil {
		return s, err
	}
	if !quiet {
		printPoll(p, s, answer)
	}
	if s, err = c.Sources.Get(ctx, s.ID); err != nil {
		return s, err
	}
	if !quiet {
		p.showRemedies(s.Standing.Remedies)
	}
	return s, pollError(answer)
}

// addWithAlert adds a source together with an alert about it, and polls it if that is asked for or the alert
// depends on a value.
func addWithAlert(ctx context.Context, p *program, c *connection, described client.NewSource, alert alertFlags, poll, quiet bool) (s client.Source, err error) {
	made, err := alert.add(ctx, p, c, client.NewAlert{Watch: &described}, quiet)
	if err != nil {
		return s, err
	}
	s = *made.Source
	if s.Render != nil {
		warnOfNoBrowser(p, ctx, c)
	}
	if !poll && (quiet || s.Paused || c.local || len(s.Extract) == 0) {
		return s, nil
	}
	answer, err := c.Sources.FirstPoll(ctx, s.ID, pollPatience)
	if err != nil || quiet {
		return s, err
	}
	if poll {
		printPoll(p, s, answer)
	}
	return s, checkValue(ctx, p, c, made)
}

// showRemedies prints what may help with a source in trouble.
func (p *program) showRemedies(all []client.Remedy) {
	for _, r := range all {
		p.remark("hint: %s", remedyInWords(r))
	}
}

// remedyInWords says what a remedy is good for, and its command.
func remedyInWords(r client.Remedy) string {
	words := harmless(r.Words + ": " + r.Why)
	if r.Command != "" {
		words += " " + harmless(r.Command)
	}
	return words
}

// warnOfNoBrowser says that pages cannot be rendered where they would be, if so.
func warnOfNoBrowser(p *program, ctx context.Context, c *connection) {
	b, err := c.Browser(ctx)
	if err == nil && b.Problem != "" {
		p.remark("warning: %s; %s. The source is added, and its polls fail until then", b.Problem, b.Hint)
	}
}

// earlierInWords says what there was before a source that was added, and where its
// history is.
func earlierInWords(s client.Source) string {
	e := s.Earlier
	kept := fmt.Sprintf("versions up to %d", e.Version)
	if e.Version < 2 {
		kept = counted(e.Version, "version")
	}
	switch {
	case !e.Resumed:
		return fmt.Sprintf("this page was watched before as %s, with %s. That history stays under the old id. To continue it instead: freshet remove %s, then freshet add %s --id %s",
			e.ID, kept, s.ID, s.URL, e.ID)
	case e.URL != s.URL:
		return fmt.Sprintf("%s watched %s before, with %s, and this page continues that history. To start a new one, use another --id", e.ID, e.URL, kept)
	}
	return fmt.Sprintf("this page was watched before as %s, with %s. Its history continues", e.ID, kept)
}

// listedURLs returns the URLs to add, from standard input if that is meant.
func listedURLs(p *program, urls []string, described client.NewSource) (listed []string, err error) {
	if len(urls) == 1 && urls[0] == "-" {
		if urls, err = readURLs(p); err != nil {
			return nil, err
		}
	}
	if len(urls) > 1 && (described.ID != "" || described.Name != "") {
		return nil, usagef("add: --id and --name need a single URL, but %d were given", len(urls))
	}
	return urls, nil
}

// readURLs reads URLs from standard input.
func readURLs(p *program) (urls []string, err error) {
	lines := bufio.NewScanner(p.in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			urls = append(urls, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the URLs: %w", err)
	}
	if len(urls) == 0 {
		return nil, usagef("add: no URL on standard input")
	}
	return urls, nil
}
