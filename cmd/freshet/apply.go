package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app/config"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// An application is one run of the verb "apply".
type application struct {
	*program
	*connection
	file  config.Settings
	prune bool
	yes   bool
	dry   bool
	json  bool
	plan  applyPlan

	queries map[string]bool // that there are when the plan is carried out
}

func applyVerb(p *program) *cobra.Command {
	v := application{program: p}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Apply a configuration file to a running daemon",
		Long: `Apply the sources, queries, sinks, webhooks and settings of a configuration file to a
running daemon, here or at --server. The file is written as for freshet serve. What is
missing is added, what differs is changed, and the rest is left alone: a second run
changes nothing. Sources without an id are recognised by URL, selector and request.
A FILE of - is read from standard input.

The whole file is checked first. If anything in it is wrong, or the daemon would refuse
it because its own configuration file says otherwise, nothing is applied. What only the
daemon's own file can say, such as listen or requests, is named with its line and left out.
Levels, strategies and shares are settings: each list replaces that of the daemon.

--prune also removes sources, queries and sinks that the file does not list, no matter
who added them, except those of the daemon's own file. The history of sources is kept; the
matches of queries and what waits for sinks are deleted. It asks for --yes.

If a request fails, the steps done and not done are listed; run it again to complete it. A secret of a sink is sent again only when something else of the sink differs.`,
		Example: "  freshet apply watch.yaml --dry-run\n" +
			"  freshet apply watch.yaml\n" +
			"  freshet apply watch.yaml --prune --yes\n" +
			"  generate-sources | freshet apply -\n" +
			"  freshet apply watch.yaml --server https://freshet.example --token-file token",
		Args: takes(1, 1),
	}
	flags := cmd.Flags()
	flags.BoolVar(&v.dry, "dry-run", false, "only show what would be done")
	flags.BoolVar(&v.prune, "prune", false, "remove what the file does not list")
	flags.BoolVar(&v.yes, "yes", false, "remove without asking; for --prune")
	optionFlags(flags, "allow-cidr")
	jsonFlag(cmd, &v.json)
	cmd = clientVerb(p, cmd, false, v.run)
	connected := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := v.read(cmd, args[0]); err != nil {
			return err
		}
		return connected(cmd, args)
	}
	return cmd
}

// read reads the file, before anybody is asked anything.
func (v *application) read(cmd *cobra.Command, path string) (err error) {
	in := config.Input{File: path, Env: v.env, Flag: func(name string) (string, bool) {
		f := cmd.Flag(name)
		if f == nil || !f.Changed {
			return "", false
		}
		return f.Value.String(), true
	}}
	if path == "-" {
		in.File, in.Text = "standard input", v.in
	}
	if own, err := v.settings(cmd); err == nil {
		in.Allow = v.allowedByDaemon(cmd, own.Data)
	}
	v.file, err = config.LoadToApply(in)
	return err
}

func (v *application) run(ctx context.Context, c *connection, _ []string) error {
	if c.local {
		return errNobodyServes
	}
	v.connection = c
	if err := v.makePlan(ctx); err != nil {
		return err
	}
	err := v.permitted()
	if err == nil && !v.dry {
		err = v.carryOut(ctx)
	}
	return errors.Join(v.show(), err)
}

// permitted says why the plan cannot be carried out, if so.
func (v *application) permitted() error {
	switch n := v.plan.count(); {
	case n[refuse] > 0:
		return fmt.Errorf("nothing was applied: the daemon would refuse %d of the file", n[refuse])
	case n[remove] > 0 && !v.yes && !v.dry:
		return freshet.WithHint(fmt.Errorf("nothing was applied: %d would be removed", n[remove]), "repeat it with --yes to remove them, or without --prune to keep them")
	}
	return nil
}

// carryOut does what is planned, in order, up to the first failure. What was done so far
// stays: the next run finds it there.
func (v *application) carryOut(ctx context.Context) (err error) {
	bar := v.progress("applying", v.plan.open())
	defer bar.Done()
	for i := 0; i < len(v.plan.Items) && err == nil; {
		n := 1
		switch item := &v.plan.Items[i]; {
		case item.source != nil:
			n, err = v.addSources(ctx, v.plan.Items[i:])
			bar.Add(n)
		case item.do != nil:
			if err = item.do(ctx); err != nil {
				item.Error = err.Error()
				err = fmt.Errorf("%s %s %s: %w", item.Action, item.Kind, item.Name, err)
			} else {
				item.Done = true
			}
			bar.Add(1)
		}
		i += n
	}
	if err != nil {
		v.remark("run it again to complete it")
	}
	return err
}

// A planAction is what becomes of something.
type planAction string

const (
	add    planAction = "add"
	change planAction = "change"
	remove planAction = "remove"
	keep   planAction = "unchanged"
	refuse planAction = "refuse" // what the daemon would not do
)

// An applyPlan is what makes a daemon have what a file lists.
type applyPlan struct {
	File       string         `json:"file"`
	DryRun     bool           `json:"dry_run,omitempty"`
	Items      []plannedAct   `json:"items"`
	NotApplied []config.Place `json:"not_applied,omitempty"`
	Unlisted   int            `json:"unlisted,omitempty"` // that --prune would remove
}

// A plannedAct is what becomes of one thing of the file or of the daemon.
type plannedAct struct {
	Kind   string     `json:"kind"` // setting, source, query, sink or user
	Name   string     `json:"name"`
	Action planAction `json:"action"`
	Fields []string   `json:"fields,omitempty"` // that differ
	Note   string     `json:"note,omitempty"`   // for people
	Done   bool       `json:"done,omitempty"`
	Error  string     `json:"error,omitempty"`

	do     func(context.Context) error
	source *freshet.Source // to add, many in a request
}

// open reports whether an act is still to be done.
func (a *plannedAct) open() bool { return (a.do != nil || a.source != nil) && !a.Done }

// order is when an act has its turn. A source goes before another with the same page comes;
// a query comes before the sinks that follow it, and goes after them.
func (a plannedAct) order() int {
	if a.Action == remove {
		return map[string]int{"source": 0, "sink": 5, "query": 6}[a.Kind]
	}
	return map[string]int{"setting": 1, "source": 2, "query": 3, "sink": 4, "user": 5}[a.Kind]
}

// count returns how many there are of each action.
func (p applyPlan) count() map[planAction]int {
	n := map[planAction]int{}
	for _, item := range p.Items {
		n[item.Action]++
	}
	return n
}

// open returns how many acts are still to be done.
func (p applyPlan) open() (n int) {
	for i := range p.Items {
		if p.Items[i].open() {
			n++
		}
	}
	return n
}

// makePlan compares the file with what the daemon has.
func (v *application) makePlan(ctx context.Context) error {
	v.plan = applyPlan{File: v.file.File, DryRun: v.dry, Items: []plannedAct{}, NotApplied: v.file.NotToApply()}
	for _, compare := range []func(context.Context) error{v.planSettings, v.planSources, v.planQueries, v.planSinks, v.planUsers} {
		if err := compare(ctx); err != nil {
			return err
		}
	}
	slices.SortStableFunc(v.plan.Items, func(a, b plannedAct) int { return cmp.Compare(a.order(), b.order()) })
	return nil
}

func (v *application) put(item plannedAct) { v.plan.Items = append(v.plan.Items, item) }

// refused returns an act that the daemon's own file stands against.
func (a plannedAct) refused() plannedAct {
	a.Action = refuse
	a.Note = "the daemon's own configuration file lists it and says otherwise; change it there (" + strings.Join(a.Fields, ", ") + ")"
	return a
}

// unlisted plans to remove what the file does not list, or counts it.
func (v *application) unlisted(kind, name string, do func(context.Context) error) {
	if v.prune {
		v.put(plannedAct{Kind: kind, Name: name, Action: remove, Note: "not in the file", do: do})
	} else {
		v.plan.Unlisted++
	}
}

func (v *application) planSettings(ctx context.Context) error {
	wanted := v.file.ToApply()
	if len(wanted) == 0 {
		return nil
	}
	told, err := v.Settings(ctx)
	if err != nil {
		return err
	}
	have := map[string]client.Setting{}
	for _, s := range told.Items {
		have[s.Key] = s
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		is, known := have[key]
		item := plannedAct{Kind: "setting", Name: key, Action: change, Note: orDash(is.Value) + " -> " + orDash(wanted[key])}
		switch {
		case !known:
			item.Action, item.Note = refuse, "this daemon has no such setting"
		case is.Value == wanted[key]:
			item.Action, item.Note = keep, ""
		case is.Fixed:
			item.Action, item.Note = refuse, "the "+is.From+" of the daemon says "+is.Value+" ("+is.Where+"); change it there"
		default:
			item.do = func(ctx context.Context) error {
				_, err := v.EditSettings(ctx, client.SettingsEdit{Set: map[string]string{key: wanted[key]}})
				return err
			}
		}
		v.put(item)
	}
	return nil
}

// doneWords are what has been done.
var doneWords = map[planAction]string{add: "added", change: "changed", remove: "removed"}

// show prints the plan and its result.
func (v *application) show() error {
	if v.json {
		return v.printJSON(v.plan)
	}
	warn(v.program, v.file.Doubts)
	t := display.Table{Head: []string{"ACTION", "WHAT", "NAME", "DETAILS"}, Short: map[string]int{"NAME": 40}}
	unlisted := 0
	for _, item := range v.plan.Items {
		switch {
		case item.Action == keep:
			continue
		case len(v.plan.Items) > fewEntries && item.Action == add && (item.Done || v.dry):
			unlisted++
			continue
		}
		word, note := string(item.Action), cmp.Or(item.Note, strings.Join(item.Fields, ", "))
		switch {
		case item.Done:
			word = doneWords[item.Action]
		case item.Error != "":
			word, note = "failed", item.Error
		case item.Action == refuse:
			word = "refused"
		case !v.dry:
			word = "not done"
		}
		t.Add(display.Plain(word), display.Plain(item.Kind), display.Plain(harmless(item.Name)), display.Plain(harmless(note)))
	}
	if len(t.Rows) > 0 {
		if err := t.Write(v.out, v.screen()); err != nil {
			return err
		}
	}
	if unlisted > 0 {
		v.remark("%d added are not listed here; --json lists them", unlisted)
	}
	for _, part := range v.plan.NotApplied {
		v.remark("%s:%d: %s was not applied: only the daemon's own configuration file can say this", v.plan.File, part.Line, part.Key)
	}
	if v.plan.Unlisted > 0 {
		v.remark("note: the daemon has %d more that the file does not list; --prune removes them", v.plan.Unlisted)
	}
	_, err := fmt.Fprintln(v.out, v.summary())
	return err
}

// summary counts what was done, or would be.
func (v *application) summary() string {
	n := v.plan.count()
	if v.dry {
		return fmt.Sprintf("%d to add, %d to change, %d to remove, %d unchanged; nothing was applied", n[add], n[change], n[remove], n[keep])
	}
	done := map[planAction]int{}
	for _, item := range v.plan.Items {
		if item.Done {
			done[item.Action]++
		}
	}
	text := fmt.Sprintf("%d added, %d changed, %d removed, %d unchanged", done[add], done[change], done[remove], n[keep])
	if open := v.plan.open(); open > 0 {
		text += fmt.Sprintf(", %d not done", open)
	}
	return text
}
