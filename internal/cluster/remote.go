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

// start carries out a task, or refuses it if the lease is over or the worker is draining.
func (s *session) start(ctx context.Context, f frame) error {
	m, err := s.definitions.decodeTask(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.draining || s.lease.check() != nil {
		s.mu.Unlock()
		_ = s.send(refused, f.ID, nil)
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	s.running[f.ID] = stop
	s.tasks.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.tasks.Done()
		defer stop()
		err := s.run(ctx, f.ID, m)
		s.mu.Lock()
		delete(s.running, f.ID)
		s.mu.Unlock()
		if err != nil {
			s.worker.cfg.Log.Warn("sending the result of a task failed", "err", err)
			s.stream.close() // otherwise the leader would wait for it
		}
	}()
	return nil
}

// sendResult sends the result of a task to the leader.
func (s *session) sendResult(id uint64, found worker.Result) error {
	f, err := newResultFrame(id, found)
	if err != nil {
		return err
	}
	return s.stream.send(f)
}

// run carries out a task and sends the result.
func (s *session) run(ctx context.Context, id uint64, m *taskMessage) error {
	l := &remoteTask{session: s, id: id, permittedURL: m.Granted}
	o, err := l.task(m, 0)
	if err != nil {
		return s.sendResult(id, o.Fail(&freshet.FetchError{Class: failure.LocalHand, Err: err}))
	}
	if s.worker.cfg.Room != nil {
		hold, free := s.worker.cfg.Room()
		defer free()
		o.Room = hold
	}
	o.Permit, o.Slow = l.permit, l.slow
	if m.Robots != "" {
		r, err := s.looker.Robots(ctx, o, m.Robots)
		if l.notStarted || l.unsent(r.Requests, err) {
			return s.send(refused, id, nil)
		}
		if err != nil && ctx.Err() != nil {
			err = interrupted(ctx)
		}
		body := r.Answer.Body
		r.Answer.Body = nil
		return s.send(done, id, doneMessage{Robots: &robotsMessage{Answer: r.Answer, RetryAfter: r.RetryAfter, Requests: r.Requests, Bytes: r.Bytes, Err: newErrorMessage(err)}}, body)
	}
	found := s.looker.Look(ctx, o)
	if l.notStarted || l.unsent(found.Requests, &freshet.FetchError{Class: found.Failure}) {
		return s.send(refused, id, nil)
	}
	if found.Result == freshet.Failed && ctx.Err() != nil { // the failure says nothing about the source
		requests := found.Requests
		found = o.Fail(interrupted(ctx))
		found.Requests = requests
	}
	return s.sendResult(id, found)
}

// interrupted returns the error of a task that was canceled.
func interrupted(ctx context.Context) error {
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("the poll was canceled: %w", context.Cause(ctx))}
}

// A remoteTask is a task from the leader.
type remoteTask struct {
	*session
	id           uint64
	permittedURL string // URL of the first request, until it is requested
	notStarted   bool   // not even the first request could be sent
	permits      int    // permitted requests without subresources
}

// unsent reports whether the lease ended after the first request was permitted and before it was
// sent.
func (l *remoteTask) unsent(requests int, err error) bool {
	failed, ok := errors.AsType[*freshet.FetchError](err)
	return ok && failed.Class.Is(failure.LocalUnsure) && requests == 0 && l.permits == 1
}

// permit waits until a request may be sent.
func (l *remoteTask) permit(ctx context.Context, hop freshet.Hop) error {
	if !hop.Part {
		l.permits++
	}
	if err := l.lease.check(); err != nil {
		l.notStarted = l.permittedURL != ""
		return err
	}
	if l.permittedURL == hop.URL && !hop.Part && !hop.Aside {
		l.permittedURL = ""
		return nil
	}
	if !hop.Part {
		l.permittedURL = "" // the poll begins with another URL than the leader expected
	}
	if _, _, err := l.ask(ctx, question{What: askPermit, Hop: &hop}); err != nil {
		return err
	}
	return l.lease.check() // the answer may have taken long
}

// slow tells the leader whether the server is slow.
func (l *remoteTask) slow(seen bool) {
	if f, err := newFrame(slow, l.id, seen); err == nil {
		_ = l.stream.send(f)
	}
}

// errLeaderGone is the error of a question that was not answered.
var errLeaderGone = errors.New("the leader is gone")

// ask sends a question about the task to the leader and waits for the answer.
func (l *remoteTask) ask(ctx context.Context, q question) (answerMessage, []byte, error) {
	f, err := newFrame(ask, l.id, q)
	if err != nil {
		return answerMessage{}, nil, err
	}
	answered := make(chan frame, 1)
	l.mu.Lock()
	l.lastQuestion++
	f.Ask = l.lastQuestion
	l.questions[f.Ask] = answered
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.questions, f.Ask)
		l.mu.Unlock()
	}()
	if l.stream.send(f) != nil {
		l.stream.close()
		return answerMessage{}, nil, errLeaderGone
	}
	select {
	case f := <-answered:
		var reply answerMessage
		if err := f.decode(&reply); err != nil {
			return reply, nil, err
		}
		var blob []byte
		if len(f.blobs) > 0 {
			blob = f.blobs[0]
		}
		return reply, blob, reply.Err.error()
	case <-ctx.Done():
		return answerMessage{}, nil, context.Cause(ctx)
	}
}

// A remoteHistory requests the history of a source from the leader. It implements [worker.History].
type remoteHistory struct {
	task   *remoteTask
	shared int // place among the shared tasks, from 1; 0 is the task itself
}

func (h remoteHistory) ask(ctx context.Context, q question) (answerMessage, []byte, error) {
	q.Shared = h.shared
	return h.task.ask(ctx, q)
}

// bytes asks a question whose answer is a blob.
func (h remoteHistory) bytes(ctx context.Context, what questionKind) ([]byte, error) {
	_, blob, err := h.ask(ctx, question{What: what})
	return blob, err
}

func (h remoteHistory) Text(ctx context.Context) ([]byte, error)  { return h.bytes(ctx, askText) }
func (h remoteHistory) Body(ctx context.Context) ([]byte, error)  { return h.bytes(ctx, askBody) }
func (h remoteHistory) Items(ctx context.Context) ([]byte, error) { return h.bytes(ctx, askItems) }
func (h remoteHistory) Noise(ctx context.Context) ([]byte, error) { return h.bytes(ctx, askNoise) }

func (h remoteHistory) Picture(ctx context.Context) ([]byte, error) {
	return h.bytes(ctx, askPicture)
}

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
	reply, _, err := h.ask(ctx, question{What: askFields})
	return reply.Fields, err
}

func (h remoteHistory) VersionsWith(ctx context.Context, text freshet.Hash) ([]freshet.Version, error) {
	reply, _, err := h.ask(ctx, question{What: askVersions, Text: text})
	return reply.Recent, err
}

func (h remoteHistory) PageKeys(ctx context.Context, urls []string) ([]crawl.PageKey, error) {
	reply, _, err := h.ask(ctx, question{What: askKeys, URLs: urls})
	return reply.Keys, err
}

// task returns the task of a message; shared is its place among the shared tasks, from 1.
func (l *remoteTask) task(m *taskMessage, shared int) (t worker.Task, err error) {
	t = worker.Task{Head: m.Head, At: m.At, Hints: m.Hints, History: remoteHistory{l, shared}}
	if t.Source, err = m.source(); err != nil {
		return t, err
	}
	for i := range m.Shared {
		one, err := l.task(&m.Shared[i], i+1)
		if err != nil {
			return t, err
		}
		t.Shared = append(t.Shared, one)
	}
	return t, nil
}
