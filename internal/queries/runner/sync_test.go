package runner_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/queries/runner"
)

func TestSync(t *testing.T) {
	inBubble(t, func(r *rig) {
		cheap := queries.Query{ID: "cheap", Name: "Cheap", When: "now.price < 10.0", Origin: freshet.FromFile}
		any := queries.Query{ID: "any", Name: "Any", Origin: freshet.FromFile}
		if _, err := r.queries.AddQuery(r.t.Context(), queries.Query{ID: "own", Name: "Own", Origin: freshet.FromAPI, From: -1}); err != nil {
			t.Fatal(err)
		}
		edited := cheap
		edited.Digest = queries.Digest{Count: 2}
		for i, step := range []struct {
			listed []queries.Query
			want   runner.Synced
			ids    string
		}{
			{[]queries.Query{cheap, any}, runner.Synced{Added: 2}, "any cheap own "},
			{[]queries.Query{any, cheap}, runner.Synced{Kept: 2}, "any cheap own "},
			{[]queries.Query{edited, any}, runner.Synced{Changed: 1, Kept: 1}, "any cheap own "},
			{[]queries.Query{{ID: "own", Name: "Now of the file"}}, runner.Synced{Changed: 1, Removed: 2}, "own "},
			{nil, runner.Synced{Removed: 1}, ""},
		} {
			time.Sleep(time.Second)
			got, err := r.runner.Sync(r.t.Context(), step.listed)
			if err != nil || got != step.want {
				t.Errorf("step %d does %+v, %v; want %+v", i, got, err, step.want)
			}
			all, err := r.queries.Queries(r.t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids := ""
			for _, q := range all {
				ids += string(q.ID) + " "
			}
			if ids != step.ids {
				t.Errorf("after step %d there are %s, want %s", i, ids, step.ids)
			}
		}
	})
}
