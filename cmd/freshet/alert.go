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
	var id, name, trigger string
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "alert SOURCE --when CONDITION --notify WHERE",
		Short: "Get notified of something about a source",
		Long: `Get notified of something about a source. An alert is a query about the source, with a
sink that follows it. Conditions can be short:

  anything changes        price changes          price < 100, price above 5
  price falls by 5%       price changes by 5%    stock >= 1, status != "green"
  "sold out" appears      "sold out" disappears  back in stock
  new items               stops working

or CEL, as in freshet query. A value such as price is what the source extracts; a price,
a currency and an availability that the page states for search engines need no --extract.
"freshet add" takes --when and --notify, too.`,
		Example: "  freshet alert shop --when 'price < 100' --notify me@example.com\n" +
			"  freshet alert news --when '\"Ada Lovelace\" appears' --notify ntfy://ntfy.sh/my-topic\n" +
			"  freshet alert shop --id shop-price-goes-below-100 --when 'price < 90'",
		Args: takes(1, 1),
	}
	f.register(cmd.Flags())
	cmd.Flags().Var(&extractFlag{&chain}, "extract", "name a value of the source, such as 'price=css .price | number'; can be repeated")
	cmd.Flags().StringVar(&id, "id", "", "change this alert instead of adding one")
	cmd.Flags().StringVar(&name, "name", "", "name for people (default: made of the source and the condition)")
	cmd.Flags().StringVar(&trigger, "trigger", "", "becomes or each, as in freshet query add")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would be added")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, true, func(ctx context.Context, c *connection, args []string) error {
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		edit := client.Patch{}
		if len(chain.extract) > 0 {
			edit["extract"] = chain.extract
		}
		n := client.NewAlert{Source: s.ID, Edit: edit, ID: id, Name: name, Trigger: trigger, When: f.when, To: f.to}
		var made client.Alert
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
