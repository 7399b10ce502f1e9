package main

import (
	"cmp"
	"fmt"
	"strings"
)

// doneWords are what has been done.
var doneWords = map[planAction]string{add: "added", change: "changed", remove: "removed"}

// show tells the plan and what became of it.
func (v *application) show() error {
	if v.json {
		return v.printJSON(v.plan)
	}
	v.warn(v.file.Doubts)
	t := table{head: []string{"ACTION", "WHAT", "NAME", "DETAILS"}, short: map[string]int{"NAME": 40}}
	for _, item := range v.plan.Items {
		if item.Action == keep {
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
		t.add(plain(word), plain(item.Kind), plain(harmless(item.Name)), plain(harmless(note)))
	}
	if len(t.rows) > 0 {
		if err := t.write(v.out, v.screen()); err != nil {
			return err
		}
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
