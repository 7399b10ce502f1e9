package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A plan from the store goes by the announced times that the daemon goes by, and by no others.
func TestPlanGoesByWhatIsBelieved(t *testing.T) {
	const windows = 48 // each of 25 minutes, one an hour
	begin := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	var times []string
	for k := range windows {
		until := begin.Add(time.Duration(k)*time.Hour + 30*time.Minute)
		times = append(times, fmt.Sprintf(`{"after": %q, "until": %q}`, until.Add(-25*time.Minute).Format(time.RFC3339), until.Format(time.RFC3339)))
	}
	for _, tt := range []struct {
		every    string
		believed bool
		want     bool
	}{{"1h", true, true}, {"1h", false, false}, {"0s", true, false}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/why"):
				fmt.Fprintf(w, `{"foretold": {"at": "2026-06-09T00:10:00Z", "by": "text", "every": %q, "right": 20, "times": 20, "believed": %t}}`, tt.every, tt.believed)
			case strings.HasSuffix(r.URL.Path, "/taught"):
				fmt.Fprintf(w, `{"times": [%s]}`, strings.Join(times, ","))
			case r.URL.Path == "/api/v1/sources":
				fmt.Fprint(w, `{"items": [{"id": "a", "url": "http://a.example/"}], "next": null}`)
			case strings.HasSuffix(r.URL.Path, "/changes"):
				fmt.Fprint(w, `{"items": []}`)
			default:
				fmt.Fprint(w, `{"id": "a", "url": "http://a.example/"}`)
			}
		}))
		var out bytes.Buffer
		p := &program{out: &out, err: &out, now: time.Now, env: func(string) string { return "" }}
		code := p.run(t.Context(), []string{"lab", "plan", "--from-store", "a", "--polls", "1", "--server", server.URL})
		server.Close()
		if got := strings.HasPrefix(out.String(), "hour {11}\n"); code != 0 || got != tt.want {
			t.Errorf("every %s, believed %t: exit %d and %s", tt.every, tt.believed, code, &out)
		}
	}
}
