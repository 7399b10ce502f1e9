package fetch

import (
	"context"
	"io"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"freshet"
)

// A watch ends a fetch that takes too long or asks too often, whatever the
// server and the transport are doing at the time. It costs one timer: readers
// only count, and the timer looks now and then at how far they have come.
type watch struct {
	limits *Config
	cancel context.CancelCauseFunc
	began  time.Time
	date   time.Time // the same by the wall clock

	sent    atomic.Int32 // requests that left
	granted atomic.Int32 // requests that may leave
	wire    atomic.Int64 // body bytes that came

	room   func(size int64) error // for a body; nil means that there is always room
	waited time.Duration          // for room

	mu    sync.Mutex
	rests bool // no clock runs: we make the server wait
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
	w.timer = time.AfterFunc(limits.Total, w.look)
	w.mu.Unlock()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      w.gotConn,
		WroteHeaders: w.wroteHeaders,
	}), w
}

// end stops the watch; nothing of the fetch goes on after it.
func (w *watch) end() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// grant lets one more request leave, and once again if the connection turns
// out to have died in idleness. The transport would try more often than that.
func (w *watch) grant() { w.granted.Store(w.sent.Load() + 2) }

func (w *watch) wroteHeaders() { w.sent.Add(1) }

func (w *watch) gotConn(httptrace.GotConnInfo) {
	if w.sent.Load() >= w.granted.Load() {
		w.stop(fail(freshet.FailProtocol, "the server drops every request"))
	}
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
}

func (w *watch) verdict(now time.Time) *freshet.FetchError {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rests {
		return nil
	}
	l := w.limits
	if now.Sub(w.began) >= l.Total {
		return fail(freshet.FailTimeoutTotal, "not done within %v", l.Total)
	}
	if w.body != nil {
		came := w.wire.Load()
		if came != w.idle.wire {
			w.idle = mark{now, came}
		} else if now.Sub(w.idle.at) >= l.BodyIdle {
			return fail(freshet.FailTimeoutIdle, "the body stood still for %v after %d bytes", l.BodyIdle, came)
		}
		if over := now.Sub(w.rate.at); over >= l.RateWindow {
			if float64(came-w.rate.wire) < float64(l.MinRate)*over.Seconds() {
				return fail(freshet.FailTimeoutRate, "the body came at less than %d bytes a second", l.MinRate)
			}
			w.rate = mark{now, came}
		}
	}
	w.timer.Reset(w.pause(now))
	return nil
}
