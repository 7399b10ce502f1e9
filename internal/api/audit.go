package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/freshet"
)

// audited calls a handler that changes something, and notes who did what.
func (a *api) audited(pattern string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.audit(w, r, pattern, next) })
}

func (a *api) audit(w http.ResponseWriter, r *http.Request, pattern string, next http.Handler) {
	kind, name := subjectOf(r)
	before := a.snapshot(r.Context(), kind, name)
	seen := &watched{ResponseWriter: w, status: http.StatusOK}
	tried := new(bool)
	next.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), triedKey{}, tried)))
	if seen.status >= 400 || *tried {
		return // nothing has changed
	}
	if at := seen.Header().Get("Location"); at != "" { // what was made
		name = at[strings.LastIndex(at, "/")+1:]
	}
	d := freshet.Deed{What: a.operations[pattern], Method: r.Method, Path: r.URL.Path, Status: seen.status, Subject: strings.TrimSpace(kind + " " + name)}
	d.Before, d.After = differences(before, a.snapshot(context.WithoutCancel(r.Context()), kind, name))
	a.Gate.Note(r.Context(), auth.Of(r.Context()), d)
}

type triedKey struct{}

// onlyTried says that a request has changed nothing: it was to be tried only.
func onlyTried(ctx context.Context) {
	if tried, ok := ctx.Value(triedKey{}).(*bool); ok {
		*tried = true
	}
}

// A watched response tells its status.
type watched struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an [http.ResponseController] through.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// subjectOf returns what a request is about: the kind and, if the path names it, which.
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

// snapshot returns what is set of something, without its secrets; nil if it is not there
// or has nothing to compare.
func (a *api) snapshot(ctx context.Context, kind, name string) any {
	if kind == "setting" && a.Settings != nil {
		values := map[string]string{}
		for _, s := range a.Settings().Items {
			values[s.Key] = s.Value
		}
		return values
	}
	if name == "" {
		return nil
	}
	switch kind {
	case "source":
		if w, err := a.Store.Source(ctx, freshet.SourceID(name)); err == nil {
			s := newSourceOf(w.Source)
			s.URL = freshet.MaskURL(s.URL)
			return s
		}
	case "query":
		if q, err := a.Store.Query(ctx, freshet.QueryID(name)); err == nil {
			return client.QueryOf(q)
		}
	case "sink":
		if a.Sinks != nil {
			if st, err := a.Sinks.Get(ctx, name); err == nil {
				return infoOf(st).NewSink
			}
		}
	case "user":
		if u, err := a.Store.User(ctx, name); err == nil {
			return a.userOf(u)
		}
	}
	return nil
}

// hidden are fields of which only that they changed is written down: they can hold what
// somebody took for no secret.
var hidden = map[string]bool{"request": true, "headers": true, "settings": true, "header": true, "cookies": true, "login": true, "auth": true}

// mostSummary is how long a summary of what changed may be.
const mostSummary = 4 << 10

// differences returns the fields that differ between two things, as JSON.
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
		_ = json.Unmarshal(text, &fields) // it has just been made of a struct
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
	if len(text) > mostSummary {
		for name, value := range fields {
			if len(value) > 200 {
				fields[name] = json.RawMessage(`"..."`)
			}
		}
		text, _ = json.Marshal(fields)
	}
	return string(text)
}

func (a *api) routeAudit(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/api/v1/audit", Tags: []string{"users"},
		Summary: "Read who changed what, the newest first",
		Description: "Each request that changed something and each login is an entry. " +
			"Before and after are the fields that differ; secrets are never in them. Entries are kept for a year, and at most a million.",
	}, a.listAudit)
}

type listAuditInput struct {
	Before  int64  `query:"before" minimum:"0" doc:"Only entries before this cursor: the next page"`
	User    string `query:"user" maxLength:"128" doc:"Only what this user did"`
	Subject string `query:"subject" maxLength:"200" doc:"Only what was done to this, such as source news"`
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Most entries"`
}

func (a *api) listAudit(ctx context.Context, in *listAuditInput) (*bodyOf[client.AuditPage], error) {
	found, err := a.Store.Deeds(ctx, freshet.DeedQuery{Before: freshet.Cursor(in.Before), Who: in.User, Subject: in.Subject, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	page := client.AuditPage{Items: []client.AuditEntry{}}
	for i, d := range found {
		if i == in.Limit {
			page.Next = int64(found[i-1].Cursor)
			break
		}
		page.Items = append(page.Items, client.AuditEntry{
			Cursor: int64(d.Cursor), At: utc(d.At), User: d.Who, Via: d.Via, From: d.From, What: d.What, Method: d.Method, Path: d.Path,
			Subject: d.Subject, Status: d.Status, Before: json.RawMessage(d.Before), After: json.RawMessage(d.After),
		})
	}
	return &bodyOf[client.AuditPage]{page}, nil
}
