package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/units"
	"freshet/internal/worker"
)

// A session is the time that a worker works for a leader without a break.
type session struct {
	worker  *Worker
	stream  *stream
	lease   *lease
	silence time.Duration
	looker  worker.Looker
	heard   definitions // of how sources are read

	unwanted chan struct{} // holds one: the leader has no more tasks

	mu       sync.Mutex
	draining bool
	looks    map[uint64]context.CancelFunc // under way
	asks     map[uint64]chan frame         // unanswered
	next     uint64                        // question
	working  sync.WaitGroup
}

// greet says who comes, and hears how things are done here.
func (s *session) greet() error {
	cfg := s.worker.cfg
	if err := s.say(hello, 0, helloMessage{Version: version, Name: cfg.Name, Slots: cfg.Slots, Place: cfg.Place, Renders: cfg.Renders, Run: s.worker.run}); err != nil {
		return err
	}
	f, err := s.stream.receive(nil)
	if err != nil {
		return err
	}
	var said welcomeMessage
	if f.Kind != welcome {
		return fmt.Errorf("the leader said %q before welcome", f.Kind)
	}
	if err := f.hear(&said); err != nil {
		return err
	}
	if said.Version != version {
		return refusal{fmt.Errorf("the leader speaks version %d of the protocol, and this worker %d: run the same version of freshet on both", said.Version, version)}
	}
	if said.Taken != "" {
		return freshet.WithHint(fmt.Errorf("another worker of the name %s is at work, from %s", cfg.Name, said.Taken), "give each worker a name of its own with --name")
	}
	if said.Lease <= 0 {
		return errors.New("the leader gives no lease")
	}
	s.silence = said.Lease
	s.looker, err = cfg.Open(Terms{Agent: said.Agent, Total: said.Total, May: s.lease.check})
	if err != nil {
		return refusal{err}
	}
	cfg.Log.Info("working for the leader", "epoch", said.Epoch, "slots", cfg.Slots, "place", cfg.Place)
	return nil
}

// say sends something.
func (s *session) say(k kind, id uint64, v any, blobs ...[]byte) error {
	f, err := newFrame(k, id, v, blobs...)
	if err != nil {
		return err
	}
	return s.stream.send(f)
}

// work carries out tasks until the leader is gone, or ctx is done and what was begun is over.
func (s *session) work(ctx context.Context) error {
	// Looks end by themselves when ctx is done, within the grace.
	working, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errors.New("the worker has ended"))
	heard := make(chan error, 1)
	last := make(chan struct{}, 1)
	s.stream.moved = func() {
		select {
		case last <- struct{}{}:
		default:
		}
	}
	go func() { heard <- s.listen(working) }()
	tick := time.NewTicker(s.silence / 10)
	defer tick.Stop()
	silent := time.NewTimer(s.silence)
	defer silent.Stop()
	idle := make(chan struct{})
	var late <-chan time.Time
	stop, end := ctx.Done(), error(nil)
	leave := func() {
		stop = nil
		s.drain()
		late = time.After(s.worker.cfg.Grace)
		go func() { s.working.Wait(); close(idle) }()
	}
	if err := s.ping(); err != nil {
		return err
	}
	for {
		select {
		case <-tick.C:
			if err := s.ping(); err != nil {
				return err
			}
		case <-last:
			silent.Reset(s.silence)
		case <-silent.C:
			select {
			case <-last: // a ping had to wait for something large
				silent.Reset(s.silence)
				continue
			default:
			}
			return fmt.Errorf("the leader was silent for %s", units.FormatDuration(s.silence))
		case err := <-heard:
			return err
		case <-stop:
			leave()
		case <-s.unwanted:
			if end = errDrained; stop != nil {
				leave()
			}
		case <-idle:
			s.stream.settle()
			return end
		case <-late:
			return errors.New("some looks did not end in time and were cut off")
		}
	}
}

// drain takes no more tasks.
func (s *session) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	_ = s.say(drain, 0, nil)
}

// ping asks for the right to begin requests.
func (s *session) ping() error {
	s.mu.Lock()
	busy := len(s.looks)
	s.mu.Unlock()
	return s.say(ping, 0, pingMessage{At: s.lease.now(), Busy: busy})
}

// listen hears what the leader says until it is gone.
func (s *session) listen(ctx context.Context) error {
	for {
		f, err := s.stream.receive(nil)
		if err != nil {
			return err
		}
		s.stream.moved()
		switch f.Kind {
		case pong:
			var p pongMessage
			if err := f.hear(&p); err != nil {
				return err
			}
			s.lease.give(p)
		case order:
			if err := s.begin(ctx, f); err != nil {
				return err
			}
		case answer:
			s.mu.Lock()
			reply := s.asks[f.Ask]
			delete(s.asks, f.Ask)
			s.mu.Unlock()
			if reply != nil {
				reply <- f
			}
		case cancel:
			s.mu.Lock()
			stop := s.looks[f.ID]
			s.mu.Unlock()
			if stop != nil {
				stop()
			}
		case drain:
			select {
			case s.unwanted <- struct{}{}:
			default:
			}
		default: // of a later version
		}
	}
}
