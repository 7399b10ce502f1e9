package tracing_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/tracing"
)

// A collector takes spans, after it has refused some requests.
type collector struct {
	mu      sync.Mutex
	refuse  []int // statuses of the next answers
	spans   []*tracepb.Span
	about   []string // the resource of the last request
	request *http.Request
}

func (c *collector) do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refuse) > 0 {
		w.WriteHeader(c.refuse[0])
		c.refuse = c.refuse[1:]
		return
	}
	body, _ := io.ReadAll(r.Body)
	var traces tracepb.TracesData
	if err := proto.Unmarshal(body, &traces); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.request, c.about = r, nil
	for _, part := range traces.ResourceSpans {
		for _, kv := range part.Resource.Attributes {
			c.about = append(c.about, kv.Key+"="+kv.Value.GetStringValue())
		}
		for _, scope := range part.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

func environment(pairs ...string) func(string) string {
	return func(key string) string {
		for _, pair := range pairs {
			if name, value, _ := strings.Cut(pair, "="); name == key {
				return value
			}
		}
		return ""
	}
}

func attribute(span *tracepb.Span, key string) any {
	for _, kv := range span.Attributes {
		if kv.Key != key {
			continue
		}
		if text := kv.Value.GetStringValue(); text != "" {
			return text
		}
		return kv.Value.GetIntValue()
	}
	return nil
}

func TestSpanOfAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{refuse: []int{503, 429}}
		e, err := tracing.New(environment(
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%2Cb, x=y",
			"OTEL_RESOURCE_ATTRIBUTES=deployment.environment=test,service.name=other", "OTEL_SERVICE_NAME=pages",
		), "v1", c.do, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); e.Run(ctx) }()
		began := time.Now()
		s := freshet.Source{ID: "s", URL: "https://me:secret@example.com/a"}
		e.Poll(s, freshet.Outcome{Source: "s", Began: began, Ended: began.Add(time.Second), Result: freshet.Changed, Version: 3, Status: 200, Requests: 2, Bytes: 70})
		e.Poll(s, freshet.Outcome{Source: "s", Began: began, Ended: began.Add(time.Second), Result: freshet.Failed, Failure: failure.Timeout, Err: "no answer", Requests: 1})
		time.Sleep(time.Minute)
		if len(c.spans) != 2 {
			t.Fatalf("the collector has %d spans, want 2", len(c.spans))
		}
		if got := c.request.URL.Path; got != "/v1/traces" {
			t.Errorf("spans are sent to %s", got)
		}
		if h := c.request.Header; h.Get("api-key") != "a,b" || h.Get("x") != "y" || h.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("the header is %v", h)
		}
		if got := strings.Join(c.about, " "); got != "deployment.environment=test service.name=pages service.version=v1" {
			t.Errorf("the resource is %s", got)
		}
		changed, failed := c.spans[0], c.spans[1]
		for key, want := range map[string]any{
			"freshet.source": "s", "freshet.result": "changed", "freshet.version": int64(3), "http.response.status_code": int64(200),
			"http.response.body.size": int64(70), "freshet.requests": int64(2),
		} {
			if got := attribute(changed, key); got != want {
				t.Errorf("%s is %v, want %v", key, got, want)
			}
		}
		if url, _ := attribute(changed, "url.full").(string); !strings.Contains(url, "example.com/a") || strings.Contains(url, "secret") {
			t.Errorf("the URL is %s", url)
		}
		if changed.Status != nil || changed.EndTimeUnixNano-changed.StartTimeUnixNano != 1e9 || len(changed.TraceId) != 16 || len(changed.SpanId) != 8 {
			t.Errorf("the span is %v", changed)
		}
		if failed.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || failed.Status.Message != "no answer" || attribute(failed, "error.type") != "timeout" {
			t.Errorf("the span of a failure is %v", failed)
		}
		e.Poll(s, freshet.Outcome{Source: "s", Began: began, Ended: began, Result: freshet.Unchanged})
		stop()
		<-ended
		if len(c.spans) != 3 {
			t.Errorf("%d spans were exported at the end, want the one in the queue as well", len(c.spans)-2)
		}
	})
}

func TestAwayCollectorDelaysNoPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		away := true
		var log strings.Builder
		e, err := tracing.New(environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/x"), "v1", func(r *http.Request) (*http.Response, error) {
			if away {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return c.do(r)
		}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); e.Run(ctx) }()
		began := time.Now()
		for range 10_000 {
			e.Poll(freshet.Source{ID: "s"}, freshet.Outcome{Source: "s", Began: began, Ended: began})
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("polls waited %s for the collector", waited)
		}
		time.Sleep(10 * time.Minute)
		away = false
		e.Poll(freshet.Source{ID: "s"}, freshet.Outcome{Source: "s", Began: began, Ended: began})
		time.Sleep(time.Minute)
		if len(c.spans) != 1 || c.request.URL.Path != "/x" {
			t.Errorf("%d spans arrive when the collector is back, want that of the last poll", len(c.spans))
		}
		stop()
		<-ended
		if n := strings.Count(log.String(), "does not take traces"); n != 1 || !strings.Contains(log.String(), "dropped=10000") {
			t.Errorf("the log is\n%s", log.String())
		}
	})
}

func TestVariables(t *testing.T) {
	for _, tt := range []struct {
		env  []string
		fail string // part of the error; "" means that nothing is exported
	}{
		{env: nil},
		{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_SDK_DISABLED=true"}},
		{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_EXPORTER=none"}},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317"}, `OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" is no http or https URL`},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL: traces are sent by http/protobuf, not grpc"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_EXPORTER_OTLP_TIMEOUT=10s"}, "OTEL_EXPORTER_OTLP_TIMEOUT"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_EXPORTER_OTLP_HEADERS=a=b,token"}, "OTEL_EXPORTER_OTLP_HEADERS: entry 2"},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_RESOURCE_ATTRIBUTES=%"}, "OTEL_RESOURCE_ATTRIBUTES: entry 1"},
	} {
		e, err := tracing.New(environment(tt.env...), "v1", nil, slog.New(slog.DiscardHandler))
		switch {
		case e != nil:
			t.Errorf("%v: there is an exporter", tt.env)
		case tt.fail == "" && err != nil, tt.fail != "" && (err == nil || !strings.Contains(err.Error(), tt.fail)):
			t.Errorf("%v: %v, want %q", tt.env, err, tt.fail)
		}
	}
}
