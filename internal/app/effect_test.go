package app_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

// A dry run of settings says what they would delete and what would be captured, changes
// nothing, and agrees with what the budget is said to bring.
func TestSettingsSayWhatTheyBring(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share = 0, 1, 1
	c, _, _ := serve(t, s, app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }})
	at, text := page(t)
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "a", URL: at}); err != nil {
		t.Fatal(err)
	}
	for i := range 8 { // the last polls begin after the last text is there, and so no other version comes
		text.Store(fmt.Sprintf("text %d\n", min(i, 5)))
		if _, err := c.Sources.Poll(t.Context(), "a", time.Minute, false); err != nil {
			t.Fatal(err)
		}
	}
	try := func(set map[string]string) client.SettingsEffect {
		t.Helper()
		told, err := c.EditSettings(t.Context(), client.SettingsEdit{Set: set, DryRun: true})
		if err != nil || told.Effect == nil {
			t.Fatalf("the dry run of %v says %+v, %v", set, told.Effect, err)
		}
		return *told.Effect
	}
	versions := func() int {
		t.Helper()
		found, err := c.Sources.Versions(t.Context(), "a", freshet.Between{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	stored := versions()

	if e := try(map[string]string{"log.level": "warn"}); len(e.Changed) != 1 || e.Drops != nil || e.Polling != nil {
		t.Errorf("another log level would bring %+v", e)
	}
	e := try(map[string]string{"keep.versions": "3"})
	if e.Drops == nil || e.Drops.Versions != stored-3 || e.Drops.Bytes <= 0 || e.Polling != nil {
		t.Errorf("of %d versions a bound of 3 would drop %+v", stored, e.Drops)
	}
	if n := versions(); n < stored {
		t.Errorf("a dry run left %d of %d versions", n, stored)
	}

	e = try(map[string]string{"budget": "10/h"})
	b, err := c.Budget(t.Context(), client.BudgetQuery{At: "10/h"})
	if err != nil || b.At == nil || e.Polling == nil {
		t.Fatalf("a budget of 10/h would bring %+v (%v)", e.Polling, err)
	}
	if got := e.Polling.Then; got.PollsPerDay != b.At.PollsPerDay || e.Polling.Now.PollsPerDay != b.Now.PollsPerDay || e.Drops != nil {
		t.Errorf("the settings foretell %+v, and the budget %+v", got, *b.At)
	}
	for key, value := range map[string]string{"hosts.delay": "6h", "source_gap": "6h"} {
		e = try(map[string]string{key: value})
		if e.Polling == nil || e.Polling.Then.SpentPerDay >= e.Polling.Now.SpentPerDay/2 {
			t.Errorf("%s=%s would bring %+v, want far fewer requests", key, value, e.Polling)
		}
	}
}
