// Package tracing exports polls as spans over OTLP, the protocol of OpenTelemetry.
package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"freshet/internal/freshet"
)

// The defaults of the specification for the batch processor.
const (
	queueSize  = 2048
	batchSize  = 512
	batchDelay = 5 * time.Second
)

// flushTime bounds the time in which the queue is sent after the end.
const flushTime = 2 * time.Second

// An Exporter sends a span for every poll to a collector. Tracing must not slow polls down, so
// spans are dropped while the collector is away. A nil Exporter does nothing.
type Exporter struct {
	config
	log     *slog.Logger
	do      func(*http.Request) (*http.Response, error)
	queue   chan *tracepb.Span
	dropped atomic.Int64 // since the last report
	failing bool         // the last batch was lost
}

// New returns the exporter that the variables of the OpenTelemetry specification describe, nil
// if they name no endpoint. It sends requests with do.
func New(env func(string) string, version string, do func(*http.Request) (*http.Response, error), log *slog.Logger) (*Exporter, error) {
	c, err := configOf(env, version)
	if err != nil || c.endpoint == "" {
		return nil, err
	}
	return &Exporter{config: c, log: log, do: do, queue: make(chan *tracepb.Span, queueSize)}, nil
}

// Poll queues the span of a poll.
func (e *Exporter) Poll(s freshet.Source, o freshet.Outcome) {
	if e == nil {
		return
	}
	select {
	case e.queue <- spanOf(s, o):
	default:
		e.dropped.Add(1)
	}
}

// Run sends batches until ctx is done, and then what is left in the queue.
func (e *Exporter) Run(ctx context.Context) {
	if e == nil {
		return
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flushTime, cancel) })()
	for ctx.Err() == nil || len(e.queue) > 0 && sending.Err() == nil {
		if batch := e.next(ctx); len(batch) > 0 {
			e.export(sending, batch)
		}
	}
}

// next returns the next batch: it is full, the delay has passed since its first span, or ctx is
// done and the queue is empty.
func (e *Exporter) next(ctx context.Context) (batch []*tracepb.Span) {
	var delay <-chan time.Time
	for len(batch) < batchSize {
		done := ctx.Done()
		if len(e.queue) > 0 {
			done = nil
		}
		select {
		case span := <-e.queue:
			if batch = append(batch, span); delay == nil {
				delay = time.After(batchDelay)
			}
		case <-delay:
			return batch
		case <-done:
			return batch
		}
	}
	return batch
}

// tries bounds the attempts to send a batch.
const tries = 4

// export sends a batch and logs when the collector stops or starts to take batches.
func (e *Exporter) export(ctx context.Context, batch []*tracepb.Span) {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   e.resource,
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: e.scope, Spans: batch}},
	}}})
	if err != nil {
		e.log.Error("a batch of traces cannot be encoded", "err", err)
		return
	}
	for try := range tries {
		again := false
		if again, err = e.send(ctx, body); err == nil || !again {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second << try):
		}
	}
	if err != nil {
		e.dropped.Add(int64(len(batch)))
	}
	switch lost := e.dropped.Load(); {
	case err != nil && !e.failing:
		e.log.Warn("the collector does not take traces; they are dropped until it does", "endpoint", e.endpoint, "err", err)
	case err == nil && lost > 0:
		e.dropped.Add(-lost)
		e.log.Warn("the collector takes traces again, or was too slow; some polls have none", "endpoint", e.endpoint, "dropped", lost)
	}
	e.failing = err != nil
}

// send makes one attempt, and reports whether another one may succeed.
func (e *Exporter) send(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header = e.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := e.do(r)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection is used again
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if answer.StatusCode/100 != 2 {
		return again, fmt.Errorf("the collector answered %s", answer.Status)
	}
	return false, nil
}
