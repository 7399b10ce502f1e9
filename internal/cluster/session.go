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

// A session is a worker's connection to a leader.
type session struct {
	worker      *Worker
	stream      *stream
	lease       *lease
	leaseTime   time.Duration
	looker      worker.Looker
	definitions definitions // extraction settings of sources

	dismissed chan struct{} // capacity 1; the leader has no more tasks

	mu           sync.Mutex
	draining     bool
	running      map[uint64]context.CancelFunc // cancel functions by task ID
	questions    map[uint64]chan frame         // channels of unanswered questions
	lastQuestion uint64                        // number of the last question
	tasks        sync.WaitGroup
}

// handshake sends hello and handles the welcome.
func (s *session) handshake() error {
	cfg := s.worker.cfg
	if err := s.send(hello, 0, helloMessage{Version: version, Name: cfg.Name, Slots: cfg.Slots, Place: cfg.Place, Renders: cfg.Renders, Run: s.worker.runID}); err != nil {
		return err
	}
	f, err := s.stream.receive(nil)
	if err != nil {
		return err
	}
	var reply welcomeMessage
	if f.Kind != welcome {
		return fmt.Errorf("the leader sent %q before welcome", f.Kind)
	}
	if err := f.decode(&reply); err != nil {
		return err
	}
	if reply.Version != version {
		return refusal{fmt.Errorf("the leader speaks version %d of the protocol and this worker version %d: run the same version of freshet on both", reply.Version, version)}
	}
	if reply.Taken != "" {
		return freshet.WithHint(fmt.Errorf("another worker named %s is connected from %s", cfg.Name, reply.Taken), "give each worker a different --name")
	}
	if reply.Lease <= 0 {
		return errors.New("the leader sent a lease of zero")
	}
	s.leaseTime = reply.Lease
	s.looker, err = cfg.Open(Terms{Agent: reply.Agent, Total: reply.Total, CheckLease: s.lease.check})
	if err != nil {
		return refusal{err}
	}
	cfg.Log.Info("working for the leader", "epoch", reply.Epoch, "slots", cfg.Slots, "place", cfg.Place)
	return nil
}

// send sends a frame with the payload v.
func (s *session) send(k kind, id uint64, v any, blobs ...[]byte) error {
	f, err := newFrame(k, id, v, blobs...)
	if err != nil {
		return err
	}
	return s.stream.send(f)
}

// work carries out tasks until the leader is gone, or until ctx is done and the running tasks are
// complete.
func (s *session) work(ctx context.Context) error {
	// Running tasks complete within the grace after ctx is done.
	working, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errors.New("the worker has ended"))
	heard := make(chan error, 1)
	last := make(chan struct{}, 1)
	s.stream.onProgress = func() {
		select {
		case last <- struct{}{}:
		default:
		}
	}
	go func() { heard <- s.readFrames(working) }()
	tick := time.NewTicker(s.leaseTime / 10)
	defer tick.Stop()
	silent := time.NewTimer(s.leaseTime)
	defer silent.Stop()
	idle := make(chan struct{})
	var late <-chan time.Time
	stop, end := ctx.Done(), error(nil)
	leave := func() {
		stop = nil
		s.drain()
		late = time.After(s.worker.cfg.Grace)
		go func() { s.tasks.Wait(); close(idle) }()
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
			silent.Reset(s.leaseTime)
		case <-silent.C:
			select {
			case <-last: // the timer fired while a large frame arrived
				silent.Reset(s.leaseTime)
				continue
			default:
			}
			return fmt.Errorf("the leader was silent for %s", units.FormatDuration(s.leaseTime))
		case err := <-heard:
			return err
		case <-stop:
			leave()
		case <-s.dismissed:
			if end = errDrained; stop != nil {
				leave()
			}
		case <-idle:
			s.stream.flush()
			return end
		case <-late:
			return errors.New("some polls did not end in time and were canceled")
		}
	}
}

// drain accepts no more tasks and tells the leader.
func (s *session) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	_ = s.send(drain, 0, nil)
}

// ping requests a renewal of the lease.
func (s *session) ping() error {
	s.mu.Lock()
	busy := len(s.running)
	s.mu.Unlock()
	return s.send(ping, 0, pingMessage{At: s.lease.now(), Busy: busy})
}

// readFrames handles the frames of the leader until it is gone.
func (s *session) readFrames(ctx context.Context) error {
	for {
		f, err := s.stream.receive(nil)
		if err != nil {
			return err
		}
		s.stream.onProgress()
		switch f.Kind {
		case pong:
			var p pongMessage
			if err := f.decode(&p); err != nil {
				return err
			}
			s.lease.extend(p)
		case assign:
			if err := s.start(ctx, f); err != nil {
				return err
			}
		case answer:
			s.mu.Lock()
			reply := s.questions[f.Ask]
			delete(s.questions, f.Ask)
			s.mu.Unlock()
			if reply != nil {
				reply <- f
			}
		case cancel:
			s.mu.Lock()
			stop := s.running[f.ID]
			s.mu.Unlock()
			if stop != nil {
				stop()
			}
		case drain:
			select {
			case s.dismissed <- struct{}{}:
			default:
			}
		default: // from a newer version
		}
	}
}
