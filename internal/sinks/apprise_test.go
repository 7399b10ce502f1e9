package sinks_test

import (
	"bufio"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
	"freshet/internal/test/tier"
)

// URLs of Apprise become kinds of our own, and those of other services go to an Apprise server.
func TestAppriseURLs(t *testing.T) {
	const server = "http://127.0.0.1:8000"
	tests := []struct {
		url, kind, want string
		settings        values
	}{
		{"tgram://123456789:abcdefg_hijklmnop/-100", "telegram", "https://api.telegram.org/", values{"token": "123456789:abcdefg_hijklmnop", "chat": "-100"}},
		{"tgram://123456789:abcdefg_hijklmnop/12/34", "apprise", server + "/", values{"urls": "tgram://123456789:abcdefg_hijklmnop/12/34"}},
		{"discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", "discord", "https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", nil},
		{"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", "slack", "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", nil},
		{"slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", "apprise", server + "/", values{"urls": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general"}},
		{"slack://xoxb-1234-1234-4ddbc191d40ee098cbaae6f3523ada2d/#general", "apprise", server + "/", values{"urls": "slack://xoxb-1234-1234-4ddbc191d40ee098cbaae6f3523ada2d/#general"}},
		{"ntfys://push.example/topic?priority=5", "ntfy", "https://push.example/", values{"topic": "topic", "priority": "5"}},
		{"ntfys://tk_abc@push.example/topic", "ntfy", "https://push.example/", values{"topic": "topic", "token": "tk_abc"}},
		{"ntfys://push.example/one/two", "apprise", server + "/", values{"urls": "ntfys://push.example/one/two"}},
		{"gotifys://push.example/Atoken", "gotify", "https://push.example/", values{"token": "Atoken"}},
		{"mmosts://bot@chat.example/key?channel=town", "mattermost", "https://chat.example/hooks/key", values{"username": "bot", "channel": "town"}},
		{"mmost://chat.example:8065/key", "mattermost", "http://chat.example:8065/hooks/key", nil},
		{"matrixs://syt_token@matrix.example/!room:matrix.example", "matrix", "https://matrix.example/", values{"token": "syt_token", "room": "!room:matrix.example"}},
		{"matrixs://user:pass@matrix.example/#general", "apprise", server + "/", values{"urls": "matrixs://user:pass@matrix.example/#general"}},
		{"msteams://team/8b799edf@6d4e8f6d/0c2b/3e7a/", "teams", "https://team.webhook.office.com/webhookb2/8b799edf@6d4e8f6d/IncomingWebhook/0c2b/3e7a", nil},
		{"workflows://prod-1.westus.logic.azure.com:443/643e69f8/KG3x", "teams", "https://prod-1.westus.logic.azure.com/workflows/643e69f8/triggers/manual/paths/invoke?api-version=2016-06-01&sig=KG3x&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0", nil},
		{"gchat://space/key/token", "googlechat", "https://chat.googleapis.com/v1/spaces/space/messages?key=key&token=token", nil},
		{"jsons://hooks.example/any?method=put", "json", "https://hooks.example/any", values{"method": "PUT"}},
		{"mailtos://me:secret@gmail.com?to=you@b.example", "email", "smtp://smtp.gmail.com:587", values{"user": "me@gmail.com", "password": "secret", "from": "me@gmail.com", "to": "you@b.example"}},
		{"mailtos://me:secret@a.example:465?mode=ssl&smtp=mail.a.example&from=Watch&to=you@b.example", "email", "smtps://mail.a.example:465", values{"user": "me", "password": "secret", "from": "me@a.example", "to": "you@b.example"}},
		{"pover://user@token", "apprise", server + "/", values{"urls": "pover://user@token"}},
		{"pover://user@${secret:pushover}", "apprise", server + "/", values{"urls": "pover://user@${secret:pushover}"}},
		{"xmls://hooks.example/any", "apprise", server + "/", values{"urls": "xmls://hooks.example/any"}},
	}
	for _, tt := range tests {
		got, err := sinks.Check(config(func(c *sinks.Config) { c.Apprise = server }), sinks.Sink{Name: "a", URL: profile.Value(tt.url)})
		if err != nil || got.Kind != tt.kind || string(got.URL) != tt.want || !maps.Equal(got.Settings, tt.settings) {
			t.Errorf("%s is a %s at %s with %v, %v", tt.url, got.Kind, got.URL, got.Settings, err)
		}
		if got := sinks.Shown(got); strings.Contains(string(got.URL)+string(got.Settings["urls"])+string(got.Settings["token"])+string(got.Settings["password"]), "secret") && !strings.Contains(tt.url, "${") {
			t.Errorf("%s is shown as %v", tt.url, got)
		}
	}
	_, err := sinks.Check(config(nil), sinks.Sink{Name: "a", URL: "pover://user@token"})
	if field, _ := invalid.FieldOf(err); field != "url" || !strings.Contains(freshet.HintOf(err), "server=") {
		t.Errorf("without a server: %v", err)
	}
	s, err := sinks.Check(config(nil), sinks.Sink{Name: "a", URL: "pover://user@token", Settings: values{"server": server}})
	if err != nil || s.Kind != "apprise" || string(s.URL) != server+"/" || len(s.Settings) != 1 {
		t.Errorf("with a server of its own it is %v, %v", s, err)
	}
	for _, bad := range []sinks.Sink{{URL: server}, {URL: "exec:apprise", Settings: values{"urls": "pover://a@b"}}} {
		bad.Name, bad.Kind = "a", "apprise"
		if _, err := sinks.Check(config(nil), bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// appriseServer is a small Apprise API server around the package itself.
const appriseServer = `
import apprise, http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        a = apprise.Apprise()
        ok = self.path == "/notify/" and a.add(m["urls"]) and a.notify(title=m["title"], body=m["body"], notify_type=m["type"], body_format=m["format"])
        self.send_response(200 if ok else 424)
        self.end_headers()
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
`

// The real Apprise sends what we have it send, and for a URL that is one of our own kinds we ask
// the same endpoint as it does.
func TestRealApprise(t *testing.T) {
	tier.Slow(t, "it starts Apprise")
	command, err := exec.LookPath("apprise")
	if err != nil {
		t.Skip("Apprise is not installed: apt-get install apprise, or make setup")
	}
	came := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	host := strings.TrimPrefix(came.URL, "http://")
	t.Setenv("TMPDIR", t.TempDir())
	patient := func(c *sinks.Config) { c.Exec, c.Timeout = true, 2*time.Minute }
	send := func(s sinks.Sink) {
		t.Helper()
		s.Name, s.Origin = "a", freshet.FromFile
		o := opened(t, s, patient)
		body, err := o.Render(t.Context(), change(), texts)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := o.Send(t.Context(), sinks.Message{ID: change().ID(), Body: body}); err != nil {
			t.Fatalf("%s: %s, %v", s.URL, answer, err)
		}
	}

	for _, url := range []string{"json://" + host + "/a/b", "mmost://" + host + "/3ccdd113474722377935511fc85d3dd4", "gotify://" + host + "/AbCdEf.123-456?scheme=http", "ntfy://" + host + "/topic?scheme=http&mode=private"} {
		came.arrivals = nil
		if out, err := exec.Command(command, "--title", "T", "--body", "B", url).CombinedOutput(); err != nil || len(came.arrivals) != 1 {
			t.Errorf("%s: Apprise sends %d requests: %v %s", url, len(came.arrivals), err, out)
			continue
		}
		send(sinks.Sink{URL: profile.Value(url)})
		theirs, ours := came.arrivals[0], came.arrivals[1]
		if ours.method != theirs.method || ours.url != theirs.url || ours.header.Get("X-Gotify-Key") != theirs.header.Get("X-Gotify-Key") {
			t.Errorf("for %s Apprise sends %s %s, and we %s %s", url, theirs.method, theirs.url, ours.method, ours.url)
		}
	}

	server := exec.Command("/usr/bin/python3", "-c", appriseServer)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []sinks.Sink{
		{URL: profile.Value("xml://" + host + "/api"), Settings: values{"server": profile.Value("http://127.0.0.1:" + strings.TrimSpace(port))}},
		{Kind: "apprise", URL: profile.Value("exec:" + command), Settings: values{"urls": profile.Value("xml://" + host + "/command")}},
	} {
		came.arrivals = nil
		send(s)
		if len(came.arrivals) != 1 {
			t.Fatalf("%s: %d requests arrived", s.URL, len(came.arrivals))
		}
		text := string(came.arrivals[0].body)
		for _, part := range []string{"<Subject>Page</Subject>", "new &lt;!channel&gt;"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: what arrives has no %q:\n%s", s.URL, part, text)
			}
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); strings.Contains(strings.Join(namesOf(left), " "), "freshet-apprise-") {
		t.Error("the file with the URLs is left behind")
	}
}

func namesOf(entries []os.DirEntry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
