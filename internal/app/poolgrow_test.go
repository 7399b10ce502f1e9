package app_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/cluster/shards"
	"freshet/internal/cluster/shards/table"
	"freshet/internal/freshet"
	"freshet/internal/test/pgtest"
)

// A third daemon comes to two that share a budget. The pool makes room for it when they have stopped, the old ones
// poll on at once, the new one when it has its part, and all the time the server sees no more requests than the
// budget allows. Who still runs by the old number makes no more polls.
func TestPoolGrows(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	at := server.URL(server.Database(t))
	web := newPoolWeb(t, 3)
	var list []string
	for _, url := range web.url {
		for i := range 10 {
			list = append(list, fmt.Sprintf("%s/%d", url, i))
		}
	}
	first, second := shardSettings(t, at, "1/2", list...), shardSettings(t, at, "2/2", list...)
	if err := app.GrowPool(t.Context(), at, 3); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("a pool that is not there grows: %v", err)
	}
	_, _, stopOne := serve(t, first, app.ServeConfig{})
	_, _, stopTwo := serve(t, second, app.ServeConfig{})
	until(t, "both poll", func() bool { return web.count() > 40 })
	if err := app.GrowPool(t.Context(), at, 3); !errors.Is(err, freshet.ErrBusy) || freshet.HintOf(err) == "" {
		t.Errorf("the pool grows under daemons that run: %v", err)
	}
	stopOne()
	stopTwo()
	until(t, "the pool grows", func() bool { return app.GrowPool(t.Context(), at, 3) == nil })

	third := shardSettings(t, at, "3/3", list...)
	first.Shard, second.Shard = shards.Shard{Number: 1, Of: 3}, shards.Shard{Number: 2, Of: 3}
	one, _, stopOne := serve(t, first, app.ServeConfig{})
	defer stopOne()
	two, _, stopTwo := serve(t, second, app.ServeConfig{})
	defer stopTwo()
	three, _, stopThree := serve(t, third, app.ServeConfig{})
	defer stopThree()
	all := []*client.Client{one, two, three}
	until(t, "all sources are polled, and all of the budget is given out", func() bool {
		for _, c := range all {
			some, err := c.Sources(t.Context(), client.SourceQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range some {
				if s.Standing.LastSeen.IsZero() {
					return false
				}
			}
		}
		held, moving := partsOf(t, at)
		return !moving && held[0]+held[1]+held[2] == 10
	})
	if most := web.most(time.Second); most > 10 {
		t.Errorf("%d requests within a second, and the budget is 10/s", most)
	}

	table, err := table.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	err = table.Change(t.Context(), func(t *shards.Table, now time.Time) (*shards.Table, error) { return t, t.Grow(4, now) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		until(t, "who runs by the old number says so", func() bool {
			s, err := c.Status(t.Context())
			return err == nil && strings.Contains(s.Trouble, "the pool has 4 shards")
		})
	}
}
