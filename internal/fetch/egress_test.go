package fetch_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

func post(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("event"))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestEgress sends a request and gets the response as it is, redirect or not.
func TestEgress(t *testing.T) {
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "event" || r.Header.Get("User-Agent") != "freshet/0.1 (web change capture)" {
			t.Errorf("got %q from %q", body, r.Header.Get("User-Agent"))
		}
		http.Redirect(w, r, "http://10.0.0.1/", http.StatusTemporaryRedirect)
	})
	egress := fetch.NewEgress(fetch.Config{Allow: loopback})
	defer egress.CloseIdle()
	res, err := egress.Do(post(t, url))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("got status %d, want the redirect itself", res.StatusCode)
	}
}

// TestEgressIsGuarded refuses what a fetch would refuse.
func TestEgressIsGuarded(t *testing.T) {
	arrived := tripwire(t)
	egress := fetch.NewEgress(fetch.Config{})
	for _, url := range []string{"http://" + arrived.addr + "/", "http://localhost:8080/", "http://169.254.169.254/", "http://u:p@example.com/", "ftp://example.com/"} {
		res, err := egress.Do(post(t, url))
		if err == nil {
			res.Body.Close()
		}
		wantClass(t, err, failure.Blocked)
	}
	if arrived.count() > 0 {
		t.Error("a connection arrived at loopback")
	}
}

// TestEgressEnds a response whose body never does, and tells why.
func TestEgressEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		egress := fetch.EgressOver(fetch.Config{}, pipeTo(t, func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			for {
				if _, err := conn.Write(make([]byte, 2000)); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}))
		began := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://hook.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := egress.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Error("an endless body came to an end")
		}
		res.Body.Close()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v, want 1m", took)
		}
	})
}

// TestEgressSwitch refuses a 101, whose body no deadline would end.
func TestEgressSwitch(t *testing.T) {
	addr := serve(t, say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
	res, err := fetch.NewEgress(fetch.Config{Allow: loopback}).Do(post(t, "http://"+addr+"/"))
	if err == nil {
		res.Body.Close()
	}
	wantClass(t, err, failure.Protocol)
}

// TestTrusted talks to a server on loopback, and follows it nowhere.
func TestTrusted(t *testing.T) {
	s := httptest.NewServer(http.RedirectHandler("http://10.0.0.1/", http.StatusFound))
	defer s.Close()
	client := fetch.Trusted(time.Minute)
	defer client.CloseIdleConnections()
	res, err := client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusFound {
		t.Errorf("got status %d, want the redirect itself", res.StatusCode)
	}
}

func TestUserAgent(t *testing.T) {
	for _, tt := range []struct {
		config fetch.Config
		want   string
	}{
		{fetch.Config{}, "freshet/0.1 (web change capture)"},
		{fetch.Config{Contact: "https://example.org/bot"}, "freshet/0.1 (web change capture; +https://example.org/bot)"},
		{fetch.Config{Agent: "watcher/2", Contact: "ops@example.org"}, "watcher/2 (+ops@example.org)"},
	} {
		got := ""
		url := web(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("User-Agent") })
		if _, err := newClient(t, tt.config).Fetch(t.Context(), freshet.Request{URL: url}); err != nil {
			t.Fatal(err)
		}
		if got != tt.want || tt.config.UserAgent() != tt.want {
			t.Errorf("the server is told %q, want %q", got, tt.want)
		}
	}
}
