//go:build unix

package torture

import (
	"bytes"
	"context"
	"iter"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A blankStore has lost all beliefs.
type blankStore struct{ freshet.Store }

// States yields none.
func (blankStore) States(context.Context, string) iter.Seq2[freshet.State, error] {
	return func(func(freshet.State, error) bool) {}
}

// checkLearnt holds what the daemon would take up at its next start against
// what the log of outcomes alone teaches. They are the same where the sources
// never changed.
func (e *episode) checkLearnt(ctx context.Context, store freshet.Store) {
	kept, err := e.learnt(ctx, store)
	replayed, err2 := e.learnt(ctx, blankStore{store})
	if err != nil || err2 != nil {
		e.violate("learning", "it cannot be taken up: %v, %v", err, err2)
		return
	}
	e.report.checked("learning", 1)
	if !bytes.Equal(kept, replayed) || len(kept) == 0 {
		e.violate("learning", "what was learnt and kept (%d bytes) is not what the log teaches (%d bytes)", len(kept), len(replayed))
	}
}

// learnt returns what a daemon thinks that starts on a store and stops before
// its first poll.
func (e *episode) learnt(ctx context.Context, store freshet.Store) (bits []byte, err error) {
	chosen, learner, err := policy.Wire("auto", policy.InDaemon("auto", e.settings.budget, len(e.settings.sources)))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := daemon.New(daemon.Config{Store: store, Policy: chosen, Learner: learner, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 24 * time.Hour}}})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-d.Started():
	case err := <-ended:
		return nil, err
	}
	stop()
	if err := <-ended; err != nil {
		return nil, err
	}
	err = learner.Save(func(_ freshet.Slot, memory []byte) error {
		bits = append(bits, memory...)
		return nil
	})
	return bits, err
}
