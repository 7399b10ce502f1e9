package sinks_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/fetch/auth"
	vaults "freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
)

// before and after are the texts of the change that is told of.
func texts(context.Context) ([]byte, []byte, error) {
	return []byte("Title\nold <!channel> @all\n"), []byte("Title\nnew <!channel> @all ``` & [log in](http://evil.example)\n"), nil
}

type values = map[string]profile.Value

// Every chat service gets a body of the shape that it documents.
func TestChats(t *testing.T) {
	added := "new <!channel> @all ``` & [log in](http://evil.example)"
	news := "+ " + added + "\n- old <!channel> @all"
	summary := `+1 -1 line: <b>"new"</b>`
	why := "You get this because every change of this source is sent here."
	plain := "Page: " + added + "\n\n" + news + "\n\nhttp://page.example/?a=1&b=2\n\n" + why
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	quiet := strings.NewReplacer("@", "@\u200b", "<", "<\u200b", "]", "]\u200b").Replace
	chat := func(bold string, filter func(string) string) string {
		return bold + "Page" + bold + ": " + filter(added) + "\n```\n" + strings.ReplaceAll(filter(news), "```", "'''") + "\n```\n" + filter("http://page.example/?a=1&b=2") + "\n" + filter(why)
	}
	tests := []struct {
		kind     string
		path     string // of the URL
		settings values
		method   string
		came     string // where
		header   map[string]string
		want     map[string]any
	}{
		{kind: "slack", path: "/services/T/B/K", came: "/services/T/B/K", want: map[string]any{"text": chat("*", escaped)}},
		{kind: "discord", path: "/api/webhooks/1/K", came: "/api/webhooks/1/K", want: map[string]any{"content": chat("**", quiet), "allowed_mentions": map[string]any{"parse": []any{}}}},
		{kind: "mattermost", path: "/hooks/K", settings: values{"channel": "town"}, came: "/hooks/K", want: map[string]any{"text": chat("**", quiet), "channel": "town"}},
		{kind: "googlechat", path: "/v1/spaces/S/messages?key=K&token=T", came: "/v1/spaces/S/messages?key=K&token=T", want: map[string]any{"text": chat("*", quiet)}},
		{kind: "teams", path: "/w", came: "/w", want: map[string]any{"type": "message", "attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil,
			"content": map[string]any{
				"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": []any{
					map[string]any{"type": "TextBlock", "text": "Page: " + quiet(added), "wrap": true, "weight": "bolder"},
					map[string]any{"type": "TextBlock", "text": strings.ReplaceAll(quiet(strings.TrimPrefix(plain, "Page: "+added+"\n\n")), "\n", "\n\n"), "wrap": true},
				},
			},
		}}}},
		{kind: "telegram", settings: values{"token": "12:ab", "chat": "-100", "thread": "7"}, came: "/bot12:ab/sendMessage", want: map[string]any{
			"chat_id": "-100", "text": plain, "message_thread_id": 7.0, "link_preview_options": map[string]any{"is_disabled": true},
		}},
		{kind: "ntfy", settings: values{"topic": "top", "token": "tk_secret", "priority": "5"}, came: "/", header: map[string]string{"Authorization": "Bearer tk_secret"}, want: map[string]any{
			"topic": "top", "title": "Page", "message": plain, "click": "http://page.example/?a=1&b=2", "priority": 5.0,
		}},
		{kind: "ntfy", settings: values{"topic": "top", "user": "me", "password": "secret"}, came: "/", header: map[string]string{"Authorization": "Basic bWU6c2VjcmV0"}, want: map[string]any{
			"topic": "top", "title": "Page", "message": plain, "click": "http://page.example/?a=1&b=2",
		}},
		{kind: "gotify", path: "/sub/", settings: values{"token": "app-token"}, came: "/sub/message", header: map[string]string{"X-Gotify-Key": "app-token"}, want: map[string]any{
			"title": "Page", "message": plain, "extras": map[string]any{"client::notification": map[string]any{"click": map[string]any{"url": "http://page.example/?a=1&b=2"}}},
		}},
		{kind: "matrix", settings: values{"token": "syt_x", "room": "!r:m.example"}, method: "PUT", came: "/_matrix/client/v3/rooms/%21r:m.example/send/m.room.message/" + sinks.WebhookID("chat", change().ID()),
			header: map[string]string{"Authorization": "Bearer syt_x"}, want: map[string]any{
				"msgtype": "m.text", "body": plain, "m.mentions": map[string]any{}, "format": "org.matrix.custom.html",
				"formatted_body": "<pre>" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace(plain) + "</pre>",
			}},
		{kind: "pagerduty", settings: values{"routing_key": "R0UT1NG", "severity": "warning"}, came: "/v2/enqueue", want: map[string]any{
			"routing_key": "R0UT1NG", "event_action": "trigger", "dedup_key": change().ID(), "client": "Freshet",
			"links": []any{map[string]any{"href": "http://page.example/?a=1&b=2", "text": "Page"}},
			"payload": map[string]any{
				"summary": "Page: " + added, "source": "page", "severity": "warning", "component": "Page", "timestamp": "2026-03-01T12:00:00.123Z",
				"custom_details": map[string]any{"summary": summary, "seq": 3.0, "version": 4.0, "tags": []any{"news"}},
			},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) })
			o := opened(t, sinks.Sink{Name: "chat", Kind: tt.kind, URL: profile.Value(e.URL + tt.path), Settings: tt.settings}, nil)
			body, err := o.Render(t.Context(), change(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range tt.settings {
				if slices.Contains([]string{"token", "password", "routing_key"}, name) && strings.Contains(string(body), string(v)) {
					t.Errorf("what is kept holds the secret %s: %s", name, body)
				}
			}
			for range 2 {
				if answer, err := o.Send(t.Context(), sinks.Message{ID: change().ID(), Source: "page", Body: body}); err != nil || answer != "200 OK\nok" {
					t.Fatal(answer, err)
				}
			}
			first, second := e.arrivals[0], e.arrivals[1]
			var got map[string]any
			if err := json.Unmarshal(first.body, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the body is otherwise (-want +got):\n%s", diff)
			}
			if want := map[bool]string{true: "POST", false: tt.method}[tt.method == ""]; first.method != want || first.url != tt.came {
				t.Errorf("it came to %s %s, want %s %s", first.method, first.url, want, tt.came)
			}
			for name, want := range tt.header {
				if first.header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, first.header.Get(name), want)
				}
			}
			if string(first.body) != string(second.body) {
				t.Error("two attempts differ")
			}
		})
	}
}

// Messages keep to the limits of the services, whatever a template makes.
func TestChatLimits(t *testing.T) {
	limits := map[string]struct {
		member   string
		most     int
		settings values
	}{
		"slack": {"text", 4000, nil}, "discord": {"content", 2000, nil}, "googlechat": {"text", 4096, nil}, "mattermost": {"text", 16383, nil},
		"telegram": {"text", 4096, values{"token": "t", "chat": "c"}}, "ntfy": {"message", 4096, values{"topic": "t"}},
	}
	for kind, limit := range limits {
		o := opened(t, sinks.Sink{Name: "chat", Kind: kind, URL: "https://chat.example/x", Settings: limit.settings, Template: `{{range lines .Text}}{{.}}{{end}}`}, nil)
		body, err := o.Render(t.Context(), change(), func(context.Context) ([]byte, []byte, error) {
			return nil, []byte(strings.Repeat("a page says a lot 😀\n", 2000)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		text, _ := got[limit.member].(string)
		if n := len([]rune(text)); n > limit.most || n < 900 || !strings.HasSuffix(text, "…") {
			t.Errorf("%s is sent %d characters, ending with %q", kind, n, text[max(0, len(text)-10):])
		}
	}
}

// CloudEvents come whole, or with all but the data in the header; plain JSON has the diff.
func TestEvents(t *testing.T) {
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {})
	send := func(s sinks.Sink) arrival {
		t.Helper()
		s.Name, s.URL = "events", profile.Value(e.URL)
		o := opened(t, s, func(c *sinks.Config) { c.Base = "https://freshet.example" })
		body, err := o.Render(t.Context(), change(), texts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Send(t.Context(), sinks.Message{ID: change().ID(), Body: body}); err != nil {
			t.Fatal(err)
		}
		return e.arrivals[len(e.arrivals)-1]
	}
	whole := send(sinks.Sink{Kind: "cloudevents"})
	if want, _ := json.Marshal(event()); string(whole.body) != string(want) || whole.header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" {
		t.Errorf("the event is %s, want %s", whole.body, want)
	}
	parts := send(sinks.Sink{Kind: "cloudevents", Settings: values{"mode": "binary"}})
	if want, _ := json.Marshal(event().Data); string(parts.body) != string(want) {
		t.Errorf("the data is %s, want %s", parts.body, want)
	}
	for name, want := range map[string]string{
		"Ce-Specversion": "1.0", "Ce-Id": "page.3~k3f9q2xw", "Ce-Type": "freshet.change", "Ce-Source": "https://freshet.example/api/v1/sources/page",
		"Ce-Subject": "http://page.example/?a=1&b=2", "Ce-Time": "2026-03-01T12:00:00.123456789Z", "Content-Type": "application/json",
	} {
		if got := parts.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	plain := send(sinks.Sink{Kind: "json", Settings: values{"method": "put"}, Headers: values{"X-Mine": "yes"}})
	var got map[string]any
	if err := json.Unmarshal(plain.body, &got); err != nil {
		t.Fatal(err)
	}
	if plain.method != "PUT" || plain.header.Get("X-Mine") != "yes" || got["id"] != change().ID() || got["added"] != "new <!channel> @all ``` & [log in](http://evil.example)" || got["removed"] != "old <!channel> @all" || !strings.Contains(got["diff"].(string), "@@ -1,2 +1,2 @@") || got["source"] != "page" {
		t.Errorf("%s %v has %s", plain.method, plain.header, plain.body)
	}
	own := send(sinks.Sink{Kind: "json", Template: `{"what": {{json .Title}}, "tags": {{json .Tags}}}`})
	if string(own.body) != `{"what": "Page", "tags": ["news"]}` || own.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("a template made %s of %s", own.body, own.header.Get("Content-Type"))
	}
}

// A URL as Shoutrrr has it says the whole sink; secrets in it may be references.
func TestShorthands(t *testing.T) {
	tests := []struct {
		url, kind, want string
		settings        values
	}{
		{"slack://hook:AAA-BBB-123@webhook", "slack", "https://hooks.slack.com/services/AAA/BBB/123", nil},
		{"slack://hook:AAA-BBB-${secret:key}@webhook", "slack", "https://hooks.slack.com/services/AAA/BBB/${secret:key}", nil},
		{"slack://AAA/BBB/123", "slack", "https://hooks.slack.com/services/AAA/BBB/123", nil},
		{"discord://to_ken@1234", "discord", "https://discord.com/api/webhooks/1234/to_ken", nil},
		{"discord://${secret:d}@1234", "discord", "https://discord.com/api/webhooks/1234/${secret:d}", nil},
		{"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@channel", "telegram", "https://api.telegram.org/", values{"token": "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "chat": "@channel"}},
		{"telegram://${secret:bot}@telegram?channels=-100", "telegram", "https://api.telegram.org/", values{"token": "${secret:bot}", "chat": "-100"}},
		{"ntfy://ntfy.sh/topic", "ntfy", "https://ntfy.sh/", values{"topic": "topic"}},
		{"ntfy://topic", "ntfy", "https://ntfy.sh/", values{"topic": "topic"}},
		{"ntfy://me:pass@push.example:8443/topic?scheme=http&priority=4", "ntfy", "http://push.example:8443/", values{"topic": "topic", "user": "me", "password": "pass", "priority": "4"}},
		{"ntfy://:tk_1@push.example/topic", "ntfy", "https://push.example/", values{"topic": "topic", "token": "tk_1"}},
		{"gotify://push.example/sub/Atoken", "gotify", "https://push.example/sub", values{"token": "Atoken"}},
		{"matrix://:syt_token@matrix.example/?rooms=!r:matrix.example", "matrix", "https://matrix.example/", values{"token": "syt_token", "room": "!r:matrix.example"}},
		{"mattermost://bot@chat.example/key/town", "mattermost", "https://chat.example/hooks/key", values{"channel": "town", "username": "bot"}},
		{"teams://prod-1.westus.logic.azure.com/workflows/W/triggers/manual/paths/invoke?sig=S", "teams", "https://prod-1.westus.logic.azure.com/workflows/W/triggers/manual/paths/invoke?sig=S", nil},
		{"teams://group@tenant/alt/owner?host=org.webhook.office.com", "teams", "https://org.webhook.office.com/webhookb2/group@tenant/IncomingWebhook/alt/owner", nil},
		{"googlechat://chat.googleapis.com/v1/spaces/S/messages?key=K&token=T", "googlechat", "https://chat.googleapis.com/v1/spaces/S/messages?key=K&token=T", nil},
		{"pagerduty://events.eu.pagerduty.com/KEY?severity=error", "pagerduty", "https://events.eu.pagerduty.com/", values{"routing_key": "KEY", "severity": "error"}},
		{"generic://any.example/a?b=c", "json", "https://any.example/a?b=c", nil},
		{"generic+http://any.example/a", "json", "http://any.example/a", nil},
		{"slack://nothing", "", "url", nil},
		{"telegram://12:ab@telegram?chats=a,b", "", "url", nil},
		{"matrix://user:password@matrix.example/?rooms=!r:m", "", "url", nil},
		{"discord://1234", "", "url", nil},
		{"ntfy://%zz", "", "url", nil},
		{"https://unknown.example/", "", "kind", nil},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			got, err := sinks.Check(config(nil), sinks.Sink{Name: "a", URL: profile.Value(tt.url)})
			if tt.kind == "" {
				if field, _ := invalid.FieldOf(err); field != tt.want {
					t.Errorf("checked as %v, want something wrong with %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != tt.kind || string(got.URL) != tt.want || !maps.Equal(got.Settings, tt.settings) {
				t.Errorf("it is a %s at %s with %v", got.Kind, got.URL, got.Settings)
			}
		})
	}
}

// Templates can do what they need to, and cannot stop the others. What is wrong is named
// with its line.
func TestTemplates(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"fields", `{{.Title}}/{{.Source}}/{{.Seq}}/{{.Number}}/{{.ID}}/{{join "," .Tags}}`, "Page/page/3/4/page.3~k3f9q2xw/news"},
		{"texts", `{{.Added}}|{{.Removed}}`, "new <!channel> @all ``` & [log in](http://evil.example)|old <!channel> @all"},
		{"functions", `{{upper "a"}}{{lower "B"}}{{trim " c "}}{{html "<"}}{{urlquery "a b"}}{{json "q"}}{{truncate 5 "abcdefgh"}}{{replace "a" "b" "aa"}}{{default "d" ""}}{{printf "%03d" 7}}{{contains "b" "abc"}}`,
			"Abc&lt;a+b\"q\"a\n…bbd007true"},
		{"dates", `{{date "15:04 MST" "Europe/Berlin" .Before}}`, "13:00 CET"},
		{"loops", `{{range $i, $l := lines "a\nb"}}{{$i}}{{$l}}{{end}}`, "0a1b"},
		{"templates", `{{define "x"}}<{{.}}>{{end}}{{template "x" .Seq}}`, "<3>"},
		{"an unknown field", "a\nb {{.Nothing}}", "!line 2, column 5: "},
		{"an unknown function", "a\n\n{{nothing}}", "!line 3: "},
		{"the environment", `{{env "HOME"}}`, "!line 1: "},
		{"not closed", "{{if .Title}}\n", "!line 2: unexpected EOF"},
		{"an endless text", `{{range 9000}}{{$.Text}}{{$.Text}}{{$.Text}}{{end}}`, "!the output is longer than"},
		{"an endless loop", `{{range 1000000000}}{{end}}`, "!its loops go round"},
		{"loops in loops", `{{range 9000}}{{range 9000}}{{range 9000}}{{end}}{{end}}{{end}}`, "!its loops go round"},
		{"calling itself", `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`, "!its loops go round"},
		{"doubling", `{{$x := "aaaaaaaa"}}{{range 40}}{{$x = print $x $x}}{{end}}`, "!the output is longer than"},
		{"a wide number", `{{printf "%999999999d" 1}}`, "!line 1, column "},
		{"a width from elsewhere", `{{printf "%*d" 999999999 1}}`, "!line 1, column "},
		{"an unknown time zone", `{{date "15:04" "Mars/Base" .Before}}`, "!line 1, column "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			s := sinks.Sink{Name: "a", Kind: "json", URL: "https://a.example/", Template: tt.template}
			o, err := sinks.Open(config(nil), s)
			if reason, bad := strings.CutPrefix(tt.want, "!"); bad {
				if field, _ := invalid.FieldOf(err); field != "template" || !strings.Contains(err.Error(), reason) {
					t.Errorf("it is wrong by %v, want %s", err, reason)
				}
				if took := time.Since(begun); took > 5*time.Minute {
					t.Errorf("it took %v", took)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.Render(t.Context(), change(), texts)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("made %q, want %q", got, tt.want)
			}
		})
	}
}

// Secrets come from where they are kept, only for their hosts, and are in nothing that
// goes wrong.
func TestSecrets(t *testing.T) {
	vault := vaults.Open(t.TempDir())
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		w.Write([]byte("no: " + r.Header.Get("X-Token") + " " + r.URL.Path))
	})
	host := strings.TrimPrefix(e.URL, "http://")
	for name, hosts := range map[string][]string{"mine": {host}, "theirs": {"other.example"}, "free": nil} {
		if err := vault.Set(vaults.Entry{Name: name, Hosts: hosts}, []byte("token-of-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	with := func(c *sinks.Config) {
		c.Secrets = auth.Secrets{Vault: vault, Env: func(name string) string { return map[string]string{"TOKEN": "token-of-env"}[name] }}
	}
	tests := []struct {
		name   string
		origin freshet.Origin
		value  profile.Value
		path   profile.Value
		want   string // of the error
	}{
		{"of the vault", freshet.FromAPI, "${secret:mine}", "", `answered 500 Internal Server Error: "no: *** /"`},
		{"of another host", freshet.FromAPI, "${secret:theirs}", "", "headers.X-Token: ${secret:theirs}: the secret must not be sent to " + host},
		{"without hosts, over the API", freshet.FromAPI, "${secret:free}", "", "the secret names no hosts"},
		{"without hosts, in the file", freshet.FromFile, "${secret:free}", "", `"no: *** /"`},
		{"that is not there", freshet.FromFile, "${secret:nobody}", "", "headers.X-Token: ${secret:nobody}: secret nobody: not found"},
		{"of the environment", freshet.FromFile, "Bearer ${env:TOKEN}", "", `"no: Bearer *** /"`},
		{"that is not set", freshet.FromFile, "${env:NOTHING}", "", "headers.X-Token: ${env:NOTHING}: the environment variable is not set"},
		{"in the path", freshet.FromAPI, "x", "/${secret:mine}", `"no: x /***"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sinks.Sink{Name: "a", Kind: "json", URL: profile.Value(e.URL) + tt.path, Headers: values{"X-Token": tt.value}, Origin: tt.origin}
			_, err := opened(t, s, with).Send(t.Context(), message(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "token-of") {
				t.Errorf("it fails with %v, want %s", err, tt.want)
			}
		})
	}
	for _, value := range []profile.Value{"${env:TOKEN}", "${file:/etc/hostname}"} {
		_, err := sinks.Open(config(with), sinks.Sink{Name: "a", Kind: "json", URL: profile.Value(e.URL), Headers: values{"X": value}, Origin: freshet.FromAPI})
		if field, _ := invalid.FieldOf(err); field != "headers.X" {
			t.Errorf("a sink of the API with %s: %v", value, err)
		}
	}
}

// A header cannot end another one, and has a name that can be sent.
func TestHeadersAreChecked(t *testing.T) {
	for name, value := range map[string]profile.Value{"X-A": "a\r\nX-Evil: 1", "X-B": "a\x00", "X C": "a", "X:D": "a", "": "a", "X-E\n": "a"} {
		_, err := sinks.Open(sinks.Config{}, sinks.Sink{Name: "a", Kind: "json", URL: "https://a.example/", Headers: values{name: value}, Origin: freshet.FromFile})
		if field, _ := invalid.FieldOf(err); !strings.HasPrefix(field, "headers") {
			t.Errorf("a sink with the header %q: %q is taken: %v", name, value, err)
		}
	}
}

// Chat services say in their answers how long to stay away.
func TestRetryAfterInBodies(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{"ok":false,"error_code":429,"parameters":{"retry_after":7}}`: 7 * time.Second,
		`{"message":"limited","retry_after":1.5,"global":false}`:       1500 * time.Millisecond,
		`{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2500}`:         2500 * time.Millisecond,
		`{"retry_after":1e300}`:                                        24 * time.Hour,
		`{"retry_after":-4}`:                                           0,
		`no`:                                                           0,
	} {
		e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			w.Write([]byte(body))
		})
		_, err := opened(t, hook(e.URL), nil).Send(t.Context(), message(t))
		if r, _ := errors.AsType[*sinks.Refusal](err); r == nil || r.RetryAfter != want {
			t.Errorf("%s says %+v, want %v", body, r, want)
		}
	}
}

// What is shown has no secrets; what comes back as it was shown is as it was.
func TestShown(t *testing.T) {
	stored := sinks.Sink{
		Name: "a", Kind: "telegram", URL: "https://user:pw@api.telegram.org/?token=abc", Settings: values{"token": "12:secret", "chat": "-1"},
		Headers: values{"Authorization": "secret", "X-Ref": "${secret:x}"},
	}
	shown := sinks.Shown(stored)
	text, _ := json.Marshal(shown)
	for _, hidden := range []string{"12:secret", "pw@", "=abc", `"secret"`} {
		if strings.Contains(string(text), hidden) {
			t.Errorf("%s shows %s", text, hidden)
		}
	}
	if shown.Settings["chat"] != "-1" || shown.Headers["X-Ref"] != "${secret:x}" {
		t.Errorf("%s hides what is no secret", text)
	}
	edited := shown
	edited.Settings = values{"token": shown.Settings["token"], "chat": "-2"}
	back := sinks.Restore(edited, stored)
	if back.Settings["token"] != "12:secret" || back.Settings["chat"] != "-2" || back.URL != stored.URL || back.Headers["Authorization"] != "secret" {
		t.Errorf("it came back as %+v", back)
	}
	if got := sinks.Shown(sinks.Sink{Kind: "slack", URL: "https://hooks.slack.com/services/a/b/c"}).URL; got != "https://hooks.slack.com/***" {
		t.Errorf("the URL of Slack is shown as %s", got)
	}
}
