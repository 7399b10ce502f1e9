package fetch_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// As much of a body is read as is enough, however long it is; one that breaks off before
// that fails as ever.
func TestEnough(t *testing.T) {
	const enough = 100 << 10
	text := strings.Repeat("0123456789abcde\n", 1<<20) // 16 MiB, twice the limit
	for _, c := range []struct {
		name, body, coding string
		announced, cut     bool
		want               int
		fails              failure.Class
	}{
		{name: "shorter", body: text[:1000], announced: true, want: 1000},
		{name: "as long", body: text[:enough], announced: true, want: enough},
		{name: "longer", body: text, announced: true, want: enough},
		{name: "longer, and nobody knows", body: text, want: enough},
		{name: "longer, and coded", body: zipped(text), coding: "gzip", announced: true, want: enough},
		{name: "shorter, and coded", body: zipped(text[:1000]), coding: "gzip", want: 1000},
		{name: "nothing", announced: true},
		{name: "cut", body: text[:1000], cut: true, fails: failure.Truncated},
		{name: "not coded", body: text, coding: "gzip", fails: failure.Decode},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := web(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				switch {
				case c.cut:
					w.Header().Set("Content-Length", strconv.Itoa(2*len(c.body)))
				case c.announced:
					w.Header().Set("Content-Length", strconv.Itoa(len(c.body)))
				default:
					w.(http.Flusher).Flush()
				}
				io.WriteString(w, c.body)
			})
			res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url, Enough: enough})
			if c.fails != "" || err != nil {
				wantClass(t, err, c.fails)
			}
			if len(res.Body) != c.want || string(res.Body) != text[:c.want] {
				t.Errorf("%d bytes came, want the first %d", len(res.Body), c.want)
			}
			if res.WireBytes > 4*enough {
				t.Errorf("%d bytes were taken off the wire", res.WireBytes)
			}
		})
	}
}
