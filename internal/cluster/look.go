package cluster

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// begin carries out an order, unless the hand slept over it or takes no more.
func (s *session) begin(ctx context.Context, f frame) error {
	say, err := s.heard.order(f)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.draining || s.right.check() != nil {
		s.mu.Unlock()
		_ = s.say(refused, f.ID, nil)
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	s.looks[f.ID] = stop
	s.flying.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.flying.Done()
		defer stop()
		err := s.carryOut(ctx, f.ID, say)
		s.mu.Lock()
		delete(s.looks, f.ID)
		s.mu.Unlock()
		if err != nil {
			s.worker.cfg.Log.Warn("what a look found could not be told to the brain", "err", err)
			s.stream.close() // the brain must not wait for it
		}
	}()
	return nil
}

// tell tells the brain what a look found.
func (s *session) tell(id uint64, found worker.Finding) error {
	f, err := newDone(id, found)
	if err != nil {
		return err
	}
	return s.stream.send(f)
}

// carryOut makes a look and tells what it found.
func (s *session) carryOut(ctx context.Context, id uint64, say *orderSay) error {
	l := &remoteLook{session: s, id: id, granted: say.Granted}
	o, err := l.order(say, 0)
	if err != nil {
		return s.tell(id, o.Fail(&freshet.FetchError{Class: failure.LocalHand, Err: err}))
	}
	if s.worker.cfg.Room != nil {
		hold, free := s.worker.cfg.Room()
		defer free()
		o.Room = hold
	}
	o.Leave, o.Slow = l.leave, l.slow
	if say.Robots != "" {
		m, err := s.hand.Robots(ctx, o, say.Robots)
		if l.unbegun || l.unsent(m.Requests, err) {
			return s.say(refused, id, nil)
		}
		if err != nil && ctx.Err() != nil {
			err = cutOff(ctx)
		}
		body := m.Answer.Body
		m.Answer.Body = nil
		return s.say(done, id, doneSay{Manners: &mannersSay{Answer: m.Answer, RetryAfter: m.RetryAfter, Requests: m.Requests, Bytes: m.Bytes, Err: sayError(err)}}, body)
	}
	found := s.hand.Look(ctx, o)
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

// cutOff says why a look was given up that the brain may still wait for.
func cutOff(ctx context.Context) error {
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("the look was given up: %w", context.Cause(ctx))}
}

// A remoteLook is a look whose order came from the brain.
type remoteLook struct {
	*session
	id      uint64
	granted string // the URL of the first request, until it has been asked for
	unbegun bool   // not even the first request could leave
	leaves  int    // requests that had leave, but for parts
}

// unsent reports whether the first request had leave and was not sent, because the right ended before it was.
func (l *remoteLook) unsent(requests int, err error) bool {
	failed, ok := errors.AsType[*freshet.FetchError](err)
	return ok && failed.Class.Is(failure.LocalUnsure) && requests == 0 && l.leaves == 1
}

// leave returns when a request may leave.
func (l *remoteLook) leave(ctx context.Context, hop freshet.Hop) error {
	if !hop.Part {
		l.leaves++
	}
	if err := l.right.check(); err != nil {
		l.unbegun = l.granted != ""
		return err
	}
	if l.granted == hop.URL && !hop.Part && !hop.Aside {
		l.granted = ""
		return nil
	}
	if !hop.Part {
		l.granted = "" // the way is another one than the brain thought
	}
	if _, _, err := l.ask(ctx, askSay{What: askLeave, Hop: &hop}); err != nil {
		return err
	}
	return l.right.check() // it may have taken long
}

// slow tells the brain that the server is slow.
func (l *remoteLook) slow(seen bool) {
	if f, err := newFrame(slow, l.id, seen); err == nil {
		_ = l.stream.send(f)
	}
}

// errCutOff is what a question gets whose brain is gone.
var errCutOff = errors.New("the brain is gone")

// ask asks the brain something about the order.
func (l *remoteLook) ask(ctx context.Context, q askSay) (answerSay, []byte, error) {
	f, err := newFrame(ask, l.id, q)
	if err != nil {
		return answerSay{}, nil, err
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
		return answerSay{}, nil, errCutOff
	}
	select {
	case f := <-reply:
		var say answerSay
		if err := f.hear(&say); err != nil {
			return say, nil, err
		}
		var blob []byte
		if len(f.blobs) > 0 {
			blob = f.blobs[0]
		}
		return say, blob, say.Err.error()
	case <-ctx.Done():
		return answerSay{}, nil, context.Cause(ctx)
	}
}

// bytes returns how a look gets at bytes that the brain knows.
func (l *remoteLook) bytes(known bool, what question, along int) func(context.Context) ([]byte, error) {
	if !known {
		return nil
	}
	return func(ctx context.Context) ([]byte, error) {
		_, blob, err := l.ask(ctx, askSay{What: what, Along: along})
		return blob, err
	}
}

// order returns an order as a hand takes it; along is its place among those that are read
// along, from 1.
func (l *remoteLook) order(say *orderSay, along int) (o worker.Order, err error) {
	o = worker.Order{
		Head: say.Head, At: say.At,
		Base: l.bytes(true, askBase, along), Noise: l.bytes(say.Knows.Noise, askNoise, along),
		BaseBody: l.bytes(say.Knows.BaseBody, askBaseBody, along), HeldText: l.bytes(say.Knows.HeldText, askHeldText, along),
		Items: l.bytes(say.Knows.Items, askItems, along),
	}
	if say.Knows.Recall {
		o.Recall = func(ctx context.Context) (*noise.Memory, error) {
			_, blob, err := l.ask(ctx, askSay{What: askRecall, Along: along})
			return memoryOf(blob, err)
		}
	}
	if say.Knows.Fields {
		o.Fields = func(ctx context.Context) (freshet.Fields, error) {
			said, _, err := l.ask(ctx, askSay{What: askFields, Along: along})
			return said.Fields, err
		}
	}
	if say.Knows.Recent {
		o.Recent = func(ctx context.Context, text freshet.Hash) ([]freshet.Version, error) {
			said, _, err := l.ask(ctx, askSay{What: askRecent, Along: along, Text: text})
			return said.Recent, err
		}
	}
	if say.Voice != nil {
		o.Voice = &worker.Voice{Index: say.Voice.Index, Anew: say.Voice.Anew, Keys: func(ctx context.Context, urls []string) ([]freshet.PageKey, error) {
			said, _, err := l.ask(ctx, askSay{What: askKeys, Along: along, URLs: urls})
			return said.Keys, err
		}}
	}
	if o.Source, err = say.source(); err != nil {
		return o, err
	}
	for i := range say.Along {
		one, err := l.order(&say.Along[i], i+1)
		if err != nil {
			return o, err
		}
		o.Along = append(o.Along, one)
	}
	return o, nil
}
