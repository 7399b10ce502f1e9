package main

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
)

// troubledStore makes a store in which something is wrong with every source, and
// returns its directory: one is noisy, two are suspect, one fails, one was removed.
func troubledStore(t *testing.T) string {
	t.Helper()
	g := newPast(t)
	defer g.close()
	g.add(freshet.Source{ID: "clock", URL: "https://clock.example/", Name: "The time", Created: noon.Add(-2 * time.Hour)})
	g.add(freshet.Source{ID: "member", URL: "https://club.example/member"})
	g.add(freshet.Source{ID: "blank", URL: "https://blank.example/a-page-with-a-long-path-that-has-lost-all-of-its-text-since-yesterday"})
	g.add(freshet.Source{ID: "down", URL: "https://down.example/"})
	g.add(freshet.Source{ID: "old", URL: "https://old.example/"})
	at := func(i int) string { return fmt.Sprintf("# Clocks\nIt is now 10:%02d:00\nWe sell all kinds.\n", i) }
	for i := range 12 {
		g.saw("clock", time.Duration(115-i*9)*time.Minute, "The time", at(i))
	}
	g.saw("member", 5*time.Hour, "Members", "# Members\nWelcome back\n")
	g.landed("member", 30*time.Minute, "Log in", "# Log in\nName\nPassword\n", suspect.Login, "https://club.example/login?next=/member")
	g.saw("blank", 6*time.Hour, "A page", "It had a text\n")
	g.landed("blank", 20*time.Minute, "A page", "", suspect.Empty, "")
	g.failed("down", time.Hour, "dial.timeout", "down.example:443 did not accept a connection within 10s")
	g.saw("old", 40*time.Hour, "Old news", "# Old news\n")
	g.ok(g.store.RemoveSource(t.Context(), "old", false))
	return g.dir
}

// TestGoldenTrouble is TestGolden for what goes wrong: sources in trouble, empty
// stores, and mistakes on the command line.
func TestGoldenTrouble(t *testing.T) {
	inZone(t)
	stores := map[string]map[string]string{
		"small":    {"FRESHET_DATA": goldenStore(t)},
		"troubled": {"FRESHET_DATA": troubledStore(t)},
		"empty":    {"FRESHET_DATA": t.TempDir()},
	}
	for _, tt := range []struct {
		name, store, line string
		code              int
	}{
		{"show-noisy", "troubled", "show clock", 0},
		{"show-suspect", "troubled", "show member", 0},
		{"show-empty-text", "troubled", "show blank", 0},
		{"show-removed", "troubled", "show old", 0},
		{"show-unknown", "small", "show nope", exitNotFound},
		{"status-troubled", "troubled", "status", exitError},
		{"status-empty", "empty", "status", exitError},
		{"history-suspect", "troubled", "history member", 0},
		{"history-none", "small", "history x7k2m9q4tz", 0},
		{"changes-suspect", "troubled", "changes member --diff", 0},
		{"changes-none", "small", "changes x7k2m9q4tz", 0},
		{"changes-cursor", "small", "changes --after 99~elsewhere", exitNotFound},
		{"diff-one", "small", "diff later", exitNotFound},
		{"diff-none", "small", "diff x7k2m9q4tz", exitNotFound},
		{"diff-number", "small", "diff kettle one", exitUsage},
		{"cat", "small", "cat kettle", 0},
		{"cat-unknown", "small", "cat kettle 99", exitNotFound},
		{"log-failed", "small", "history log --failed", 0},
		{"log-source", "troubled", "history log clock -n 3", 0},
		{"log-none", "small", "history log x7k2m9q4tz", 0},
		{"egress-allowed", "empty", "check egress https://news.example/today --resolve news.example=93.184.215.14,2606:2800:21f:cb07:6820:80da:af6b:8b2c", 0},
		{"egress-denied", "empty", "check egress http://intranet.example/wiki/Main_Page --resolve intranet.example=10.1.2.3", exitDenied},
		{"edit-no-number", "small", "edit kettle --weight much", exitUsage},
		{"log-follow", "small", "history log --follow", exitError},
		{"pause", "small", "pause kettle", 0},
		{"pause-tag", "small", "pause --tag shop", 0},
		{"pause-removed", "troubled", "pause old", exitNotFound},
		{"resume", "small", "resume kettle", 0},
		{"edit", "small", "edit kettle --weight 2", 0},
		{"edit-nothing", "small", "edit kettle", exitUsage},
		{"edit-wrong", "small", "edit kettle --min-gap soon", exitUsage},
		{"edit-contradiction", "small", "edit kettle --min-gap 2h --max-gap 1h", exitUsage},
		{"remove-dry", "small", "remove --tag shop --dry-run", 0},
		{"add-twice", "small", "add https://news.example/", exitConflict},
		{"add-id-taken", "small", "add https://other.example/ --id kettle", exitConflict},
		{"add-wrong-url", "small", "add news.example", exitUsage},
		{"add-private", "small", "add http://10.0.0.1/", exitUsage},
		{"check", "empty", "check --config testdata/golden/good.yaml", 0},
		{"check-wrong", "empty", "check --config testdata/golden/wrong.yaml", exitUsage},
		{"check-missing", "empty", "check --config testdata/golden/missing.yaml", exitUsage},
		{"lab-compare", "empty", "lab compare testdata/golden/trace.csv --policy uniform,wic --budget 1,2", 0},
		{"lab-replay", "empty", "lab replay --trace testdata/golden/trace.csv --policy uniform --budget 1", 0},
		{"lab-wrong-policy", "empty", "lab compare testdata/golden/trace.csv --policy best --budget 1", exitUsage},
		{"plan", "empty", "lab plan --trace testdata/golden/trace.csv --page a --period 15m --polls 2", 0},
		{"unknown-verb", "empty", "lsit", exitUsage},
		{"unknown-flag", "empty", "serve --bugdet 1/s", exitUsage},
		{"wrong-budget", "empty", "serve --budget lots", exitUsage},
		{"wrong-policy", "empty", "serve --policy best", exitUsage},
		{"too-few", "empty", "show", exitUsage},
		{"both", "small", "pause kettle --tag shop", exitUsage},
		{"watch-data", "empty", "watch --data x https://example.com/", exitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goldenRun(t, tt.name, tt.line, tt.code, func() map[string]string { return stores[tt.store] })
		})
	}
	for _, tt := range []struct {
		name  string
		store func(*testing.T) string
		line  string
	}{
		{"add", goldenStore, "add https://shop.example/pans --id pans --tag shop"},
		{"add-again", troubledStore, "add https://old.example/"},
		{"add-anew", troubledStore, "add https://old.example/ --id young"},
		{"remove", goldenStore, "remove kettle"},
		{"remove-purge", goldenStore, "remove --purge kettle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goldenRun(t, tt.name, tt.line, 0, func() map[string]string { return map[string]string{"FRESHET_DATA": tt.store(t)} })
		})
	}
}
