package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"freshet/web"
)

func (p *program) add() *cobra.Command {
	var f sourceFlags
	var id string
	var paused, poll, asJSON bool
	cmd := &cobra.Command{
		Use:   "add URL...",
		Short: "Watch more sources",
		Long: `Watch more sources. With "-" the URLs are read from standard input, one a line;
empty lines and lines that begin with # are passed over. All flags but --id and
--name hold for every URL.

A URL can be watched more than once with different selectors. The same URL with
the same selectors is refused with exit code 5.`,
		Example: "  freshet add https://example.com/\n" +
			"  freshet add https://shop.example/list --name prices --css '#prices' --tag shop --poll\n" +
			"  freshet add https://api.example/v1/status --jsonpath '$.components[*].state' --max-gap 5m\n" +
			"  freshet add https://example.com/feed.xml --level '90% within 10m'\n" +
			"  freshet add - --tag imported < urls.txt",
		Args: takes(1, -1),
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&id, "id", "", "id to know the source by; made up if it is left out")
	cmd.Flags().BoolVar(&paused, "paused", false, "do not poll it until it is resumed")
	cmd.Flags().BoolVar(&poll, "poll", false, "poll at once and wait for the outcome")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return p.clientVerb(cmd, true, func(ctx context.Context, c *client, urls []string) error {
		fields := f.fields()
		if id != "" {
			fields["id"] = id
		}
		if paused {
			fields["paused"] = true
		}
		urls, err := p.listedURLs(urls, fields)
		if err != nil {
			return err
		}
		var faults []error
		var added []web.Source
		for _, u := range urls {
			s, err := p.addOne(ctx, c, u, fields, poll, asJSON)
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
func (p *program) addOne(ctx context.Context, c *client, url string, fields map[string]any, poll, quiet bool) (s web.Source, err error) {
	body := maps.Clone(fields)
	body["url"] = url
	if err := c.call(ctx, http.MethodPost, "/sources", nil, body, &s); err != nil {
		return s, err
	}
	if !quiet {
		fmt.Fprintf(p.out, "added %s %s\n", s.ID, s.URL)
	}
	if !poll {
		return s, nil
	}
	answer, err := c.poll(ctx, s.ID, pollPatience)
	if err != nil {
		return s, err
	}
	if !quiet {
		p.printPoll(s, answer)
	}
	if err := c.get(ctx, sourcePath(s.ID), nil, &s); err != nil {
		return s, err
	}
	return s, failure(answer)
}

// listedURLs returns the URLs to add, from standard input if that is meant.
func (p *program) listedURLs(urls []string, fields map[string]any) (listed []string, err error) {
	if len(urls) == 1 && urls[0] == "-" {
		if urls, err = p.readURLs(); err != nil {
			return nil, err
		}
	}
	if len(urls) > 1 && (fields["id"] != nil || fields["name"] != nil) {
		return nil, usagef("add: --id and --name are for one URL, not %d", len(urls))
	}
	return urls, nil
}

// readURLs reads URLs from standard input.
func (p *program) readURLs() (urls []string, err error) {
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
		return nil, usagef("add: there is no URL on standard input")
	}
	return urls, nil
}
