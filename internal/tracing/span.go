package tracing

import (
	"crypto/rand"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// spanOf returns the span of a poll, which is a trace of its own.
func spanOf(s freshet.Source, o freshet.Outcome) *tracepb.Span {
	var id [24]byte
	rand.Read(id[:])
	span := &tracepb.Span{
		TraceId: id[:16], SpanId: id[16:], Name: "poll", Kind: tracepb.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: uint64(o.Began.UnixNano()), EndTimeUnixNano: uint64(o.Ended.UnixNano()),
		Attributes: []*commonpb.KeyValue{
			text("url.full", mask.URL(s.URL)), text("freshet.source", string(s.ID)), text("freshet.result", o.Result.String()),
			number("freshet.requests", int64(o.Requests)), number("http.response.body.size", o.Bytes),
		},
	}
	add := func(kv *commonpb.KeyValue) { span.Attributes = append(span.Attributes, kv) }
	if o.Status != 0 {
		add(number("http.response.status_code", int64(o.Status)))
	}
	if o.Version != 0 {
		add(number("freshet.version", int64(o.Version)))
	}
	if o.Suspect != "" {
		add(text("freshet.suspect", string(o.Suspect)))
	}
	if o.Result == freshet.Failed {
		add(text("error.type", string(o.Failure)))
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: o.Err}
	}
	return span
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
