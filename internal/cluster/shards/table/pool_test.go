package table_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/cluster/shards"
	"freshet/internal/cluster/shards/table"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/pgtest"
)

var budget = sched.Budget{Polls: 60, Per: time.Minute}

func open(t *testing.T, url string) *table.Pool {
	t.Helper()
	p, err := table.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Many who change the table at once change it one after the other, from the first time on.
func TestChangesOneByOne(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL(server.Database(t))
	if table, _, err := open(t, url).Table(t.Context()); table != nil || err != nil {
		t.Fatalf("there is a table already: %v, %v", table, err)
	}
	const many, times = 8, 5
	var crew sync.WaitGroup
	for range many {
		crew.Go(func() {
			p := open(t, url)
			for range times {
				err := p.Change(t.Context(), func(table *shards.Table, now time.Time) (*shards.Table, error) {
					if table == nil {
						return shards.NewTable(budget, 3, now)
					}
					table.Version++
					return table, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	crew.Wait()
	table, now, err := open(t, url).Table(t.Context())
	if err != nil || table.Version != many*times || time.Since(now).Abs() > time.Minute {
		t.Errorf("the table is %+v at %v, %v; want version %d", table, now, err, many*times)
	}
}

// A change that is refused changes nothing, and a database that comes back is found again.
func TestNothingIsChanged(t *testing.T) {
	server := pgtest.Start(t)
	p := open(t, server.URL(server.Database(t)))
	no := errors.New("no")
	make := func(table *shards.Table, now time.Time) (*shards.Table, error) {
		return shards.NewTable(budget, 2, now)
	}
	if err := p.Change(t.Context(), func(*shards.Table, time.Time) (*shards.Table, error) { return nil, no }); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	if table, _, err := p.Table(t.Context()); table != nil || err != nil {
		t.Errorf("the table is %v, %v", table, err)
	}
	if err := p.Change(t.Context(), make); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	if err := p.Change(t.Context(), make); err == nil || freshet.HintOf(err) == "" {
		t.Errorf("without a database the error is %v, hint %q", err, freshet.HintOf(err))
	}
	server.Resume(t)
	if table, _, err := p.Table(t.Context()); err != nil || len(table.Seats) != 2 {
		t.Errorf("the table is %v, %v", table, err)
	}
}

// One who is stopped while it changes the table holds up the others for a moment only, and
// changes nothing when it goes on.
func TestAStoppedOneIsCutOff(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL(server.Database(t))
	first, second := open(t, url), open(t, url)
	holds, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- first.Change(context.WithoutCancel(t.Context()), func(_ *shards.Table, now time.Time) (*shards.Table, error) {
			close(holds)
			<-goOn
			return shards.NewTable(budget, 7, now)
		})
	}()
	<-holds
	change := func(_ *shards.Table, now time.Time) (*shards.Table, error) { return shards.NewTable(budget, 3, now) }
	var err error
	for range 5 {
		if err = second.Change(t.Context(), change); err == nil {
			break
		}
	}
	close(goOn)
	if err != nil {
		t.Errorf("the second one is never let in: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the first one changed the table although it was cut off")
	}
	if table, _, err := second.Table(t.Context()); err != nil || len(table.Seats) != 3 {
		t.Errorf("the table is %+v, %v", table, err)
	}
}

func TestStrangeTables(t *testing.T) {
	server := pgtest.Start(t)
	for document, want := range map[string]string{
		`{"format": 2, "table": {}}`: "newer version",
		`{"format": 1`:               "cannot be read",
		`{}`:                         "cannot be read",
	} {
		name := server.Database(t)
		conn := server.Connect(t, name)
		if _, err := conn.Exec(t.Context(), "CREATE TABLE freshet_pool (id SMALLINT PRIMARY KEY, document TEXT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "INSERT INTO freshet_pool VALUES (1, $1)", document); err != nil {
			t.Fatal(err)
		}
		p := open(t, server.URL(name))
		err := p.Change(t.Context(), func(*shards.Table, time.Time) (*shards.Table, error) { return shards.NewTable(budget, 3, time.Now()) })
		if err == nil || !strings.Contains(err.Error(), want) || freshet.HintOf(err) == "" {
			t.Errorf("%s: the error is %v, hint %q", document, err, freshet.HintOf(err))
		}
		var after string
		if err := conn.QueryRow(t.Context(), "SELECT document FROM freshet_pool").Scan(&after); err != nil || after != document {
			t.Errorf("%s is %s now, %v", document, after, err)
		}
	}
}

func TestPasswordsAreNotTold(t *testing.T) {
	if _, err := table.Open("postgres://me:hunter2@host:notaport/db"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
	p := open(t, "postgres://me:hunter2@127.0.0.1:1/db")
	_, _, err := p.Table(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("the error is %v", err)
	}
}
