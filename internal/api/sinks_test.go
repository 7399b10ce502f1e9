package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

// sinksOf returns sinks over the store of a rig, with webhooks of the configuration file
// that nobody listens to.
func sinksOf(t testing.TB, c *api.Config, names ...string) *delivery.Sinks {
	t.Helper()
	limits := kit.Loopback()
	vault := secrets.Open(t.TempDir())
	if err := vault.Set(secrets.Entry{Name: "token", Hosts: []string{"chat.example"}}, []byte("very-secret-token")); err != nil {
		t.Fatal(err)
	}
	with := sinks.Config{
		Do: fetch.NewEgress(limits).Do, CheckURL: limits.CheckURL, Dial: limits.Dialer, TLS: limits.TLS,
		Secrets: auth.Secrets{Env: func(string) string { return "" }, Vault: vault}, Timeout: 5 * time.Minute,
	}
	var listed []sinks.Sink
	for _, name := range names {
		listed = append(listed, sinks.Sink{
			Name: name, Kind: "webhook", URL: "https://hook.example/", Settings: map[string]profile.Value{"unsigned": "true"}, Origin: freshet.FromFile,
		})
	}
	s, err := delivery.NewSinks(t.Context(), delivery.SinksConfig{
		Store: delivery.NewStore(c.Store, c.Store.(*sqlite.Store).DB()), Vault: vault, Open: func(s sinks.Sink) (*sinks.Outlet, error) { return sinks.Open(with, s) },
	}, listed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A chat takes what it is sent, unless it is told to refuse.
type chat struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	bodies []string
	came   chan struct{}
}

func newChat(t *testing.T) *chat {
	c := &chat{status: 200, came: make(chan struct{}, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies = append(c.bodies, string(body))
		w.WriteHeader(c.status)
		io.WriteString(w, "thanks")
		c.came <- struct{}{}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *chat) answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// The whole life of a sink over the API, with a receiver over HTTP.
func TestSinks(t *testing.T) {
	var all *delivery.Sinks
	r := newRig(t, func(c *api.Config) { all = sinksOf(t, c, "listed"); c.Sinks = all }).run()
	if err := all.Run(t.Context(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	defer all.Stop()
	chat := newChat(t)
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	r.poll("page")

	var s client.SinkInfo
	r.do("PUT", "/api/v1/sinks/team?new=true", client.NewSink{Kind: "slack", URL: chat.URL + "/services/T0/B0/hidden-key"}).is(200).into(&s)
	if s.Kind != "slack" || strings.Contains(s.URL, "hidden") || s.Revision != 1 || s.Standing.State != client.SinkOK || s.Origin != freshet.FromAPI {
		t.Errorf("the sink that was added is %+v", s)
	}
	r.do("PUT", "/api/v1/sinks/team?new=true", client.NewSink{Kind: "slack", URL: chat.URL}).is(409)
	r.do("PUT", "/api/v1/sinks/listed", client.NewSink{Kind: "slack", URL: chat.URL}).is(409)
	r.do("DELETE", "/api/v1/sinks/listed", nil).is(409)
	r.do("PATCH", "/api/v1/sinks/nobody", map[string]any{"paused": true}).is(404)
	r.do("PUT", "/api/v1/sinks/cmd", client.NewSink{Kind: "slack", URL: chat.URL, Headers: map[string]string{"X": "${env:HOME}"}}).is(422)
	r.do("PUT", "/api/v1/sinks/inside", client.NewSink{Kind: "slack", URL: "http://10.0.0.1/"}).is(422)

	r.Origin.Put("/page", "text/plain", "two\n")
	r.poll("page")
	<-chat.came
	if got := chat.bodies[0]; !strings.Contains(got, "+ two") || !strings.Contains(got, `"text"`) {
		t.Errorf("the chat was sent %s", got)
	}

	r.settled("team")
	var made client.AttemptList
	r.do("GET", "/api/v1/sinks/team/attempts", nil).is(200).into(&made)
	if len(made.Items) != 1 || !made.Items[0].Accepted || made.Items[0].Attempt != 1 || made.Items[0].At.IsZero() || !strings.HasPrefix(made.Items[0].ID, "page.1") {
		t.Errorf("the attempts are %+v", made)
	}
	r.do("POST", "/api/v1/sinks/team/replay", client.SinkReplay{After: "0"}).is(200)
	<-chat.came
	r.settled("team")
	if all, pages := r.turned("/sinks/team/attempts", 1, nil); len(all) != 2 || pages != 2 {
		t.Errorf("two attempts come as %v on %d pages", all, pages)
	}
	var kinds client.SinkKindList
	r.do("GET", "/api/v1/sinks-kinds", nil).is(200).into(&kinds)
	if len(kinds.Items) < 10 {
		t.Errorf("there are %d kinds", len(kinds.Items))
	}

	// An edit keeps what it was not shown.
	r.do("PATCH", "/api/v1/sinks/team", map[string]any{"template": "{{.Seq}} of {{.Nothing}}"}).is(422)
	var bad client.Problem
	r.do("PATCH", "/api/v1/sinks/team", map[string]any{"template": "a\n{{.Nothing}}"}).is(422).into(&bad)
	if len(bad.Errors) != 1 || bad.Errors[0].Location != "body.template" || !strings.Contains(bad.Errors[0].Message, "line 2, column") {
		t.Errorf("a wrong template is told of as %+v", bad)
	}
	r.do("PATCH", "/api/v1/sinks/team", map[string]any{"template": "number {{.Seq}}"}).is(200).into(&s)
	if s.Revision != 2 || s.Template != "number {{.Seq}}" {
		t.Errorf("the edited sink is %+v", s)
	}
	var trial client.SinkTrial
	r.do("POST", "/api/v1/sinks/team/test?preview=true", nil).is(200).into(&trial)
	if trial.Sent || trial.Body != `{"text":"number 1"}` {
		t.Errorf("the preview is %+v", trial)
	}
	trial = client.SinkTrial{}
	r.do("POST", "/api/v1/sinks/team/test", nil).is(200).into(&trial)
	<-chat.came
	if !trial.Sent || !trial.Accepted || trial.Answer != "200 OK\nthanks" {
		t.Errorf("the test was answered %+v", trial)
	}

	// What the chat refuses becomes a letter, and can be replayed.
	chat.answer(http.StatusBadRequest)
	trial = client.SinkTrial{}
	r.do("POST", "/api/v1/sinks/team/test", nil).is(200).into(&trial)
	<-chat.came
	if trial.Accepted || !strings.Contains(trial.Error, "400") {
		t.Errorf("the refused test was answered %+v", trial)
	}
	r.do("PATCH", "/api/v1/sinks/team", map[string]any{"paused": true}).is(200)
	r.Origin.Put("/page", "text/plain", "three\n")
	r.poll("page")
	changes, err := r.Store.Changes(t.Context(), freshet.ChangeQuery{Limit: 10})
	if err != nil || len(changes) != 2 {
		t.Fatal(changes, err)
	}
	if err := sinks.NewStore(r.Store.DB()).Advance(t.Context(), "team", sinks.Position{Cursor: 2}, []sinks.NewDelivery{{Cursor: 2, Body: []byte(`{"text":"kept"}`), InOrder: true, Err: "refused"}}); err != nil {
		t.Fatal(err)
	}
	var letters client.DeadLetterPage
	r.do("GET", "/api/v1/sinks/team/letters", nil).is(200).into(&letters)
	if len(letters.Items) != 1 || letters.Items[0].ID != changes[1].ID() || letters.Items[0].Error != "refused" || letters.Items[0].Body != `{"text":"kept"}` {
		t.Errorf("the letters are %+v", letters)
	}
	// What would be delivered again is counted before.
	for _, c := range []struct {
		what map[string]any
		want int
	}{
		{map[string]any{}, 1}, {map[string]any{"letters": []string{changes[1].ID()}}, 1}, {map[string]any{"after": "0"}, 2},
		{map[string]any{"after": changes[0].Place().String()}, 1}, {map[string]any{"since": changes[1].Before}, 1}, {map[string]any{"since": time.Now().Add(time.Hour)}, 0},
	} {
		c.what["dry_run"] = true
		var counted client.SinkReplayed
		r.do("POST", "/api/v1/sinks/team/replay", c.what).is(200).into(&counted)
		if counted.Deliveries != c.want || !counted.DryRun {
			t.Errorf("a replay of %v is counted as %+v, want %d", c.what, counted, c.want)
		}
	}
	r.do("GET", "/api/v1/sinks/team/letters", nil).is(200).into(&letters)
	if len(letters.Items) != 1 {
		t.Errorf("counting has replayed: %+v", letters)
	}
	if err := sinks.NewStore(r.Store.DB()).Postpone(t.Context(), "team", sinks.PendingDelivery{Change: changes[1], Attempts: 3, Due: time.Now().Add(time.Hour), Err: "busy"}); err != nil {
		t.Fatal(err)
	}
	var owed client.PendingList
	r.do("GET", "/api/v1/sinks/team/owed", nil).is(200).into(&owed)
	if len(owed.Items) != 1 || owed.Items[0].Attempts != 3 || owed.Items[0].Error != "busy" || time.Until(owed.Items[0].Next) < time.Minute {
		t.Errorf("the sink waits for %+v", owed)
	}
	var beyond client.PendingList
	if r.do("GET", "/api/v1/sinks/team/owed?offset=1&limit=1", nil).is(200).into(&beyond); owed.Next != nil || beyond.Next != nil || len(beyond.Items) != 0 {
		t.Errorf("beyond what the sink waits for is %+v", beyond)
	}
	if err := sinks.NewStore(r.Store.DB()).Postpone(t.Context(), "team", sinks.PendingDelivery{Change: changes[1], Attempts: 3, Err: "refused"}); err != nil {
		t.Fatal(err)
	}
	chat.answer(200)
	r.do("POST", "/api/v1/sinks/team/replay", map[string]any{"letters": []string{changes[0].Place().String()}}).is(404)
	var done client.SinkReplayed
	r.do("POST", "/api/v1/sinks/team/replay", map[string]any{"letters": []string{changes[1].Place().String()}}).is(200).into(&done)
	if done.Deliveries != 1 {
		t.Errorf("replayed %+v", done)
	}
	r.do("PATCH", "/api/v1/sinks/team", map[string]any{"paused": nil}).is(200)
	<-chat.came
	if got := chat.bodies[len(chat.bodies)-1]; got != `{"text":"kept"}` {
		t.Errorf("the replayed letter is %s", got)
	}
	r.settled("team")
	r.do("POST", "/api/v1/sinks/team/replay", map[string]any{"after": "0", "since": time.Now()}).is(422)
	r.do("POST", "/api/v1/sinks/team/replay", map[string]any{"since": changes[1].Before}).is(200)
	<-chat.came
	r.settled("team")
	r.do("POST", "/api/v1/sinks/team/replay", map[string]any{"after": "0"}).is(200)
	<-chat.came
	<-chat.came
	if got := chat.bodies[len(chat.bodies)-3:]; strings.Join(got, " ") != `{"text":"number 2"} {"text":"number 1"} {"text":"number 2"}` {
		t.Errorf("the replays are %v", got)
	}

	// The secret of the URL is nowhere to be seen.
	for _, path := range []string{"/api/v1/sinks", "/api/v1/sinks/team", "/api/v1/status", "/api/v1/overview", "/metrics"} {
		if got := r.do("GET", path, nil).is(200); strings.Contains(string(got.Body), "hidden-key") {
			t.Errorf("%s tells the secret: %s", path, got.Body)
		}
	}
	kept, err := sinks.NewStore(r.Store.DB()).Sinks(t.Context())
	if err != nil || len(kept) != 1 || strings.Contains(string(kept[0].Definition), "hidden") {
		t.Errorf("the store has %v, %v", kept, err)
	}
	r.do("DELETE", "/api/v1/sinks/team", nil).is(204)
	var list client.SinkList
	r.do("GET", "/api/v1/sinks", nil).is(200).into(&list)
	if len(list.Items) != 1 || list.Items[0].Name != "listed" || list.Items[0].Origin != freshet.FromFile {
		t.Errorf("the sinks at last are %+v", list)
	}
}

// A secret that the vault keeps for a host is not sent to another.
func TestSinkSecretsAreForTheirHosts(t *testing.T) {
	r := newRig(t, func(c *api.Config) { c.Sinks = sinksOf(t, c) })
	chat := newChat(t)
	r.do("PUT", "/api/v1/sinks/a", client.NewSink{Kind: "json", URL: chat.URL, Headers: map[string]string{"X-Token": "${secret:token}"}}).is(200)
	var trial client.SinkTrial
	r.do("POST", "/api/v1/sinks/a/test", nil).is(200).into(&trial)
	if trial.Accepted || !strings.Contains(trial.Error, "must not be sent to 127.0.0.1") || len(chat.bodies) > 0 {
		t.Errorf("the secret went to another host: %+v, %v", trial, chat.bodies)
	}
	text, _ := json.Marshal(trial)
	if strings.Contains(string(text), "very-secret") {
		t.Errorf("the answer tells the secret: %s", text)
	}
}

// settled waits until a sink is owed nothing.
func (r *rig) settled(name string) {
	r.t.Helper()
	for {
		var s client.SinkInfo
		r.do("GET", "/api/v1/sinks/"+name, nil).is(200).into(&s)
		if s.Standing.Open == 0 {
			return
		}
		select {
		case <-r.t.Context().Done():
			r.t.Fatalf("sink %s is owed %d", name, s.Standing.Open)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
