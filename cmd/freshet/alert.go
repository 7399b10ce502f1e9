package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// alertFlags say what to be notified of, and where.
type alertFlags struct{ when, to string }

func (f *alertFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.to, "notify", "", "send alerts here: the name of a sink, an e-mail address, or a URL such as ntfy://ntfy.sh/my-topic")
	flags.StringVar(&f.when, "when", "", "with --notify: what to be notified of, such as 'price < 100' (default: anything that changes)")
}

// given reports whether an alert is asked for.
func (f *alertFlags) given() bool { return f.to != "" || f.when != "" }

// addAlert adds an alert, and says what it is in CEL.
func (f *alertFlags) add(ctx context.Context, p *program, c *connection, n client.NewAlert, quiet bool) (client.Alert, error) {
	n.When, n.To = f.when, f.to
	made, err := c.Alerts.Add(ctx, n)
	if err != nil || quiet {
		return made, err
	}
	warn(p, made.Query.Warnings)
	if n.Watch != nil {
		fmt.Fprintf(p.out, "added %s %s\n", made.Source.ID, made.Source.URL)
	}
	verb := "added"
	if n.ID != "" {
		verb = "changed"
	}
	fmt.Fprintf(p.out, "%s alert %s: %s\n", verb, made.Query.ID, harmless(alertInWords(made)))
	return made, nil
}

// alertInWords says when an alert is sent, and where.
func alertInWords(a client.Alert) string {
	text := a.Query.When
	switch {
	case text == "":
		text = "anything that changes"
	case a.Query.Trigger == "becomes":
		text = "when " + text + " becomes true"
	case a.Query.Trigger == "first":
		text = "when " + text + " becomes true, or is true at the first look"
	case a.Query.Trigger == "poll":
		text = "at each poll that finds " + text
	default:
		text = "when " + text
	}
	if a.Sink == "" {
		return text + ", sent nowhere yet; freshet sink add NAME URL --query " + a.Query.ID + " sends it"
	}
	return text + ", sent to " + a.Sink
}

// checkValue says what a value that an alert depends on is now, or that the page does not have it.
func checkValue(ctx context.Context, p *program, c *connection, a client.Alert) error {
	s, err := c.Sources.Get(ctx, a.Source.ID)
	if err != nil || s.Standing.Version == 0 {
		return err
	}
	v, err := c.Sources.Version(ctx, s.ID, s.Standing.Version)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Extract)) {
		if now, ok := v.Fields[name]; ok && now != nil {
			fmt.Fprintf(p.out, "%s is %s now\n", name, harmless(freshet.ShowValue(now)))
		} else {
			p.remark("warning: %s has no value on this page. Say where it is: freshet edit %s --extract %s='css .%s'", name, s.ID, name, name)
		}
	}
	return nil
}

func alertVerb(p *program) *cobra.Command {
	var f alertFlags
	chain := chainFlags{extract: reading.Extracts{}}
	var n client.NewAlert
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "alert [SOURCE | --tag TAG] --when CONDITION --notify WHERE",
		Short: "Get notified of something about a source",
		Long: `Get notified of something about a source, or about all sources with a tag. An alert is a
query with a sink that follows it. Conditions can be short:

  anything changes        price changes          price < 100, price above 5
  price falls by 5%       price changes by 5%    stock >= 1, status != "green"
  "sold out" appears      "sold out" disappears  back in stock
  new items               stops working

or CEL, as in freshet query. A value such as price is what the source extracts; a price,
a currency and an availability that the page states for search engines need no --extract.
"freshet add" takes --when and --notify, too.

With --for 10m the condition must hold for so long, or the change must not be taken back.
With --repeat 30m the alert is sent again until somebody acknowledges it: by the link in
the message, on the page, or with "freshet alert ack".`,
		Example: "  freshet alert shop --when 'price < 100' --notify me@example.com\n" +
			"  freshet alert news --when '\"Ada Lovelace\" appears' --notify ntfy://ntfy.sh/my-topic\n" +
			"  freshet alert shop --when 'stops working' --for 10m --repeat 30m --notify me@example.com\n" +
			"  freshet alert --tag news --digest 'daily 08:00 Europe/Berlin' --notify me@example.com\n" +
			"  freshet alert shop --id shop-price-goes-below-100 --when 'price < 90'",
		Args: takes(0, 1),
	}
	cmd.AddCommand(alertAckVerb(p))
	f.register(cmd.Flags())
	cmd.Flags().Var(&extractFlag{&chain}, "extract", "name a value of the source, such as 'price=css .price | number'; can be repeated")
	cmd.Flags().StringVar(&n.Tag, "tag", "", "all sources with this tag, in one alert, instead of a source")
	cmd.Flags().StringVar(&n.ID, "id", "", "change this alert instead of adding one")
	cmd.Flags().StringVar(&n.Name, "name", "", "name for people (default: made of the source and the condition)")
	cmd.Flags().StringVar(&n.Trigger, "trigger", "", triggerHelp)
	cmd.Flags().StringVar(&n.For, "for", "", "the condition must hold, or the change must last, for this long, such as 10m (0: not at all)")
	cmd.Flags().StringVar(&n.Repeat, "repeat", "", repeatHelp+" (0: never)")
	cmd.Flags().StringVar(&n.Digest, "digest", "", "send what happens together, such as hourly or 'daily 08:00 Europe/Berlin' (never: each by itself)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would be added")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, true, func(ctx context.Context, c *connection, args []string) error {
		if (len(args) == 0) == (n.Tag == "") {
			return usagef("name a source, or sources with --tag")
		}
		if len(args) > 0 {
			s, err := c.Sources.Find(ctx, args[0])
			if err != nil {
				return err
			}
			n.Source = s.ID
		}
		if len(chain.extract) > 0 {
			n.Edit = client.Patch{"extract": chain.extract}
		}
		n.When, n.To = f.when, f.to
		var made client.Alert
		var err error
		if dry {
			made, err = c.Alerts.Preview(ctx, n)
		} else {
			made, err = f.add(ctx, p, c, n, asJSON)
		}
		switch {
		case err != nil:
			return err
		case asJSON:
			return p.printJSON(made)
		case dry:
			_, err = fmt.Fprintln(p.out, harmless(alertInWords(made)))
		}
		return err
	}), 1)
}

func alertAckVerb(p *program) *cobra.Command {
	var upTo int64
	cmd := &cobra.Command{
		Use:   "ack ALERT",
		Short: "Acknowledge an alert that is sent again until somebody does",
		Long: `Acknowledge an alert. What it has sent so far is not sent again; what happens later is.
The message has a link that does the same.`,
		Example: "  freshet alert ack shop-stops-working\n  freshet alert ack shop-stops-working --up-to 12",
		Args:    takes(1, 1),
	}
	cmd.Flags().Int64Var(&upTo, "up-to", 0, "only the matches up to this number (default: all)")
	return completeQueries(p, resultVerb(p, cmd, overAPI, func(ctx context.Context, c *connection, args []string) (client.Query, error) {
		return c.Queries.Acknowledge(ctx, args[0], client.Acknowledgement{UpTo: upTo})
	}, func(_ *connection, q client.Query) error {
		later := ""
		if q.Unacknowledged > 0 {
			later = fmt.Sprintf("; %d later matches are still repeated", q.Unacknowledged)
		}
		_, err := fmt.Fprintf(p.out, "acknowledged %s%s\n", q.ID, later)
		return err
	}), 1)
}
