package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// The primary is killed and its synchronous standby takes its place. A store whose URL names
// both goes on there: everything that was acknowledged is there, once, and the log has no gap.
func TestPrimaryIsReplaced(t *testing.T) {
	primary := pgtest.Start(t, "fsync=on")
	database := primary.Database(t)
	standby, err := primary.Follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Remove(); err != nil {
			t.Error(err)
		}
	})
	at, err := url.Parse(primary.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	at.Host, at.RawQuery = primary.Address+","+standby.Address, at.RawQuery+"&target_session_attrs=read-write"
	s := open(t, postgres.Config{URL: at.String(), Lease: 10 * time.Second})
	defer s.Close()
	if said := strings.Join(s.Warnings(), "\n"); strings.Contains(said, "synchronous standby") {
		t.Errorf("with a synchronous standby it warns: %s", said)
	}
	const sources, polls = 4, 20
	for i := range sources {
		add(t, s, freshet.SourceID(fmt.Sprintf("s%d", i)))
	}
	var done, refused atomic.Int32
	var polling sync.WaitGroup
	for i := range sources {
		polling.Go(func() {
			for n := 0; n < polls; {
				_, err := poll(s, freshet.SourceID(fmt.Sprintf("s%d", i)), n)
				switch {
				case err == nil:
					n++
					done.Add(1)
				case errors.Is(err, freshet.ErrStorage) && !errors.Is(err, freshet.ErrStoreFailed):
					refused.Add(1) // as of a disk that is full, and tried again
				default:
					t.Errorf("a poll is not recorded: %v", err)
					return
				}
			}
		})
	}
	kit.Until(t, "a quarter of the polls are recorded", func() bool { return done.Load() >= sources*polls/4 || t.Failed() })
	if err := errors.Join(primary.Kill(), standby.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	polling.Wait()
	gapless(t, s, sources*polls)
	t.Logf("%d polls were refused meanwhile", refused.Load())
}
