package queries_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/queries"
)

// Noise is heard of from polls, because no change is told of it; whoever rules it out hears
// of changes.
func TestNoise(t *testing.T) {
	e, err := queries.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	for id, when := range map[queries.ID]string{
		"noise": "noise", "of-shops": `noise && "shop" in source.tags`, "wrong-page": "poll.ok && suspect", "changes": `!noise && added.contains("sale")`, "all": "!noise", "either": `noise || added.contains("sale")`,
	} {
		if err := e.Put(queries.Query{ID: id, Name: string(id), When: when}); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	subject := queries.Subject{ID: "a", Label: freshet.Label{Tags: []string{"shop"}}}
	for i, step := range []struct {
		outcome freshet.Outcome
		added   string
		want    string
	}{
		{outcome: freshet.Outcome{Result: freshet.Unchanged}},
		{outcome: freshet.Outcome{Result: freshet.Unchanged, Quiet: freshet.QuietNoise}, want: "noise of-shops "},
		{outcome: freshet.Outcome{Result: freshet.Unchanged, Quiet: freshet.QuietNoise}}, // it goes on
		{outcome: freshet.Outcome{Result: freshet.Unchanged}},
		{outcome: freshet.Outcome{Result: freshet.Unchanged, Quiet: freshet.QuietNoise}, want: "noise of-shops "},
		{outcome: freshet.Outcome{Result: freshet.Unchanged, Suspect: suspect.Empty}, want: "wrong-page "},
		{added: "a sale", want: "all changes either "},
		{added: "nothing", want: "all "},
	} {
		at = at.Add(time.Minute)
		event := queries.Event{Subject: subject}
		if step.added != "" {
			event.Change = &freshet.Change{Cursor: freshet.Cursor(i + 1), Source: "a", Seq: i + 1, After: at.Add(-time.Second), Before: at}
			event.Content.Added = step.added
		} else {
			step.outcome.Cursor, step.outcome.Source, step.outcome.Began, step.outcome.Ended = freshet.Cursor(i+1), "a", at, at
			event.Outcome = &step.outcome
		}
		matched := map[queries.ID]bool{}
		for _, m := range e.Observe(event) {
			matched[m.Query] = true
		}
		got := ""
		for _, id := range []queries.ID{"all", "changes", "either", "noise", "of-shops", "wrong-page"} {
			if matched[id] {
				got += fmt.Sprint(id, " ")
			}
		}
		if got != step.want {
			t.Errorf("step %d is a match of %q, want %q", i, got, step.want)
		}
	}
	rep, err := queries.Check(queries.Query{Name: "x", When: `noise || added.contains("sale")`}, nil)
	if err != nil || len(rep.Warnings) != 1 {
		t.Errorf("that noise is never true of a change is told as %q, %v", rep.Warnings, err)
	}
}
