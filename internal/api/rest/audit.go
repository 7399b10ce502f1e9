package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"freshet/internal/auth"
)

// audited calls a handler that changes something, and adds an entry to the audit log.
func (s *Server) audited(pattern string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, c := &statusWriter{ResponseWriter: w, status: http.StatusOK}, &change{}
		next.ServeHTTP(response, r.WithContext(context.WithValue(r.Context(), changeKey{}, c)))
		if response.status >= 400 && !c.partial || c.dryRun {
			return // nothing has changed
		}
		kind, name := subjectOf(r)
		if at := response.Header().Get("Location"); at != "" { // the thing that was created
			name = at[strings.LastIndex(at, "/")+1:]
		}
		entry := auth.AuditEntry{What: s.operations[pattern], Method: r.Method, Path: r.URL.Path, Status: response.status, Subject: strings.TrimSpace(kind + " " + name)}
		entry.Before, entry.After = differences(c.before, c.after)
		s.Gate.Note(r.Context(), auth.Of(r.Context()), entry)
	})
}

// A change is what a request changes, as far as its handler says.
type change struct {
	before, after map[string]any
	dryRun        bool
	partial       bool // what it changed stays changed even if it fails
}

type changeKey struct{}

// Changed says what a request changes of a thing, without secrets, for its entry in the
// audit log. Nil means that there was no such thing before, or that there is none any more.
func Changed(ctx context.Context, before, after map[string]any) {
	if c, ok := ctx.Value(changeKey{}).(*change); ok {
		c.before, c.after = before, after
	}
}

// ChangedMany says what a request does to how many things, even if it fails after some of them.
// The entry in the audit log names the first ones.
func ChangedMany[ID ~string](ctx context.Context, said map[string]any, ids []ID) {
	c, ok := ctx.Value(changeKey{}).(*change)
	if !ok || len(ids) == 0 {
		return
	}
	var named []ID
	size := 0
	for _, id := range ids {
		if size += len(id) + len(`"",`); size > maxSummary/2 {
			break
		}
		named = append(named, id)
	}
	c.after, c.partial = map[string]any{"count": len(ids), "sources": named}, true
	maps.Copy(c.after, said)
}

// DryRun says that a request changes nothing, so that the audit log gets no entry.
func DryRun(ctx context.Context) {
	if c, ok := ctx.Value(changeKey{}).(*change); ok {
		c.dryRun = true
	}
}

// Fields returns the fields of a value as its JSON has them, for [Changed].
func Fields(v any) map[string]any {
	var fields map[string]any
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &fields) // what is no object has no fields
	}
	return fields
}

// A statusWriter keeps the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an [http.ResponseController] through.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// subjectOf returns what a request is about: the kind and, if the path has one, the name.
func subjectOf(r *http.Request) (kind, name string) {
	path, _ := strings.CutPrefix(r.URL.Path, "/api/v1/")
	kind, _, _ = strings.Cut(path, "/")
	kind = strings.TrimSuffix(kind, "s")
	if kind == "querie" {
		kind = "query"
	}
	if name = r.PathValue("id"); name == "" {
		name = r.PathValue("name")
	}
	return kind, name
}

// hidden are fields of which an entry says only that they changed: they can hold secrets that are
// not recognized as such.
var hidden = map[string]bool{"request": true, "headers": true, "settings": true, "header": true, "cookies": true, "login": true, "auth": true}

// maxSummary bounds the summary of what changed, in bytes.
const maxSummary = 4 << 10

// differences returns the fields that differ between two things, as JSON.
func differences(before, after map[string]any) (was, is string) {
	b, a := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	put := func(into map[string]json.RawMessage, name string, from map[string]any) {
		if value, ok := from[name]; ok {
			into[name], _ = json.Marshal(value) // of texts, numbers, lists and objects of such
		}
	}
	for name, value := range before {
		if other, ok := after[name]; !ok || !reflect.DeepEqual(value, other) {
			put(b, name, before)
			put(a, name, after)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			put(a, name, after)
		}
	}
	return summaryOf(b), summaryOf(a)
}

func summaryOf(fields map[string]json.RawMessage) string {
	for name := range fields {
		if hidden[name] {
			fields[name] = json.RawMessage(`"***"`)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return ""
	}
	if len(text) > maxSummary {
		for name, value := range fields {
			if len(value) > 200 {
				fields[name] = json.RawMessage(`"..."`)
			}
		}
		text, _ = json.Marshal(fields)
	}
	return string(text)
}
