package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"freshet/client"
	"freshet/internal/app/config"
)

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
	Kind   string     `json:"kind"` // setting, source, query or sink
	Name   string     `json:"name"`
	Action planAction `json:"action"`
	Fields []string   `json:"fields,omitempty"` // that differ
	Note   string     `json:"note,omitempty"`   // for people
	Done   bool       `json:"done,omitempty"`
	Error  string     `json:"error,omitempty"`

	do func(context.Context) error
}

// order is when an act has its turn. A source goes before another with the same page comes;
// a query comes before the sinks that follow it, and goes after them.
func (a plannedAct) order() int {
	if a.Action == remove {
		return map[string]int{"source": 0, "sink": 5, "query": 6}[a.Kind]
	}
	return map[string]int{"setting": 1, "source": 2, "query": 3, "sink": 4}[a.Kind]
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
	for _, item := range p.Items {
		if item.do != nil && !item.Done {
			n++
		}
	}
	return n
}

// makePlan compares the file with what the daemon has.
func (v *application) makePlan(ctx context.Context) error {
	v.plan = applyPlan{File: v.file.File, DryRun: v.dry, Items: []plannedAct{}, NotApplied: v.file.NotToApply()}
	for _, compare := range []func(context.Context) error{v.planSettings, v.planSources, v.planQueries, v.planSinks} {
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
