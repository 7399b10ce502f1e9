package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/daemontest"
	"freshet/internal/test/kit"
)

// A rig is a whole daemon with a web server to watch and a client.
type rig struct {
	*daemontest.Daemon
	t testing.TB
}

func newRig(t testing.TB, change ...func(*api.Config)) *rig {
	return newRigWith(t, nil, change...)
}

// newRigWith returns a rig whose daemon differs from the usual one.
func newRigWith(t testing.TB, differ func(*daemon.Config), change ...func(*api.Config)) *rig {
	d, err := daemontest.New(t.TempDir(), differ, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return &rig{d, t}
}

// run has the daemon make polls until the test is over, and waits until it can.
func (r *rig) run() *rig {
	stop := r.Start()
	r.t.Cleanup(func() {
		if err := stop(); err != nil {
			r.t.Errorf("the daemon ended with %v", err)
		}
	})
	return r
}

// An answer is a response of the API.
type answer struct {
	t      testing.TB
	what   string
	Status int
	Header http.Header
	Body   []byte
}

// do sends a request to the API. A body that is not a string is sent as JSON.
func (r *rig) do(method, path string, body any, headers ...string) answer {
	r.t.Helper()
	a, err := ask(r.t, r.t.Context(), method, r.API.URL+path, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// later sends a request from a goroutine of its own.
func (r *rig) later(method, path string) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		a, err := ask(r.t, r.t.Context(), method, r.API.URL+path, nil)
		if err != nil {
			r.t.Error(err)
		}
		answers <- a
	}()
	return answers
}

func ask(t testing.TB, ctx context.Context, method, url string, body any, headers ...string) (answer, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return answer{}, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{t, method + " " + req.URL.Path, resp.StatusCode, resp.Header, b}, err
}

// is checks the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s answered %d, want %d: %s", a.what, a.Status, status, a.Body)
	}
	return a
}

// into decodes the body, and fails for fields that the type does not have.
func (a answer) into(v any) {
	a.t.Helper()
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		a.t.Fatalf("%s answered what cannot be read: %v: %s", a.what, err, a.Body)
	}
}

// add watches a page of the watched server.
func (r *rig) add(id, path string) client.Source {
	r.t.Helper()
	var s client.Source
	r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + path}).is(201).into(&s)
	return s
}

// poll polls a source and returns the outcome.
func (r *rig) poll(id string) client.Outcome {
	r.t.Helper()
	var p client.PollAnswer
	r.do("POST", "/api/v1/sources/"+id+"/poll", nil).is(200).into(&p)
	if p.Outcome == nil || p.Queued {
		r.t.Fatalf("a poll of %s answered %+v", id, p)
	}
	return *p.Outcome
}

// capture commits a change of a source without a poll.
func (r *rig) capture(id freshet.SourceID, n int) freshet.Change {
	return r.tell(id, fmt.Sprintf("version %d\n", n), nil, nil)
}

// tell commits a version with named values that changed items.
func (r *rig) tell(id freshet.SourceID, words string, fields freshet.Fields, items *freshet.ItemChanges) freshet.Change {
	record := kit.Changed(id, words, strings.TrimSpace(words))
	record.Capture.Fields, record.Capture.Details = fields, freshet.Details{Items: items}
	_, c, err := r.Store.Commit(context.WithoutCancel(r.t.Context()), record)
	if err != nil {
		r.t.Errorf("committing %q of %s: %v", words, id, err)
	}
	return c
}

// insideGate returns a gate that lets every request in, as for a process that may read the
// data directory.
func insideGate(t testing.TB, store *sqlite.Store) *auth.Gate {
	gate, err := auth.New(t.Context(), auth.Config{Store: auth.NewStore(store.DB()), Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}
