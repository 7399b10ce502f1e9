package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/test/kit"
)

// A hub notes subscriptions, confirms them before it answers, and can tell of news.
type hub struct {
	mu    sync.Mutex
	asked []url.Values
	heard []string // what callbacks answered to the challenge
}

func (h *hub) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_ = req.ParseForm()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, req.Form)
	confirm := req.Form.Get("hub.callback") + "?" + url.Values{
		"hub.mode": {"subscribe"}, "hub.topic": {req.Form.Get("hub.topic")}, "hub.challenge": {"challenge-17"}, "hub.lease_seconds": {"864000"},
	}.Encode()
	resp, err := http.Get(confirm)
	if err == nil {
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		h.heard = append(h.heard, fmt.Sprint(resp.StatusCode, " ", string(text)))
	}
	w.WriteHeader(http.StatusAccepted)
}

// A feed that names a hub is subscribed to, by the poll that sees it, once; what the
// hub then says has it polled, if it is signed.
func TestWebSub(t *testing.T) {
	t.Parallel()
	h := &hub{}
	hubServer := httptest.NewServer(h)
	t.Cleanup(hubServer.Close)
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/atom+xml")
		fmt.Fprintf(w, `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="%s"/><link rel="self" href="/feed"/><title>T</title><entry><title>one</title><id>1</id></entry></feed>`, hubServer.URL)
	}))
	t.Cleanup(feed.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := settings(t)
	s.Limits.SourceGap = 0
	s.API.WebSubURL = "http://" + l.Addr().String()
	c, at, _ := serve(t, s, app.ServeConfig{Listener: l, Load: func() (config.Settings, error) { return s, nil }})
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "feed", URL: feed.URL + "/feed"}); err != nil {
		t.Fatal(err)
	}
	requests := 0
	for range 3 {
		answer, err := c.Sources.Poll(t.Context(), "feed", 30*time.Second, false)
		if err != nil || answer.Outcome == nil {
			t.Fatalf("the poll ended with %+v, %v", answer, err)
		}
		requests += answer.Outcome.Requests
	}
	h.mu.Lock()
	asked, heard := h.asked, fmt.Sprint(h.heard)
	h.mu.Unlock()
	if len(asked) != 1 || heard != "[200 challenge-17]" || asked[0].Get("hub.topic") != feed.URL+"/feed" {
		t.Fatalf("the hub was asked %v and heard %s", asked, heard)
	}
	callback, key := asked[0].Get("hub.callback"), asked[0].Get("hub.secret")
	if !strings.HasPrefix(callback, at+"/api/v1/websub/feed~") || len(key) < 40 {
		t.Errorf("the callback is %s with the secret %s", callback, key)
	}
	before, err := c.Sources.Get(t.Context(), "feed")
	if err != nil {
		t.Fatal(err)
	}
	tell := func(to, signature string) int {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader("news"))
		req.Header.Set("X-Hub-Signature", signature)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("news"))
	good := fmt.Sprintf("sha256=%x", mac.Sum(nil))
	for signature, want := range map[string]int{"": 202, "sha256=00": 202, "md5=" + good[7:]: 202} {
		if code := tell(callback, signature); code != want {
			t.Errorf("the signature %q is answered with %d", signature, code)
		}
	}
	if code := tell(callback+"0", good); code != http.StatusNotFound {
		t.Errorf("a wrong callback is answered with %d", code)
	}
	for _, q := range []string{"hub.mode=subscribe&hub.topic=other&hub.challenge=x", "hub.mode=unsubscribe&hub.topic=" + url.QueryEscape(feed.URL+"/feed") + "&hub.challenge=x"} {
		resp, err := http.Get(callback + "?" + q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s is confirmed with %d", q, resp.StatusCode)
		}
	}
	if code := tell(callback, good); code != http.StatusAccepted {
		t.Errorf("news are answered with %d", code)
	}
	kit.Until(t, "the news cause a poll", func() bool {
		now, err := c.Sources.Get(t.Context(), "feed")
		if err != nil {
			t.Fatal(err)
		}
		return now.Standing.Polls > before.Standing.Polls
	})
}
