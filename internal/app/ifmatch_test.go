package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/auth/access"
	"freshet/internal/learn/imported"
)

// An operation is what the description says of a method of a path, as far as it matters.
type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct{ Name, In string }
	Responses  map[string]struct {
		Headers map[string]any
	}
}

func (o operation) takes(header string) bool {
	for _, p := range o.Parameters {
		if p.In == "header" && p.Name == header {
			return true
		}
	}
	return false
}

// Whatever has an ETag is not changed or removed with one that it no longer has, and is with
// the one that it has: over all writes of the description.
func TestEveryWriteHeedsIfMatch(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.Limits.Budget.Polls = 1000
	c, url, _ := serve(t, s, app.ServeConfig{Load: func() (config.Settings, error) { return s, nil }})
	at, _ := page(t)
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "a", URL: at, Paused: true}); err != nil {
		t.Fatal(err)
	}
	rate := 2.5
	if _, err := c.Sources.SetForecast(t.Context(), "a", imported.Forecast{Rate: &rate, Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Queries.Add(t.Context(), client.QueryToAdd{NewQuery: client.NewQuery{ID: "a", Name: "a", When: "true"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sinks.Add(t.Context(), "a", client.NewSink{Kind: "json", URL: at}); err != nil {
		t.Fatal(err)
	}
	token := whoIs(t, s, c)
	ask := func(method, path, body string, header ...string) (int, http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(text)
	}
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	if _, _, text := ask("GET", "/openapi.json", ""); json.Unmarshal([]byte(text), &description) != nil {
		t.Fatal("the description cannot be read")
	}
	// Requests that would be fine, by operation. What removes comes last.
	bodies := map[string]string{
		"edit-source": `{"name": "x"}`, "edit-query": `{"name": "x"}`, "edit-sink": `{"paused": true}`, "put-sink": `{"kind": "json", "url": "` + at + `"}`,
		"edit-user": `{"role": "viewer"}`, "edit-settings": `{"set": {"budget": "900/m"}}`, "set-chances": `{"rate_per_day": 3, "until": "` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`,
		"clear-chances": "", "remove-source": "", "remove-query": "", "remove-sink": "", "remove-user": "",
	}
	for _, removing := range []bool{false, true} {
		for _, path := range slices.Backward(slices.Sorted(maps.Keys(description.Paths))) { // parts before what they are of
			methods := description.Paths[path]
			var read operation
			if json.Unmarshal(methods["get"], &read) != nil || read.Responses["200"].Headers["ETag"] == nil || strings.Contains(path, "feed.") {
				continue
			}
			for method, text := range methods {
				var op operation
				if method = strings.ToUpper(method); method == "GET" || json.Unmarshal(text, &op) != nil || (method == "DELETE") != removing {
					continue
				}
				body, known := bodies[op.ID]
				if !known {
					t.Errorf("%s %s (%s): say in the test how it is used", method, path, op.ID)
					continue
				}
				delete(bodies, op.ID)
				if !op.takes("If-Match") {
					t.Errorf("%s %s does not take If-Match", method, path)
					continue
				}
				where := strings.NewReplacer("{id}", "a", "{name}", "a").Replace(path)
				status, before, was := ask("GET", where, "")
				tag := before.Get("ETag")
				if status != 200 || tag == "" {
					t.Errorf("GET %s answers %d with the ETag %q", where, status, tag)
				}
				for _, stale := range []string{`"0"`, `"stale"`, "W/" + tag, strings.Trim(tag, `"`)} {
					if status, _, said := ask(method, where, body, "If-Match", stale); status != http.StatusPreconditionFailed {
						t.Errorf("%s %s with If-Match %s answers %d: %s", method, where, stale, status, said)
					}
				}
				if _, now, is := ask("GET", where, ""); now.Get("ETag") != tag || !bytes.Equal([]byte(is), []byte(was)) {
					t.Errorf("%s %s was refused, and has changed %s to %s", method, where, was, is)
				}
				status, after, said := ask(method, where, body, "If-Match", `"0", `+tag)
				if status >= 300 {
					t.Errorf("%s %s with the right tag answers %d: %s", method, where, status, said)
				}
				if _, now, _ := ask("GET", where, ""); now.Get("ETag") == tag || !removing && now.Get("ETag") != after.Get("ETag") {
					t.Errorf("after %s the ETag of %s was %s, is %s, and the answer said %s", method, where, tag, now.Get("ETag"), after.Get("ETag"))
				}
				if removing {
					if status, _, _ := ask(method, where, body, "If-Match", "*"); status != http.StatusNotFound && status != http.StatusPreconditionFailed {
						t.Errorf("%s %s of nothing with If-Match * answers %d", method, where, status)
					}
				}
			}
		}
	}
	for id := range bodies {
		t.Errorf("nothing like %s is in the description", id)
	}
}

// whoIs adds the users root and a, and returns a token that may do everything.
func whoIs(t *testing.T, s config.Settings, c *client.Client) string {
	t.Helper()
	if _, err := c.Users.Add(t.Context(), client.NewUser{Name: "root", Role: access.Admin, Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	found, err := app.ReadAddress(s.Data)
	if err != nil {
		t.Fatal(err)
	}
	owner := client.New(found.URL, func(r *http.Request) (*http.Response, error) {
		r.Header.Set("Authorization", "Bearer "+found.Token)
		return http.DefaultClient.Do(r)
	})
	if _, err := owner.Users.Add(t.Context(), client.NewUser{Name: "a", Role: access.Editor, Password: "correct horse"}); err != nil {
		t.Fatal(err)
	}
	return found.Token
}
