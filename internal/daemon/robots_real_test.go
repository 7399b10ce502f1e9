package daemon_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// Over real connections, a robots.txt that is obeyed decides whether a page is asked for,
// and one that is ignored is not even read.
func TestRobotsOverTheWire(t *testing.T) {
	t.Parallel()
	const closed = "User-agent: *\nDisallow: /\n"
	says := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	elsewhere := httptest.NewServer(says(closed))
	t.Cleanup(elsewhere.Close)
	for _, tt := range []struct {
		name   string
		robots http.HandlerFunc
		fails  failure.Class
	}{
		{"allowed", says("User-agent: *\nDisallow: /private\n"), ""},
		{"disallowed", says(closed), failure.RobotsDisallow},
		{"404", status(404), ""},
		{"403", status(403), ""},
		{"429", status(429), failure.RobotsUnreachable},
		{"500", status(500), failure.RobotsUnreachable},
		{"a page", says("<!doctype html><title>Not found</title>"), ""},
		{"16 MB", says(closed + strings.Repeat("# filler\n", 16<<20/9)), failure.RobotsDisallow},
		{"never answers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, failure.RobotsUnreachable},
		{"drips", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "#")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, failure.RobotsUnreachable},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, failure.RobotsUnreachable},
		{"redirects elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/r.txt", http.StatusMovedPermanently)
		}, failure.RobotsDisallow},
		{"redirects for ever", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/robots.txt", http.StatusFound) }, ""},
	} {
		for _, setting := range []freshet.RobotsSetting{freshet.RobotsObey, freshet.RobotsIgnore} {
			t.Run(tt.name+", "+string(setting), func(t *testing.T) {
				var reads, pages atomic.Int32
				mux := http.NewServeMux()
				mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) { reads.Add(1); tt.robots(w, r) })
				mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) { pages.Add(1); io.WriteString(w, "page") })
				server := httptest.NewServer(mux)
				defer server.Close()
				client := fetch.New(fetch.Config{
					Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, HeaderTimeout: 300 * time.Millisecond, Total: 600 * time.Millisecond,
				})
				defer client.CloseIdle()
				limits := sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Second}}
				b := begin(t, t.TempDir(), daemon.Config{Fetcher: client, Limits: limits}, freshet.Source{ID: "s", URL: server.URL + "/page", Robots: setting, Paused: true})
				defer b.stop()
				<-b.Started()
				o, err := b.Poll(t.Context(), "s")
				if err != nil {
					t.Fatal(err)
				}
				wanted := tt.fails
				if setting == freshet.RobotsIgnore {
					wanted = ""
				}
				if o.Failure != wanted || (pages.Load() > 0) != (wanted == "") {
					t.Errorf("it ended as %s %s: %s, and the page was asked for %d times", o.Result, o.Failure, o.Err, pages.Load())
				}
				if (reads.Load() > 0) != (setting == freshet.RobotsObey) {
					t.Errorf("robots.txt was read %d times", reads.Load())
				}
			})
		}
	}
}
