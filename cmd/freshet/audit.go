package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
)

func auditVerb(p *program) *cobra.Command {
	var q client.AuditQuery
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what",
		Long: `Show the audit log, the newest entries first: each request that changed something, and
each login. Secrets are never in it. Entries are kept for a year (keep.audit).`,
		Example: "  freshet user audit\n  freshet user audit --user bob --limit 20\n  freshet user audit --subject 'source news' --json",
		Args:    takes(0, 0),
	}
	cmd.Flags().StringVar(&q.User, "user", "", "only what this user did")
	cmd.Flags().StringVar(&q.Subject, "subject", "", "only what was done to this, such as 'source news'")
	limitFlag(cmd, &limit, 100)
	cmd.Flags().Int64Var(&q.Before, "before", 0, "only entries before this number: the next page")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		page, err := auditLog(ctx, c, q, limit)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(page)
		}
		t := display.Table{Head: []string{"NUMBER", "WHEN", "WHO", "FROM", "WHAT", "CHANGED"}, Drop: []string{"NUMBER", "FROM"}, Short: map[string]int{"WHO": 12}}
		for _, e := range page.Items {
			what := strings.TrimSpace(e.What + " " + e.Subject)
			if e.Status >= 400 {
				what += " (refused)"
			}
			t.Add(display.Plain(fmt.Sprint(e.Cursor)), display.Plain(e.At.Local().Format(time.DateTime)), display.Plain(harmless(cmp.Or(e.User, e.Via, "a stranger"))),
				display.Plain(harmless(e.From)), display.Plain(harmless(what)), display.Plain(harmless(changed(e.Before, e.After))))
		}
		if len(page.Items) == 0 {
			p.remark("nothing has been changed yet")
			return nil
		}
		if err := t.Write(p.out, p.screen()); err != nil {
			return err
		}
		if page.Next != 0 {
			p.remark("there is more: freshet user audit --before %d", page.Next)
		}
		return nil
	})
}

// auditLog returns the newest entries, at most so many; 0 means all.
func auditLog(ctx context.Context, c *connection, q client.AuditQuery, limit int) (all client.AuditPage, err error) {
	all.Items, err = upTo(limit, func(_, most int) ([]client.AuditEntry, bool, error) {
		q.Limit = most
		page, err := c.Audit(ctx, q)
		q.Before, all.Next = page.Next, page.Next
		return page.Items, page.Next != 0, err
	})
	return all, err
}

// changed says which fields were changed, from what to what.
func changed(before, after json.RawMessage) string {
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(before, &was) // what cannot be read has no fields
	_ = json.Unmarshal(after, &is)
	names := slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, of := range []map[string]json.RawMessage{was, is} {
			for name := range maps.Keys(of) {
				if !yield(name) {
					return
				}
			}
		}
	}))
	var said []string
	for _, name := range names {
		switch {
		case len(was) == 0:
			said = append(said, fmt.Sprintf("%s %s", name, is[name]))
		case len(is) == 0:
			said = append(said, fmt.Sprintf("%s was %s", name, was[name]))
		default:
			said = append(said, fmt.Sprintf("%s %s → %s", name, cmp.Or(string(was[name]), "-"), cmp.Or(string(is[name]), "-")))
		}
	}
	return strings.Join(said, ", ")
}
