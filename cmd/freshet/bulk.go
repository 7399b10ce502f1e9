package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/suggest"
)

// A bulkEdit is one run of the verb "bulk".
type bulkEdit struct {
	*program
	ids    []string
	filter client.BulkFilter
	state  string
	all    bool
	dry    bool
	json   bool
}

// bulkActions are what can be done to many sources.
var bulkActions = []string{"poll", "pause", "resume", "tag", "untag", "level", "read", "remove", "undo"}

func bulkVerb(p *program) *cobra.Command {
	v := bulkEdit{program: p}
	cmd := &cobra.Command{
		Use:   "bulk ACTION [VALUE...]",
		Short: "Edit many sources at once",
		Long: `Edit many sources at once: those that --id names, or those that --tag, --host, --state and
--find select together; --all selects all but the pages of sites. --dry-run says how many
would be changed.

  poll            as soon as the budget and the hosts allow
  pause, resume   polling
  tag NAME        give them a tag; untag NAME takes it away
  level LEVEL     how soon changes are wanted, such as "90% within 10m", or none
  read STEP...    what is compared, such as css=main; none is the whole text
  remove          stop watching; the history is kept
  undo EDIT       take back an edit, as long as it is one of the last ten

Sources of the configuration file are polled and otherwise left as they are.`,
		Example: "  freshet edit bulk pause --tag shop --dry-run\n" +
			"  freshet edit bulk level '90% within 10m' --tag news\n" +
			"  freshet edit bulk read css=main drop=.clock --host example.com\n" +
			"  freshet edit bulk undo 3",
		Args: takes(1, -1),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&v.ids, "id", nil, "this source; can be repeated")
	flags.StringVar(&v.filter.Tag, "tag", "", "sources with this tag")
	flags.StringVar(&v.filter.Host, "host", "", "sources of this host")
	flags.StringVar(&v.filter.Q, "find", "", "sources with this in their id, URL, name or title")
	flags.StringVar(&v.state, "state", "", "sources in this state: failing, noisy, paused, unseen, suspect or well")
	flags.BoolVar(&v.all, "all", false, "all sources")
	flags.BoolVar(&v.dry, "dry-run", false, "only say how many would be changed")
	jsonFlag(cmd, &v.json)
	return clientVerb(p, cmd, false, v.run)
}

func (v *bulkEdit) run(ctx context.Context, c *connection, args []string) error {
	report, end := v.showing()
	if args[0] == "undo" {
		if len(args) != 2 {
			return usagef("bulk: undo takes what the edit answered, such as freshet edit bulk undo 3")
		}
		done, err := c.Sources.UndoEdit(ctx, args[1], report)
		end()
		if err != nil {
			return err
		}
		return v.printDone("changed back", done)
	}
	e, err := v.edit(args)
	if err != nil {
		return err
	}
	done, err := c.Sources.EditMany(ctx, e, report)
	end()
	if err != nil {
		return err
	}
	words := "changed"
	if v.dry {
		words = "would be changed"
	}
	return v.printDone(words, done)
}

// showing returns a function that shows on a terminal how far the edit is, nil if there is none,
// and one that clears it.
func (v *bulkEdit) showing() (report func(client.BulkEdited), end func()) {
	if !isTerminal(v.err) {
		return nil, func() {}
	}
	var bar *cli.Progress
	shown := 0
	report = func(sofar client.BulkEdited) {
		if bar == nil {
			bar = v.progress("editing", sofar.Matched)
		}
		bar.Add(sofar.Changed + sofar.Refused - shown)
		shown = sofar.Changed + sofar.Refused
	}
	return report, func() {
		if bar != nil {
			bar.Done()
		}
	}
}

// edit reads what is asked for.
func (v *bulkEdit) edit(args []string) (e client.BulkEdit, err error) {
	if !slices.Contains(bulkActions, args[0]) {
		return e, usagef("bulk: unknown action %q%s", args[0], suggest.DidYouMean(args[0], bulkActions))
	}
	e = client.BulkEdit{Action: client.BulkAction(args[0]), DryRun: v.dry}
	v.filter.State = client.State(v.state)
	switch selects := v.filter != (client.BulkFilter{}); {
	case len(v.ids) == 0 && !selects && !v.all:
		return e, freshet.WithHint(usagef("bulk: say which sources"), "use --id, --tag, --host, --state or --find, or --all")
	case len(v.ids) > 0 && (selects || v.all), selects && v.all:
		return e, usagef("bulk: use --id, or --all, or what selects them")
	case len(v.ids) == 0:
		e.Filter = &v.filter
	}
	for _, id := range v.ids {
		e.IDs = append(e.IDs, freshet.SourceID(id))
	}
	values := args[1:]
	none := len(values) == 1 && values[0] == "none"
	switch e.Action {
	case client.BulkTag, client.BulkUntag, client.BulkLevel:
		if len(values) != 1 {
			return e, usagef("bulk: %s takes one value", e.Action)
		}
		if e.Action == client.BulkLevel && !none {
			e.Level = values[0]
		} else if e.Action != client.BulkLevel {
			e.Tag = values[0]
		}
	case client.BulkRead:
		if len(values) == 0 {
			return e, usagef("bulk: read takes steps, such as css=main, or none")
		}
		for _, text := range values {
			if !none {
				e.Read = append(e.Read, stepOf(text))
			}
		}
	default:
		if len(values) > 0 {
			return e, usagef("bulk: %s takes no value, but %q was given", e.Action, values[0])
		}
	}
	return e, nil
}

// stepOf reads a step: a name, a name with what it takes, or JSON.
func stepOf(text string) any {
	var step any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &step) == nil {
		return step
	}
	if name, value, ok := strings.Cut(text, "="); ok {
		return map[string]any{name: value}
	}
	return text
}

// printDone prints the result of an edit.
func (v *bulkEdit) printDone(words string, done client.BulkEdited) error {
	if v.json {
		return v.printJSON(done)
	}
	text := fmt.Sprintf("%d of %s %s", done.Changed, counted(done.Matched, "source"), words)
	if done.Refused > 0 {
		text += fmt.Sprintf("; %d cannot be so", done.Refused)
	}
	if done.Undo != "" {
		text += "; freshet edit bulk undo " + done.Undo + " takes it back"
	}
	_, err := fmt.Fprintln(v.out, text)
	return err
}
