package fetch_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// How long a response stays as it is, is said by its max-age and, without one, by
// when it expires.
func TestFreshFor(t *testing.T) {
	const date = "Sun, 01 Mar 2026 12:00:00 GMT"
	tests := []struct {
		name   string
		header []string
		status int
		want   time.Duration
	}{
		{"nothing", nil, 200, 0},
		{"a max-age", []string{"Cache-Control", "public, max-age=600"}, 200, 10 * time.Minute},
		{"of an answer without a body", []string{"Cache-Control", "max-age=600"}, 304, 10 * time.Minute},
		{"in quotes and capitals", []string{"Cache-Control", `Max-Age="600"`}, 200, 10 * time.Minute},
		{"the smaller of two", []string{"Cache-Control", "max-age=600, max-age=60"}, 200, time.Minute},
		{"for shared caches only", []string{"Cache-Control", "s-maxage=600"}, 200, 0},
		{"already old", []string{"Cache-Control", "max-age=600", "Age", "550"}, 200, 50 * time.Second},
		{"too old", []string{"Cache-Control", "max-age=600", "Age", "700"}, 200, 0},
		{"not to be used again", []string{"Cache-Control", "max-age=600, no-cache"}, 200, 0},
		{"not to be kept", []string{"Cache-Control", "no-store, max-age=600"}, 200, 0},
		{"zero", []string{"Cache-Control", "max-age=0", "Expires", "Sun, 01 Mar 2026 12:10:00 GMT"}, 200, 0},
		{"for ever", []string{"Cache-Control", "max-age=31536000, immutable"}, 200, 7 * 24 * time.Hour},
		{"no number", []string{"Cache-Control", "max-age=-5"}, 200, 0},
		{"beyond all numbers", []string{"Cache-Control", "max-age=99999999999999999999999"}, 200, 0},
		{"expires", []string{"Expires", "Sun, 01 Mar 2026 12:10:00 GMT"}, 200, 10 * time.Minute},
		{"expired", []string{"Expires", "Sun, 01 Mar 2026 11:00:00 GMT"}, 200, 0},
		{"expires at no date", []string{"Expires", "0"}, 200, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", date)
				for i := 0; i+1 < len(tt.header); i += 2 {
					w.Header().Set(tt.header[i], tt.header[i+1])
				}
				w.WriteHeader(tt.status)
			}))
			defer s.Close()
			resp, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: s.URL, Validators: freshet.Validators{ETag: `"1"`}})
			if err != nil || resp.FreshFor != tt.want {
				t.Errorf("the response stays as it is for %v (%v), want %v", resp.FreshFor, err, tt.want)
			}
		})
	}
}
