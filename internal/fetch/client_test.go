package fetch_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// TestFetch looks at all that a good response brings.
func TestFetch(t *testing.T) {
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Date", "Mon, 02 Jan 2006 15:04:05 GMT")
		h.Set("Last-Modified", "Mon, 02 Jan 2006 15:04:04 GMT")
		h.Set("Etag", `"v1"`)
		h.Set("Content-Encoding", "gzip")
		h.Set("Set-Cookie", "a=b")
		h.Set("X-Served-By", "cache")
		io.WriteString(w, zipped("a page"))
	})
	got, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	want := freshet.Response{
		Method: http.MethodGet,
		Status: 200,
		URL:    url,
		Header: http.Header{
			"Content-Type":     {"text/html; charset=utf-8"},
			"Content-Encoding": {"gzip"},
			"Content-Length":   {"30"},
			"Set-Cookie":       {"a=b"},
			"X-Served-By":      {"cache"},

			"Date":          {"Mon, 02 Jan 2006 15:04:05 GMT"},
			"Last-Modified": {"Mon, 02 Jan 2006 15:04:04 GMT"},
			"Etag":          {`"v1"`},
		},
		Body:       []byte("a page"),
		Validators: freshet.Validators{ETag: `"v1"`, LastModified: "Mon, 02 Jan 2006 15:04:04 GMT"},
		MediaType:  "text/html; charset=utf-8",
		Cookies:    []string{"a=b"},
		WireBytes:  int64(len(zipped("a page"))),
		Requests:   1,
		Modified:   time.Date(2006, 1, 2, 15, 4, 4, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the response is not as sent (-want +got):\n%s", diff)
	}
}

// What is kept of a header has no secrets, and is neither long nor what no header can have.
func TestKeptHeader(t *testing.T) {
	got := fetch.KeptHeader(http.Header{
		"Content-Type":    {"text/html"},
		"Set-Cookie":      {"id=s3cret; Path=/;expires=Sun, 01 Mar 2026 12:00:00 GMT; HttpOnly", "bare", "a=b"},
		"Report-To":       {`{"endpoints":[{"url":"https:\/\/a.example\/?s=token"}]}`},
		"Authorization":   {"Bearer s3cret"},
		"X-Csrf-Token":    {"s3cret"},
		"Cookie":          {"id=s3cret"},
		"X-Amz-Signature": {"s3cret", "s3cret"},
		"Link":            {strings.Repeat("x", 9<<10)},
		"X-Bad":           {"a\x00b"},
		"Vary":            {"Accept", "Cookie"},
	})
	want := http.Header{
		"Content-Type":    {"text/html"},
		"Set-Cookie":      {"id=***; Path=/; HttpOnly", "bare=***", "a=***"},
		"Authorization":   {"***"},
		"X-Csrf-Token":    {"***"},
		"Cookie":          {"***"},
		"X-Amz-Signature": {"***"},
		"Vary":            {"Accept", "Cookie"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the header is not kept as it should be (-want +got):\n%s", diff)
	}
	many := http.Header{}
	for n := range 100 {
		many[fmt.Sprintf("X-%03d", n)] = []string{strings.Repeat("y", 1<<10)}
	}
	size := 0
	for name, values := range fetch.KeptHeader(many) {
		size += len(name) + len(values[0])
	}
	if size < 30<<10 || size > 32<<10 {
		t.Errorf("%d bytes of many headers are kept, want nearly 32 KiB", size)
	}
}

// TestConditional asks with validators and without.
func TestConditional(t *testing.T) {
	const old = "Mon, 02 Jan 2006 15:04:05 GMT"
	tests := []struct {
		name     string
		asked    freshet.Validators
		etag, lm string // sent
		want     freshet.Validators
		wantIMS  string
		wantINM  string
	}{
		{"both", freshet.Validators{ETag: `"a"`, LastModified: old}, "", "", freshet.Validators{ETag: `"a"`, LastModified: old}, old, `"a"`},
		{"a weak tag", freshet.Validators{ETag: `W/"a"`}, "", "", freshet.Validators{ETag: `W/"a"`}, "", `W/"a"`},
		{"a new tag comes with the 304", freshet.Validators{ETag: `"a"`}, `"b"`, "", freshet.Validators{ETag: `"b"`}, "", `"a"`},
		{"a date only", freshet.Validators{LastModified: old}, "", old, freshet.Validators{LastModified: old}, old, ""},
		{"a tag that is none is not sent", freshet.Validators{ETag: "a\r\nX: y", LastModified: old}, "", "", freshet.Validators{ETag: "a\r\nX: y", LastModified: old}, old, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := web(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("If-None-Match"); got != tt.wantINM {
					t.Errorf("If-None-Match is %q, want %q", got, tt.wantINM)
				}
				if got := r.Header.Get("If-Modified-Since"); got != tt.wantIMS {
					t.Errorf("If-Modified-Since is %q, want %q", got, tt.wantIMS)
				}
				if tt.etag != "" {
					w.Header().Set("Etag", tt.etag)
				}
				if tt.lm != "" {
					w.Header().Set("Last-Modified", tt.lm)
				}
				w.WriteHeader(http.StatusNotModified)
			})
			res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url, Validators: tt.asked})
			if err != nil || !res.NotModified || res.Body != nil {
				t.Fatalf("got %+v and %v, want it unmodified", res, err)
			}
			if res.Validators != tt.want {
				t.Errorf("the validators are now %+v, want %+v", res.Validators, tt.want)
			}
		})
	}
}

// TestDatesOfTheSameSecond are no validators: the page may change once more
// before the second is over.
func TestDatesOfTheSameSecond(t *testing.T) {
	const now, before = "Mon, 02 Jan 2006 15:04:05 GMT", "Mon, 02 Jan 2006 15:04:04 GMT"
	for lm, want := range map[string]string{now: "", before: before, "yesterday": ""} {
		build := page(200, "page", "Date", now, "Last-Modified", lm)
		res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: build(t).url})
		if err != nil || res.LastModified != want {
			t.Errorf("Last-Modified %q at %q is kept as %q (%v), want %q", lm, now, res.LastModified, err, want)
		}
	}
}

// TestModified believes a page that says when it changed, if that can be: not in
// the future, but for clocks that differ a little, and not before the Web.
func TestModified(t *testing.T) {
	const now = "Mon, 02 Jan 2006 15:00:00 GMT"
	tests := map[string]bool{
		"Mon, 02 Jan 2006 14:00:00 GMT": true, now: true,
		"Mon, 02 Jan 2006 15:05:00 GMT": true, "Mon, 02 Jan 2006 15:05:01 GMT": false,
		"Mon, 01 Jan 1990 00:00:00 GMT": true, "Sun, 31 Dec 1989 23:59:59 GMT": false,
		"Thu, 01 Jan 1970 00:00:00 GMT": false, "yesterday": false,
	}
	for lm, believed := range tests {
		for _, status := range []int{200, 304} {
			url := web(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", now)
				w.Header().Set("Last-Modified", lm)
				w.WriteHeader(status)
			})
			res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url, Validators: freshet.Validators{ETag: `"a"`}})
			if err != nil {
				t.Fatal(err)
			}
			want, _ := http.ParseTime(lm)
			if !believed {
				want = time.Time{}
			}
			if !res.Modified.Equal(want) {
				t.Errorf("a page that says with %d that it changed at %q changed at %v, want %v", status, lm, res.Modified, want)
			}
		}
	}
}

// TestNoValidatorsOfAFailure: a response that could not be read whole must not be
// asked after by its validators, or the page would be taken to be known.
func TestNoValidatorsOfAFailure(t *testing.T) {
	half := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nEtag: \"a\"\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 100\r\n\r\nhalf"
	res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: fmt.Sprintf("http://%s/", serve(t, say(half)))})
	wantClass(t, err, failure.Truncated)
	if res.Validators != (freshet.Validators{}) || !res.Modified.IsZero() || res.Body != nil {
		t.Errorf("half a page leaves %+v behind, modified at %v, and %d bytes of body", res.Validators, res.Modified, len(res.Body))
	}
}

// TestAsksHonestly looks at the request as the server gets it.
func TestAsksHonestly(t *testing.T) {
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		want := http.Header{
			"User-Agent":      {"tester/1 (+https://example.com/)"},
			"Accept":          {r.Header.Get("Accept")},
			"Accept-Encoding": {"gzip, br, zstd"},
		}
		if diff := cmp.Diff(want, r.Header); diff != "" {
			t.Errorf("the request header is not as wanted (-want +got):\n%s", diff)
		}
	})
	client := newClient(t, fetch.Config{Agent: "tester/1 (+https://example.com/)"})
	if _, err := client.Fetch(t.Context(), freshet.Request{URL: url}); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionsAreReused polls many times, also after redirects and errors
// with small pages, over one connection.
func TestConnectionsAreReused(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		case "/coded":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, zipped("page"))
		case "/chunked":
			io.WriteString(w, "page")
			w.(http.Flusher).Flush()
			io.WriteString(w, "page")
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	client := newClient(t, fetch.Config{})
	for range 5 {
		for _, path := range []string{"/", "/moved", "/missing", "/coded", "/chunked"} {
			client.Fetch(t.Context(), freshet.Request{URL: s.URL + path})
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("25 fetches took %d connections, want 1", n)
	}
}

// TestStaleConnection hangs up a kept connection as soon as it is used again:
// the request is made once more, and both are counted.
func TestStaleConnection(t *testing.T) {
	var heard atomic.Int32
	addr := serve(t, func(conn net.Conn) {
		if hear(conn) {
			heard.Add(1)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage")
		}
		if hear(conn) {
			heard.Add(1)
		}
	})
	client := newClient(t, fetch.Config{})
	total := 0
	for range 2 {
		res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://" + addr + "/"})
		if err != nil || string(res.Body) != "page" {
			t.Fatalf("got %q and %v, want the page", res.Body, err)
		}
		total += res.Requests
	}
	if total != 3 || heard.Load() != 3 {
		t.Errorf("the client counted %d requests and the server %d, want 3", total, heard.Load())
	}
}

// TestWholeOrNothing cuts a coded body at every byte: none of the pieces may
// pass for the page.
func TestWholeOrNothing(t *testing.T) {
	text := strings.Repeat("All of it, or nothing. ", 20)
	for encoding, body := range map[string]string{
		"gzip": zipped(text), "zstd": zstded([]byte(text)), "br": brotliedText(text), "deflate": deflatedText(text), "Deflate": bareText(text),
	} {
		whole, err := fetch.Decode(fetch.Config{}, encoding, strings.NewReader(body))
		if err != nil || string(whole) != text {
			t.Fatalf("%s: the whole decodes to %q and %v", encoding, whole, err)
		}
		for n := 1; n < len(body); n++ {
			if got, err := fetch.Decode(fetch.Config{}, encoding, strings.NewReader(body[:n])); err == nil {
				t.Errorf("%s: %d of %d bytes pass for a page: %.40q", encoding, n, len(body), got)
			}
		}
		for _, junk := range []string{"\x00", "junk", body[:len(body)/2]} {
			if _, err := fetch.Decode(fetch.Config{}, encoding, strings.NewReader(body+junk)); err == nil {
				t.Errorf("%s: %q behind the page goes unnoticed", encoding, junk)
			}
		}
	}
}

// TestExactLimits takes a body of just the limit and refuses one more byte.
func TestExactLimits(t *testing.T) {
	config := fetch.Config{WireBytes: 1000, DecodedBytes: 5000}
	for _, chunked := range []bool{false, true} {
		for size, class := range map[int]failure.Class{999: "", 1000: "", 1001: failure.LargeWire} {
			url := web(t, func(w http.ResponseWriter, _ *http.Request) {
				if chunked {
					w.(http.Flusher).Flush()
				}
				w.Write(make([]byte, size))
			})
			res, err := newClient(t, config).Fetch(t.Context(), freshet.Request{URL: url})
			if class != "" {
				wantClass(t, err, class)
			} else if err != nil || len(res.Body) != size {
				t.Errorf("%d bytes (chunked: %v) come as %d and %v", size, chunked, len(res.Body), err)
			}
		}
	}
	for size, ok := range map[int]bool{4999: true, 5000: true, 5001: false} {
		got, err := fetch.Decode(config, "gzip", strings.NewReader(zipped(strings.Repeat("x", size))))
		if ok != (err == nil) || ok && len(got) != size {
			t.Errorf("%d bytes decode to %d and %v", size, len(got), err)
		}
	}
}

// TestRedirectLocations are taken as browsers take them.
func TestRedirectLocations(t *testing.T) {
	location := ""
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header()["Location"] = []string{location}
			w.WriteHeader(http.StatusFound)
			return
		}
		io.WriteString(w, r.RequestURI)
	})
	client := newClient(t, fetch.Config{})
	for given, want := range map[string]string{
		"/next":                         "/next",
		"next?a=b#frag":                 "/next?a=b",
		"/with space":                   "/with%20space",
		"/ü":                            "/%C3%BC",
		"/\xfc?\xfc":                    "/%FC?%FC",
		"//" + url[7:] + "x":            "/x",
		"http://user@" + url[7:]:        string(failure.BadLocation),
		"/" + strings.Repeat("a", 8192): string(failure.BadLocation),
		"mailto:a@b.example":            string(failure.BlockedScheme),
		"http://intranet/":              string(failure.BlockedEgress),
		"http://93.184.215.14:22/":      string(failure.BlockedPort),
	} {
		location = given
		res, err := client.Fetch(t.Context(), freshet.Request{URL: url})
		got := outcome(res, err)
		if err == nil {
			got = string(res.Body)
		}
		if got != want {
			t.Errorf("the location %.60q leads to %s (%v), want %s", given, got, err, want)
		}
	}
}

// TestRetryAfter reads what servers ask for.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"7":                             7 * time.Second,
		" 120 ":                         2 * time.Minute,
		"86401":                         24 * time.Hour,
		"99999999999999999999999":       24 * time.Hour,
		"-5":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Thu, 01 Jan 2026 12:00:30 GMT": 30 * time.Second,
		"Thu, 01 Jan 2026 11:00:00 GMT": 0,
		"Fri, 01 Jan 2038 12:00:00 GMT": 24 * time.Hour,
	} {
		if got := fetch.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q asks for %v, want %v", value, got, want)
		}
	}
	skewed := http.Header{"Date": {"Thu, 01 Jan 2015 00:00:00 GMT"}, "Retry-After": {"Thu, 01 Jan 2015 00:05:00 GMT"}}
	if got := fetch.RetryAfter(skewed, now); got != 5*time.Minute {
		t.Errorf("a server with a wrong clock asks for %v, want 5m", got)
	}
}

// TestFailuresTellTheStatus as the last word of their class.
func TestFailuresTellTheStatus(t *testing.T) {
	for status, want := range map[int]string{
		300: "http.300", 400: "http.400", 401: "http.401", 404: "http.404", 410: "gone", 429: "server_error.429",
		500: "server_error.500", 503: "server_error.503", 599: "server_error.599", 206: "protocol.partial", 205: "protocol.nothing",
	} {
		res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: page(status, "")(t).url})
		if got := outcome(res, err); got != want || res.Status != status {
			t.Errorf("status %d ends as %s with status %d, want %s", status, got, res.Status, want)
		}
	}
	res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: fmt.Sprintf("http://%s/", serve(t, say("HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n")))})
	if got := outcome(res, err); got != "protocol" {
		t.Errorf("status 999 ends as %s, want protocol", got)
	}
}

// TestRedirectedDates moves a redirect to an older page, which has not been
// modified since the newer one was: it must be brought all the same.
func TestRedirectedDates(t *testing.T) {
	const older, newer = "Mon, 02 Jan 2006 15:04:05 GMT", "Tue, 03 Jan 2006 15:04:05 GMT"
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/older", http.StatusFound)
			return
		}
		modified, _ := http.ParseTime(older)
		http.ServeContent(w, r, "older.txt", modified, strings.NewReader("the older page"))
	})
	res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url, Validators: freshet.Validators{LastModified: newer}})
	if err != nil || string(res.Body) != "the older page" {
		t.Errorf("got %q and %v, want the older page", res.Body, err)
	}
	if res.LastModified != "" {
		t.Errorf("the date %q of a page behind a redirect is kept to ask with", res.LastModified)
	}
}

// TestLocalhost is where loopback is, as far as that is open.
func TestLocalhost(t *testing.T) {
	url := web(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	_, port, _ := net.SplitHostPort(strings.Trim(url[len("http://"):], "/"))
	for _, host := range []string{"localhost:" + port, "app.localhost:" + port} {
		res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: "http://" + host + "/"})
		if err != nil || string(res.Body) != host {
			t.Errorf("got %q and %v, want %q", res.Body, err, host)
		}
	}
}

// TestManyAtOnce fetches in all codings at once, through the same decoders and
// buffers, and gets to each its own.
func TestManyAtOnce(t *testing.T) {
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		text := strings.Repeat(r.URL.Path, 500)
		encoding := r.URL.Query().Get("as")
		w.Header().Set("Content-Encoding", encoding)
		switch encoding {
		case "gzip":
			text = zipped(text)
		case "br":
			text = brotliedText(text)
		case "zstd":
			text = zstded([]byte(text))
		case "deflate":
			text = deflatedText(text)
		case "Deflate":
			text = bareText(text)
		}
		if strings.HasSuffix(r.URL.Path, "0") {
			text = text[:len(text)/2] // and half of some
		}
		io.WriteString(w, text)
	})
	client := newClient(t, fetch.Config{})
	var polls sync.WaitGroup
	for i := range 16 {
		polls.Go(func() {
			for j := range 20 {
				path := fmt.Sprintf("%d-%d", i, j)
				encoding := []string{"gzip", "br", "zstd", "deflate", "Deflate", ""}[(i+j)%6]
				res, err := client.Fetch(t.Context(), freshet.Request{URL: url + path + "?as=" + encoding})
				want := strings.Repeat("/"+path, 500)
				if strings.HasSuffix(path, "0") {
					if err == nil && encoding != "" {
						t.Errorf("half of %s as %q passes for a page", path, encoding)
					}
				} else if err != nil || string(res.Body) != want {
					t.Errorf("%s as %q comes as %.40q and %v", path, encoding, res.Body, err)
				}
			}
		})
	}
	polls.Wait()
}
