package fetch

import (
	"context"
	"errors"
	"io"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A watch ends a fetch that takes too long or asks too often, whatever the
// server and the transport are doing at the time. It costs one timer: readers
// only count, and the timer looks now and then at how far they have come.
type watch struct {
	limits *Config
	cancel context.CancelCauseFunc
	began  time.Time
	date   time.Time // the same by the wall clock

	ctx     context.Context                          // that the watch ends
	permit  func(context.Context, freshet.Hop) error // is asked before a request is sent, once or again; nil means that all may leave
	hop     freshet.Hop                              // that asks
	trace   httptrace.ClientTrace
	again   bool         // the present request has been sent once more
	sent    atomic.Int32 // requests that left
	granted atomic.Int32 // requests that may leave
	wire    atomic.Int64 // body bytes that came

	enough int64 // bytes of a body; 0 means all

	slow     func(seen bool) // is called when the server is slow; may be nil
	answered atomic.Bool     // the server has begun to answer the present request

	room   func(ctx context.Context, size int64) error // for a body; nil means that there is always room
	waited time.Duration                               // for room

	mu    sync.Mutex
	rests bool // no clock runs: we make the server wait
	told  told // what slow was called with for the present request
	timer *time.Timer
	body  io.Closer // being read, if any
	idle  mark
	rate  mark
}

// A mark is how far a body had come at a moment.
type mark struct {
	at   time.Time
	wire int64
}

// watchOver starts a watch and returns the context that it ends.
func watchOver(ctx context.Context, limits *Config) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{limits: limits, cancel: cancel, began: time.Now(), date: limits.Now()}
	w.mu.Lock() // against a look before timer is set
	w.timer = time.AfterFunc(min(limits.Total, slowAfter), w.look)
	w.mu.Unlock()
	w.trace.GotConn, w.trace.WroteHeaders = w.gotConn, w.wroteHeaders
	w.ctx = httptrace.WithClientTrace(ctx, &w.trace)
	return w.ctx, w
}

// end stops the watch; nothing of the fetch goes on after it.
func (w *watch) end() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// leave asks for leave to send a request.
func (w *watch) leave() *freshet.FetchError {
	if w.permit == nil {
		return nil
	}
	_, e := w.rest("not sent", func() error { return w.permit(w.ctx, w.hop) })
	return e
}

// rest waits for something of ours, and returns how long it took. No clock of the
// fetch runs meanwhile: the server has done nothing wrong.
func (w *watch) rest(otherwise string, wait func() error) (time.Duration, *freshet.FetchError) {
	begun := time.Now()
	w.mu.Lock()
	w.rests = true
	w.mu.Unlock()
	err := wait()
	w.mu.Lock()
	now := time.Now()
	waited := now.Sub(begun)
	w.began, w.date = w.began.Add(waited), w.date.Add(waited)
	w.idle.at, w.rate.at = w.idle.at.Add(waited), w.rate.at.Add(waited)
	w.rests = false
	w.timer.Reset(w.pause(now))
	w.mu.Unlock()
	if err == nil {
		return waited, nil
	}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return waited, e
	}
	return waited, fail(failure.Canceled, "%s: %w", otherwise, err)
}

// grant lets one more request leave.
func (w *watch) grant() {
	w.again = false
	w.answered.Store(false)
	w.mu.Lock()
	w.told = told{}
	w.mu.Unlock()
	w.granted.Store(w.sent.Load() + 1)
}

func (w *watch) wroteHeaders() { w.sent.Add(1) }

// gotConn is called before a request is written to a connection. If the request
// has left already, over a connection that turned out to be dead, it has to ask
// again, and only once: the transport would try more often than that.
func (w *watch) gotConn(info httptrace.GotConnInfo) {
	reason := w.held()
	switch {
	case reason != nil:
		w.granted.Store(min(w.sent.Load(), w.granted.Load())) // it will not be sent, though the transport may report it
	case w.sent.Load() < w.granted.Load():
		return
	case w.again:
		reason = fail(failure.Protocol, "the server closes the connection on every request")
	default:
		w.again = true
		if reason = w.leave(); reason == nil {
			w.granted.Add(1)
			return
		}
	}
	w.stop(reason)
	info.Conn.Close() // lest the transport write to it all the same
}

// held returns why nothing may be written at all. The transport takes a connection that it may not
// write to for one that is dead.
func (w *watch) held() *freshet.FetchError {
	if w.limits.May == nil {
		return nil
	}
	err := w.limits.May()
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e
	}
	return fail(failure.Local, "not sent: %w", err)
}

// stop ends the fetch with a reason. The body is closed as well as the context
// canceled, since there are bodies that do not listen to it.
func (w *watch) stop(reason *freshet.FetchError) {
	w.cancel(reason)
	w.mu.Lock()
	body := w.body
	w.mu.Unlock()
	if body != nil {
		body.Close()
	}
}

// reading starts the clocks of a body.
func (w *watch) reading(body io.Closer) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body = body
	w.idle = mark{now, w.wire.Load()}
	w.rate = w.idle
	w.timer.Reset(w.pause(now))
}

// pause returns how long to wait before the next look.
func (w *watch) pause(now time.Time) time.Duration {
	left := w.limits.Total - now.Sub(w.began)
	if w.slow != nil && !w.told.seen {
		left = min(left, slowAfter)
	}
	if w.body == nil {
		return left
	}
	return min(left, w.limits.BodyIdle/4, w.limits.RateWindow/4)
}

// look ends the fetch if one of its clocks has run out.
func (w *watch) look() {
	now := time.Now()
	if reason := w.verdict(now); reason != nil {
		w.stop(reason)
	}
	if news, seen := w.news(); news {
		w.slow(seen)
	}
}

// watchSlow calls slow when the server is slow.
func (w *watch) watchSlow(tell func(seen bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow = tell
}

// slowAfter is how long a server may take before it counts as slow. Most pages are
// there sooner; a server that wants to hold us holds us for a minute.
const slowAfter = time.Second

// told is what was reported of a request: that its server is slow, and that it was seen.
type told struct{ slow, seen bool }

// news reports whether there is something new to report of a slow server, and whether the server
// has begun to answer.
func (w *watch) news() (news, seen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slow == nil || w.rests {
		return false, false
	}
	is := told{slow: true, seen: w.answered.Load()}
	news, w.told = is != w.told, is
	return news, is.seen
}

func (w *watch) verdict(now time.Time) *freshet.FetchError {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rests {
		return nil
	}
	l := w.limits
	if now.Sub(w.began) >= l.Total {
		return fail(failure.TimeoutTotal, "not finished within %v", l.Total)
	}
	if w.body != nil {
		came := w.wire.Load()
		if came != w.idle.wire {
			w.idle = mark{now, came}
		} else if now.Sub(w.idle.at) >= l.BodyIdle {
			return fail(failure.TimeoutIdle, "no data for %v after %d bytes of the body", l.BodyIdle, came)
		}
		if over := now.Sub(w.rate.at); over >= l.RateWindow {
			if float64(came-w.rate.wire) < float64(l.MinRate)*over.Seconds() {
				return fail(failure.TimeoutRate, "the body arrived at less than %d bytes a second", l.MinRate)
			}
			w.rate = mark{now, came}
		}
	}
	w.timer.Reset(w.pause(now))
	return nil
}
