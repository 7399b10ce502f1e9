package cluster

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// begin carries out a task, unless the worker slept over it or takes no more.
func (s *session) begin(ctx context.Context, f frame) error {
	say, err := s.heard.task(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.draining || s.lease.check() != nil {
		s.mu.Unlock()
		_ = s.say(refused, f.ID, nil)
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	s.looks[f.ID] = stop
	s.working.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.working.Done()
		defer stop()
		err := s.carryOut(ctx, f.ID, say)
		s.mu.Lock()
		delete(s.looks, f.ID)
		s.mu.Unlock()
		if err != nil {
			s.worker.cfg.Log.Warn("what a look found could not be told to the leader", "err", err)
			s.stream.close() // the leader must not wait for it
		}
	}()
	return nil
}

// tell tells the leader what a look found.
func (s *session) tell(id uint64, found worker.Result) error {
	f, err := newDone(id, found)
	if err != nil {
		return err
	}
	return s.stream.send(f)
}

// carryOut makes a look and tells what it found.
func (s *session) carryOut(ctx context.Context, id uint64, say *taskMessage) error {
	l := &remoteTask{session: s, id: id, granted: say.Granted}
	o, err := l.task(say, 0)
	if err != nil {
		return s.tell(id, o.Fail(&freshet.FetchError{Class: failure.LocalHand, Err: err}))
	}
	if s.worker.cfg.Room != nil {
		hold, free := s.worker.cfg.Room()
		defer free()
		o.Room = hold
	}
	o.Permit, o.Slow = l.permit, l.slow
	if say.Robots != "" {
		m, err := s.looker.Robots(ctx, o, say.Robots)
		if l.unbegun || l.unsent(m.Requests, err) {
			return s.say(refused, id, nil)
		}
		if err != nil && ctx.Err() != nil {
			err = cutOff(ctx)
		}
		body := m.Answer.Body
		m.Answer.Body = nil
		return s.say(done, id, doneMessage{Manners: &robotsMessage{Answer: m.Answer, RetryAfter: m.RetryAfter, Requests: m.Requests, Bytes: m.Bytes, Err: newErrorMessage(err)}}, body)
	}
	found := s.looker.Look(ctx, o)
	if l.unbegun || l.unsent(found.Requests, &freshet.FetchError{Class: found.Failure}) {
		return s.say(refused, id, nil)
	}
	if found.Result == freshet.Failed && ctx.Err() != nil { // which says nothing about the source
		requests := found.Requests
		found = o.Fail(cutOff(ctx))
		found.Requests = requests
	}
	return s.tell(id, found)
}

// cutOff says why a look was given up that the leader may still wait for.
func cutOff(ctx context.Context) error {
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("the look was given up: %w", context.Cause(ctx))}
}

// A remoteTask is a task that came from the leader.
type remoteTask struct {
	*session
	id      uint64
	granted string // the URL of the first request, until it has been asked for
	unbegun bool   // not even the first request could leave
	leaves  int    // requests that were permitted, but for parts
}

// unsent reports whether the first request was permitted and not sent, because the right ended before it was.
func (l *remoteTask) unsent(requests int, err error) bool {
	failed, ok := errors.AsType[*freshet.FetchError](err)
	return ok && failed.Class.Is(failure.LocalUnsure) && requests == 0 && l.leaves == 1
}

// permit returns when a request may be sent.
func (l *remoteTask) permit(ctx context.Context, hop freshet.Hop) error {
	if !hop.Part {
		l.leaves++
	}
	if err := l.lease.check(); err != nil {
		l.unbegun = l.granted != ""
		return err
	}
	if l.granted == hop.URL && !hop.Part && !hop.Aside {
		l.granted = ""
		return nil
	}
	if !hop.Part {
		l.granted = "" // the way is another one than the leader thought
	}
	if _, _, err := l.ask(ctx, question{What: askPermit, Hop: &hop}); err != nil {
		return err
	}
	return l.lease.check() // it may have taken long
}

// slow tells the leader that the server is slow.
func (l *remoteTask) slow(seen bool) {
	if f, err := newFrame(slow, l.id, seen); err == nil {
		_ = l.stream.send(f)
	}
}

// errCutOff is what a question gets whose leader is gone.
var errCutOff = errors.New("the leader is gone")

// ask asks the leader something about the task.
func (l *remoteTask) ask(ctx context.Context, q question) (answerMessage, []byte, error) {
	f, err := newFrame(ask, l.id, q)
	if err != nil {
		return answerMessage{}, nil, err
	}
	reply := make(chan frame, 1)
	l.mu.Lock()
	l.next++
	f.Ask = l.next
	l.asks[f.Ask] = reply
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.asks, f.Ask)
		l.mu.Unlock()
	}()
	if l.stream.send(f) != nil {
		l.stream.close()
		return answerMessage{}, nil, errCutOff
	}
	select {
	case f := <-reply:
		var say answerMessage
		if err := f.hear(&say); err != nil {
			return say, nil, err
		}
		var blob []byte
		if len(f.blobs) > 0 {
			blob = f.blobs[0]
		}
		return say, blob, say.Err.error()
	case <-ctx.Done():
		return answerMessage{}, nil, context.Cause(ctx)
	}
}

// A remoteHistory asks the leader for the history of a source. It implements
// [worker.History].
type remoteHistory struct {
	task   *remoteTask
	shared int // place among the shared tasks, from 1; 0 is the task itself
}

func (h remoteHistory) ask(ctx context.Context, q question) (answerMessage, []byte, error) {
	q.Shared = h.shared
	return h.task.ask(ctx, q)
}

// bytes asks for bytes.
func (h remoteHistory) bytes(ctx context.Context, what questionKind) ([]byte, error) {
	_, blob, err := h.ask(ctx, question{What: what})
	return blob, err
}

func (h remoteHistory) Text(ctx context.Context) ([]byte, error)  { return h.bytes(ctx, askText) }
func (h remoteHistory) Body(ctx context.Context) ([]byte, error)  { return h.bytes(ctx, askBody) }
func (h remoteHistory) Items(ctx context.Context) ([]byte, error) { return h.bytes(ctx, askItems) }
func (h remoteHistory) Noise(ctx context.Context) ([]byte, error) { return h.bytes(ctx, askNoise) }

func (h remoteHistory) QuarantinedText(ctx context.Context) ([]byte, error) {
	return h.bytes(ctx, askQuarantinedText)
}

func (h remoteHistory) LearnNoise(ctx context.Context) (*noise.Memory, error) {
	blob, err := h.bytes(ctx, askLearnNoise)
	if err != nil {
		return nil, err
	}
	m := new(noise.Memory)
	return m, m.UnmarshalBinary(blob)
}

func (h remoteHistory) Fields(ctx context.Context) (freshet.Fields, error) {
	said, _, err := h.ask(ctx, question{What: askFields})
	return said.Fields, err
}

func (h remoteHistory) VersionsWith(ctx context.Context, text freshet.Hash) ([]freshet.Version, error) {
	said, _, err := h.ask(ctx, question{What: askVersions, Text: text})
	return said.Recent, err
}

func (h remoteHistory) PageKeys(ctx context.Context, urls []string) ([]crawl.PageKey, error) {
	said, _, err := h.ask(ctx, question{What: askKeys, URLs: urls})
	return said.Keys, err
}

// task returns a task as a worker takes it; shared is its place among the shared tasks,
// from 1.
func (l *remoteTask) task(say *taskMessage, shared int) (t worker.Task, err error) {
	t = worker.Task{Head: say.Head, At: say.At, Hints: say.Hints, History: remoteHistory{l, shared}}
	if t.Source, err = say.source(); err != nil {
		return t, err
	}
	for i := range say.Shared {
		one, err := l.task(&say.Shared[i], i+1)
		if err != nil {
			return t, err
		}
		t.Shared = append(t.Shared, one)
	}
	return t, nil
}
