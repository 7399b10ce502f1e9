package migrate_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/features"
	"freshet/internal/store"
	"freshet/internal/store/migrate"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/pgtest"
	"freshet/internal/test/storetest"
)

// A yard is a PostgreSQL server whose schemas are stores, and are used again and again.
type yard struct {
	*pgtest.Server
	database string
	conn     *pgx.Conn

	made int
	free []string
}

func newYard(t testing.TB) *yard {
	y := &yard{Server: pgtest.Start(t, "fsync=on")}
	y.database = y.Database(t)
	y.conn = y.Connect(t, y.database)
	return y
}

// store returns the URL of a store that is not used any more, or of a new one.
func (y *yard) store(t testing.TB) string {
	if n := len(y.free); n > 0 {
		url := y.free[n-1]
		y.free = y.free[:n-1]
		return url
	}
	return y.fresh(t)
}

// fresh returns the URL of a store that is yet to be made.
func (y *yard) fresh(t testing.TB) string {
	y.made++
	name := fmt.Sprintf("store%d", y.made)
	if _, err := y.conn.Exec(context.Background(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return y.URL(y.database) + "&search_path=" + name
}

// abandon gives back a store, for others to be moved there.
func (y *yard) abandon(t testing.TB, at *traveller) {
	if at.away { // as if the move there had been cut off
		_, name, _ := strings.Cut(at.url, "search_path=")
		if _, err := y.conn.Exec(context.Background(), "INSERT INTO "+name+".moves (id, state, move, other, at) VALUES (1, 'incoming', 'x', 'x', 0) ON CONFLICT DO NOTHING"); err != nil {
			t.Error(err)
		}
	}
	y.free = append(y.free, at.url)
}

// A traveller is a store that is moved to the other kind of database whenever it is opened
// again.
type traveller struct {
	dir, url string
	away     bool // it is in PostgreSQL
}

// movedStoreIsTheSame runs the suite of all stores with one that moves to PostgreSQL, or
// back, whenever it is closed and opened again. Without FRESHET_MOVE=all it runs as much of
// it as puts rows into every table.
func movedStoreIsTheSame(t *testing.T, y *yard) {
	only, checks := []string{
		"account/accounts say of every reader what is on record",
		"evidence/what was said goes with the outcome",
		"beliefs/a belief about all sources together is there by itself",
		"users/a pass is found by its secret until it is removed, and goes with its user and its parent",
		"users/the audit log is read from its end, and its old entries are swept away without a number given twice",
		"shelf/a page comes back as it was found",
		"sinks/a sink is kept with its revision and its condition",
		"queries/a step in running queries is kept whole",
		"answers/an answer is kept under its key, and found after a restart",
		"bodies/any bytes are kept",
		"model",
	}, "2"
	if os.Getenv("FRESHET_MOVE") == "all" {
		only, checks = nil, "20"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	places, moves, filled := map[string]*traveller{}, 0, map[string]int64{}
	storetest.Run(t, func(t *testing.T, place string) storetest.Store {
		at := places[place]
		if at == nil {
			at = &traveller{dir: place}
			places[place] = at
			return opened(t, at)
		}
		cfg := migrate.Config{Features: features.All(), From: at.dir, Replace: true, Now: time.Now}
		if at.away {
			cfg.From, cfg.To = at.url, at.dir
		} else {
			if at.url == "" {
				at.url = y.store(t)
				t.Cleanup(func() { y.abandon(t, at) })
			}
			cfg.To = at.url
		}
		moved, err := migrate.Run(t.Context(), cfg)
		if err != nil {
			t.Fatalf("moving the store: %v", err)
		}
		at.away = !at.away
		moves++
		for _, table := range moved.Tables {
			filled[table.Name] += table.Rows
		}
		return opened(t, at)
	}, only...)
	t.Logf("%d moves: %v", moves, filled)
	for _, table := range store.NewSchema(features.All()).Tables() {
		if filled[table.Name] == 0 {
			t.Errorf("no row of %s was moved", table.Name)
		}
	}
}

func opened(t *testing.T, at *traveller) storetest.Store {
	t.Helper()
	if at.away {
		s, err := postgres.Open(context.Background(), postgres.Config{Features: features.All(), URL: at.url})
		if err != nil {
			t.Fatalf("opening the store: %v", err)
		}
		return s
	}
	s, err := sqlite.Open(context.Background(), sqlite.Config{Features: features.All(), Dir: at.dir})
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return s
}
