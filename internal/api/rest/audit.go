package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"freshet/internal/auth"
)

// A Snapshot returns what is set of a thing with a name, without its secrets; nil if it
// does not exist. Two snapshots give an entry of the audit log its before and after.
type Snapshot func(ctx context.Context, name string) any

// Audit has entries about a kind of thing, such as "source", say what changed.
func (s *Server) Audit(kind string, snapshot Snapshot) { s.snapshots[kind] = snapshot }

// audited calls a handler that changes something, and adds an entry to the audit log.
func (s *Server) audited(pattern string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, name := subjectOf(r)
		before := s.snapshot(r.Context(), kind, name)
		response := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		dryRun := new(bool)
		next.ServeHTTP(response, r.WithContext(context.WithValue(r.Context(), dryRunKey{}, dryRun)))
		if response.status >= 400 || *dryRun {
			return // nothing has changed
		}
		if at := response.Header().Get("Location"); at != "" { // the thing that was created
			name = at[strings.LastIndex(at, "/")+1:]
		}
		entry := auth.AuditEntry{What: s.operations[pattern], Method: r.Method, Path: r.URL.Path, Status: response.status, Subject: strings.TrimSpace(kind + " " + name)}
		entry.Before, entry.After = differences(before, s.snapshot(context.WithoutCancel(r.Context()), kind, name))
		s.Gate.Note(r.Context(), auth.Of(r.Context()), entry)
	})
}

func (s *Server) snapshot(ctx context.Context, kind, name string) any {
	if snapshot, ok := s.snapshots[kind]; ok {
		return snapshot(ctx, name)
	}
	return nil
}

type dryRunKey struct{}

// DryRun says that a request changes nothing, so that the audit log gets no entry.
func DryRun(ctx context.Context) {
	if dryRun, ok := ctx.Value(dryRunKey{}).(*bool); ok {
		*dryRun = true
	}
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

// hidden are fields of which an entry says only that they changed: they can hold what
// somebody took for no secret.
var hidden = map[string]bool{"request": true, "headers": true, "settings": true, "header": true, "cookies": true, "login": true, "auth": true}

// maxSummary bounds the summary of what changed, in bytes.
const maxSummary = 4 << 10

// differences returns the fields that differ between two snapshots, as JSON.
func differences(before, after any) (was, is string) {
	b, a := fieldsOf(before), fieldsOf(after)
	for name, value := range b {
		if string(a[name]) == string(value) {
			delete(a, name)
			delete(b, name)
		}
	}
	return summaryOf(b), summaryOf(a)
}

func fieldsOf(v any) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if text, err := json.Marshal(v); err == nil && v != nil {
		_ = json.Unmarshal(text, &fields) // of a text that was just made of an object
	}
	return fields
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
