package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

const searchHelp = `Search the text of all stored versions, current and past. A hit is a run of
versions of a source that all have the words: a line that stayed over fifty versions
is one hit, with the first and the last of them and when they were seen.

  pump price          both words, in any order and on any line
  "heat pump"         words that follow each other
  secur*              words that begin so
  pump OR boiler      one of them
  pump -used          without a word; NOT is the same
  (pump OR boiler) price

Case, accents and punctuation do not count. Quote the whole for your shell:
freshet search '"heat pump" -used'. Arguments after -- are never flags.

The index is a few seconds behind the polls; if versions are missing, the output says so.`

func searchVerb(p *program) *cobra.Command {
	var q client.SearchQuery
	var source, site string
	var limit int
	var seen span
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "search WORDS",
		Short:   "Search the text of all stored versions",
		Long:    searchHelp,
		Example: "  freshet search recall\n  freshet search --tag shop 'pump -used'\n  freshet search --source news --since 30d '\"interest rate\"'\n  freshet search --now --sort newest --json 'secur*'",
		Args:    takes(1, -1),
	}
	flags := cmd.Flags()
	flags.StringVar(&source, "source", "", "only in this source")
	flags.StringVar(&site, "site", "", "only in this site and its pages")
	flags.StringVar(&q.Tag, "tag", "", "only in sources with this tag")
	flags.StringVar(&seen.since, "since", "", "only what was there at this `time` or later: a date, a time, or how long ago, such as 2d")
	flags.StringVar(&seen.until, "until", "", "only what was there before this `time`; a date is its beginning")
	flags.BoolVar(&q.Current, "now", false, "only what is there now")
	flags.StringVar(&q.Order, "sort", "rank", "what comes first: rank, newest or oldest")
	limitFlag(cmd, &limit, 20)
	flags.IntVar(&q.Offset, "offset", 0, "leave out this many")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		q.Words = strings.Join(args, " ")
		if strings.TrimSpace(q.Words) == "" {
			return usagef("search: there is no word to search for")
		}
		switch q.Order {
		case "rank", "newest", "oldest":
		default:
			return usagef("search: --sort: %q is not rank, newest or oldest", q.Order)
		}
		if q.Offset < 0 {
			return usagef("search: --offset must be at least 0")
		}
		var err error
		if q.Seen, err = seen.read(p); err != nil {
			return err
		}
		for _, of := range []struct {
			named string
			id    *freshet.SourceID
		}{{source, &q.Source}, {site, &q.Site}} {
			if of.named == "" {
				continue
			}
			s, err := c.Sources.Find(ctx, of.named)
			if err != nil {
				return err
			}
			*of.id = s.ID
		}
		var page client.SearchPage
		first := q.Offset
		hits, err := upTo(limit, func(have, most int) ([]client.SearchHit, bool, error) {
			q.Offset, q.Limit = first+have, most
			page, err = c.Search(ctx, q)
			return page.Items, page.Next != nil, err
		})
		if err != nil {
			return err
		}
		page.Items, q.Offset = hits, first
		if asJSON {
			return p.printJSON(page)
		}
		printHits(p, page, q)
		return nil
	})
}

// printHits prints what was found, and what is left to say of it.
func printHits(p *program, page client.SearchPage, q client.SearchQuery) {
	for _, h := range page.Items {
		printHit(p, h)
	}
	switch {
	case len(page.Items) == 0 && page.Total > 0:
		p.remark("there are %d hits, and none after the first %d", page.Total, q.Offset)
	case len(page.Items) == 0:
		p.remark("nothing was found")
	case page.Next != nil:
		p.remark("%d of %d hits; --offset %d shows the next", len(page.Items), page.Total, *page.Next)
	}
	if page.Cut {
		p.remark("a word is so common that only the newest 200,000 lines with it were looked at; add words, or name a source")
	}
	if page.Waiting > 0 {
		p.remark("%s not in the index yet; search again in a moment", counted2(page.Waiting, "version is", "versions are"))
	}
}

// printHit prints one hit: where and when, and what it says.
func printHit(p *program, h client.SearchHit) {
	s, now := p.screen(), p.now()
	which := fmt.Sprintf("version %d", h.First)
	if h.Last > h.First {
		which = fmt.Sprintf("versions %d to %d", h.First, h.Last)
	}
	when := moment(h.Since, now) + " to now"
	if !h.Current {
		when = moment(h.Since, now) + " to " + moment(h.Until, now)
	}
	state := s.Green("now")
	if !h.Current {
		state = s.Yellow("past")
	}
	if h.Removed {
		state += ", source removed"
	}
	about := harmless(cmp.Or(h.Name, h.Title, h.URL))
	fmt.Fprintf(p.out, "%s %s %s (%s) %s\n", s.Bold(harmless(string(h.Source))), about, which, state, s.Dim(when))
	for _, passage := range h.Passages {
		fmt.Fprintln(p.out, "  "+marked(passage, s.Bold))
	}
}

// marked returns a passage with what was looked for set off: in bold where there are
// colours, and otherwise in brackets.
func marked(passage client.SearchPassage, bold func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range passage.Marks {
		if m.From < at || m.To > len(passage.Text) {
			continue
		}
		word := harmless(passage.Text[m.From:m.To])
		if shown := bold(word); shown != word {
			word = shown
		} else {
			word = "[" + word + "]"
		}
		b.WriteString(harmless(passage.Text[at:m.From]) + word)
		at = m.To
	}
	return b.String() + harmless(passage.Text[at:])
}
