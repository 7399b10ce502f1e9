package api_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab/synth"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// Levels that are not kept are told by status and metrics, within a minute.
func TestLevelAlarmIsTold(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		pages := synth.New(synth.Config{Start: time.Now(), Now: time.Now, Pages: []synth.Page{{ID: "page", Schedule: synth.Regular{Every: time.Hour}}}})
		page := pages.Sources()[0]
		page.Level = objective.ServiceLevel{Share: 0.9, Within: 10 * time.Second}
		if _, err := store.AddSource(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		daemon := daemon.New(daemon.Config{
			Store: store, Fetcher: pages, Policy: &policy.RoundRobin{}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}},
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := daemon.Run(ctx); err != nil {
				t.Errorf("the daemon ended with %v", err)
			}
		})
		defer running.Wait()
		defer stop()

		handler := api.New(api.Config{Auth: api.AuthConfig{Gate: insideGate(t, store)}, QueryStore: queries.NewStore(store.DB()), Store: store, Daemon: daemon, Sources: api.SourceConfig{Check: func(u string) (string, error) { return u, nil }}})
		get := func(path string) string {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
			return w.Body.String()
		}
		if before := get("/metrics"); !strings.Contains(before, "freshet_level_unmet 0") {
			t.Error("there is an alarm before anything was worked out")
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		var s client.Status
		if err := json.Unmarshal([]byte(get("/api/v1/status")), &s); err != nil {
			t.Fatal(err)
		}
		if s.Levels == nil || s.Levels.Set != 1 || s.Levels.Unmet != 1 || s.Levels.NeedPerDay <= s.Levels.BudgetPerDay {
			t.Errorf("the status says of the levels: %+v", s.Levels)
		}
		metrics := get("/metrics")
		for _, want := range []string{"freshet_level_sources 1", "freshet_level_unmet 1"} {
			if !strings.Contains(metrics, want) {
				t.Errorf("the metrics do not say %s", want)
			}
		}
	})
}
