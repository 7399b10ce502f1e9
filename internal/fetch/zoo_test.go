package fetch_test

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/test/hostile"
	"freshet/internal/test/kit"
)

// A zooCase is a hostile server and the outcome that is right for it.
type zooCase struct {
	ID     string
	Server string
	Expect string
	Reason string
}

// outcomes returns how a fetch from the server may end: captured, unchanged or a class
// of failure. What a capture is flagged with, and for how long a source is left alone,
// is of no concern to a fetch.
func (c zooCase) outcomes() (list []failure.Class) {
	for word := range strings.SplitSeq(cmp.Or(amended[c.ID], c.Expect), "_or_") {
		word = strings.TrimPrefix(strings.TrimPrefix(word, "error."), "backoff.")
		if strings.HasPrefix(word, "captured") || word == "ignored" {
			word = "captured"
		}
		list = append(list, failure.Class(word))
	}
	return list
}

// elsewhere says where the cases are that a fetch alone cannot show, or why there are
// none, by the beginning of their ids.
var elsewhere = map[string]string{
	"parse-":            "hand: the response is read",
	"expr-":             "hand: the response is read",
	"content-":          "hand: responses are compared",
	"robots-":           "hand and live: robots.txt is read",
	"redir-login":       "hand: it is suspected",
	"cross-shared_host": "bench: many sources at once",
	"cross-500_hostile": "bench: many sources at once",
}

// amended are the outcomes that differ from the list, and why.
var amended = map[string]string{
	"header-log_injection":   "error.protocol", // the standard library refuses such a header, and so do we
	"h2-continuation_flood":  "error.too_large.header_or_error.protocol",
	"h2-ping_flood":          "error.timeout.header_or_error.protocol", // the pings are answered until the time is over
	"cache-etag_random":      "captured",                               // whether it is news is found when it is compared: see hand
	"cross-keepalive_poison": "captured",                               // the page is whole; the next request goes over a new connection
}

// ours are hostile servers that are not on the list, and what is right for them.
var ours = []zooCase{
	{ID: "slow-header_bytes", Expect: "error.timeout.header"},
	{ID: "slow-body_silent", Expect: "error.timeout.body_idle"},
	{ID: "slow-body_drip", Expect: "error.timeout.rate"},
	{ID: "slow-chunk_drip", Expect: "error.timeout.rate"},
	{ID: "slow-1xx_drip", Expect: "error.timeout.header"},
	{ID: "header-one_line", Expect: "error.too_large.header"},
	{ID: "header-status_line", Expect: "error.too_large.header"},
	{ID: "header-two_lengths", Expect: "error.protocol"},
	{ID: "header-negative_length", Expect: "error.protocol"},
	{ID: "header-garbage", Expect: "error.protocol_or_error.too_large.header"},
	{ID: "frame-chunk_huge", Expect: "error.protocol"},
	{ID: "frame-chunk_extension", Expect: "error.protocol"},
	{ID: "frame-close_at_once", Expect: "error.protocol"},
	{ID: "redir-endless_url", Expect: "error.redirect.invalid"},
}

// TestZoo fetches from each hostile server and looks at how it ends.
func TestZoo(t *testing.T) {
	pen, before := animals(), kit.CountGoroutines()
	for _, c := range append(loadCases[zooCase](t, "testdata/hostile_zoo.json"), ours...) {
		build := pen[c.ID]
		delete(pen, c.ID)
		if build == nil {
			staged := false
			for begins := range elsewhere {
				staged = staged || strings.HasPrefix(c.ID, begins)
			}
			if !staged {
				t.Errorf("%s: there is no server for %q", c.ID, c.Server)
			}
			continue
		}
		t.Run(c.ID, func(t *testing.T) { visit(t, c, build(t)) })
	}
	for id := range pen {
		t.Errorf("nothing is expected of %s", id)
	}
	before.WaitForEnd(t)
}

// visit fetches from a hostile server.
func visit(t *testing.T, c zooCase, a animal) {
	client := newClient(t, a.config)
	res, err := client.Fetch(t.Context(), freshet.Request{URL: a.url, Validators: a.asked})
	got, right := outcome(res, err), false
	for _, want := range c.outcomes() {
		right = right || failure.Class(got).Is(want)
	}
	if !right {
		t.Errorf("%s: got %s (%v), want %s, because: %s", c.Server, got, err, c.Expect, c.Reason)
	}
	if err != nil && (res.Body != nil || res.Validators != freshet.Validators{}) {
		t.Errorf("%s: a failed fetch left a body or validators behind", c.Server)
	}
	if err != nil && (len(err.Error()) > 1000 || strings.ContainsFunc(err.Error(), unicode.IsControl)) {
		t.Errorf("%s: the message is not fit to be shown: %.1000q", c.Server, err)
	}
	if a.check != nil {
		a.check(t, res)
	}
}

// An animal is a hostile server, ready to be fetched from.
type animal struct {
	url    string
	config fetch.Config
	asked  freshet.Validators
	check  func(*testing.T, freshet.Response) // of what came, beyond the class
}

// raw is a server that says one thing.
func raw(reply string) func(*testing.T) animal {
	return func(t *testing.T) animal { return animal{url: "http://" + serve(t, say(reply)) + "/"} }
}

// page is an ordinary server with headers and a body.
func page(status int, body string, header ...string) func(*testing.T) animal {
	return func(t *testing.T) animal {
		return animal{url: web(t, func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header()[header[i]] = append(w.Header()[header[i]], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		})}
	}
}

// checked adds a check of the response to a server.
func checked(build func(*testing.T) animal, check func(*testing.T, freshet.Response)) func(*testing.T) animal {
	return func(t *testing.T) animal {
		a := build(t)
		a.check = check
		return a
	}
}

// limited gives a server a client with tight limits.
func limited(build func(*testing.T) animal, c fetch.Config) func(*testing.T) animal {
	return func(t *testing.T) animal {
		a := build(t)
		c.RootCAs = a.config.RootCAs
		a.config = c
		return a
	}
}

func wantBody(want string) func(*testing.T, freshet.Response) {
	return func(t *testing.T, res freshet.Response) {
		t.Helper()
		if string(res.Body) != want {
			t.Errorf("got body %.100q, want %.100q", res.Body, want)
		}
	}
}

func wantRetry(want time.Duration) func(*testing.T, freshet.Response) {
	return func(t *testing.T, res freshet.Response) {
		t.Helper()
		if res.RetryAfter != want {
			t.Errorf("the server is to be left alone for %v, want %v", res.RetryAfter, want)
		}
	}
}

func wantRequests(want int) func(*testing.T, freshet.Response) {
	return func(t *testing.T, res freshet.Response) {
		t.Helper()
		if res.Requests != want {
			t.Errorf("it took %d requests, want %d", res.Requests, want)
		}
	}
}

func wantValidators(want freshet.Validators) func(*testing.T, freshet.Response) {
	return func(t *testing.T, res freshet.Response) {
		t.Helper()
		if res.Validators != want {
			t.Errorf("got validators %+.100v, want %+v", res.Validators, want)
		}
	}
}

// animals returns all the servers by the id of their case.
func animals() map[string]func(*testing.T) animal {
	const ok = "HTTP/1.1 200 OK\r\n"
	pen := map[string]func(*testing.T) animal{}
	for _, b := range hostile.Beasts() {
		pen[b.ID] = caged(b)
	}
	for id, build := range special(pen) {
		pen[id] = build
	}
	for id, build := range map[string]func(*testing.T) animal{

		"size-gzip_trailing_garbage": page(200, zipped("page")+"junk", "Content-Encoding", "gzip"),
		"size-encoding_unasked":      checked(page(200, zipped("page"), "Content-Encoding", "X-GZIP"), wantBody("page")),

		"header-204_with_body": raw("HTTP/1.1 204 No Content\r\n\r\nbody"),
		"header-304_unasked":   raw("HTTP/1.1 304 Not Modified\r\n\r\n"),
		"header-status_299":    checked(page(299, "page"), wantBody("page")),
		"header-obs_fold":      checked(raw(ok+"Content-Type: text/html;\r\n charset=utf-8\r\nContent-Length: 4\r\n\r\npage"), wantBody("page")),
		"header-bare_lf":       checked(raw("HTTP/1.1 200 OK\nContent-Length: 4\n\npage"), wantBody("page")),
		"header-log_injection": checked(raw(ok+"Content-Language: \x1b[31mred\x07\r\nContent-Length: 4\r\n\r\npage"), func(t *testing.T, res freshet.Response) {
			if v := res.Header.Get("Content-Language"); v != "" {
				t.Errorf("a header with control characters is kept: %q", v)
			}
		}),

		"frame-cl_and_te":       checked(raw(ok+"Content-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"), wantBody("page")),
		"frame-close_delimited": checked(raw("HTTP/1.0 200 OK\r\n\r\npage"), wantBody("page")),

		"redir-loop": checked(page(302, "", "Location", "/"), wantRequests(6)),
		"redir-pingpong": checked(func(t *testing.T) animal {
			var a, b string
			a = web(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, b, http.StatusFound) })
			b = web(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, a, http.StatusFound) })
			return animal{url: a}
		}, wantRequests(6)),
		"redir-https_to_http":   downgrades,
		"redir-permanent_308":   moved(http.StatusPermanentRedirect),
		"redir-cross_host_auth": moved(http.StatusFound),
		"redir-meta_refresh":    checked(page(200, `<meta http-equiv=refresh content="0;url=/x">`), wantRequests(1)),

		"polite-429_seconds":    checked(page(429, "", "Retry-After", "120"), wantRetry(2*time.Minute)),
		"polite-429_date":       checked(page(429, "", "Date", "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After", "Mon, 02 Jan 2006 15:14:05 GMT"), wantRetry(10*time.Minute)),
		"polite-503_retry":      checked(page(503, "", "Retry-After", "999999999999999999999"), wantRetry(24*time.Hour)),
		"polite-retry_negative": checked(page(503, "", "Retry-After", "-5"), wantRetry(0)),
		"polite-429_none":       checked(page(429, ""), wantRetry(0)),
		"polite-410":            page(410, "gone"),
		"polite-404_flap":       page(404, "not here"),
		"polite-451":            page(451, "not for you"),

		"cache-etag_lie_same": checked(page(200, "new", "Etag", `"same"`), wantBody("new")),
		"cache-etag_random":   checked(page(200, "page", "Etag", `W/"random"`), wantValidators(freshet.Validators{ETag: `W/"random"`})),
		"cache-etag_weird":    checked(page(200, "page", "Etag", `"`+strings.Repeat("x", 64<<10)+`"`), wantValidators(freshet.Validators{})),
		"cache-lm_future": checked(page(200, "page", "Last-Modified", "Thu, 01 Jan 2099 00:00:00 GMT"), func(t *testing.T, res freshet.Response) {
			if res.LastModified != "" || !res.Modified.IsZero() {
				t.Errorf("a date in 2099 is believed: %q, %v", res.LastModified, res.Modified)
			}
		}),
		"cache-age_negative": page(200, "page", "Age", "-1"),
		"cache-vary_star":    checked(page(200, "page", "Vary", "*", "Set-Cookie", "a=b"), wantBody("page")),

		"enc-utf8_invalid":     checked(page(200, "a\xff\xfeb"), wantBody("a\xff\xfeb")),
		"enc-charset_conflict": checked(page(200, "\xff\xfea\x00", "Content-Type", "text/html; charset=latin1"), wantBody("\xff\xfea\x00")),
		"enc-iso2022jp":        checked(page(200, "\x1b$B<script>\x1b(B"), wantBody("\x1b$B<script>\x1b(B")),
		"enc-nul_bytes":        checked(page(200, "a\x00b"), wantBody("a\x00b")),
		"enc-bidi":             checked(page(200, "<title>\u202ex</title>"), wantBody("<title>\u202ex</title>")),

		"cross-keepalive_poison": checked(raw(ok+"Content-Length: 4\r\n\r\npage"+ok+"Content-Length: 6\r\n\r\npoison"), wantBody("page")),
	} {
		pen[id] = build
	}
	addSecure(pen)
	return pen
}

// caged is a beast of the zoo that all packages share.
func caged(b hostile.Beast) func(*testing.T) animal {
	return func(t *testing.T) animal {
		cage, err := hostile.Open(t.Context(), []hostile.Beast{b}, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cage.Close)
		return animal{url: cage.URL(0)}
	}
}

// special returns beasts of the pen with what is special about them: limits that are
// reached soon, and checks.
func special(pen map[string]func(*testing.T) animal) map[string]func(*testing.T) animal {
	const soon = 500 * time.Millisecond
	hasty := fetch.Config{HeaderTimeout: 2 * soon, TLSTimeout: soon, BodyIdle: 5 * soon, Total: time.Minute, RateWindow: 7 * soon}
	short := fetch.Config{Total: 4 * soon}
	return map[string]func(*testing.T) animal{
		"slow-accept_silent": limited(pen["slow-accept_silent"], hasty),
		"slow-tls_stall":     limited(pen["slow-tls_stall"], hasty),
		"slow-header_drip":   limited(pen["slow-header_drip"], hasty),
		"slow-header_bytes":  limited(pen["slow-header_bytes"], hasty),
		"slow-1xx_drip":      limited(pen["slow-1xx_drip"], hasty),
		"slow-body_silent":   limited(pen["slow-body_silent"], fetch.Config{BodyIdle: soon}),
		"slow-body_drip":     limited(pen["slow-body_drip"], hasty),
		"slow-chunk_drip":    limited(pen["slow-chunk_drip"], hasty),
		"slow-total":         limited(pen["slow-total"], short),
		"slow-sse_endpoint":  limited(pen["slow-sse_endpoint"], short),
		"slow-dns_slow": func(t *testing.T) animal {
			return animal{url: "http://slow.example/", config: fetch.Config{DNSTimeout: soon, Resolver: func(ctx context.Context, _ string) ([]netip.Addr, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}}
		},
		"size-chunk_1byte": limited(pen["size-chunk_1byte"], fetch.Config{WireBytes: 100_000}),
		"size-content_length_huge": checked(pen["size-content_length_huge"], func(t *testing.T, res freshet.Response) {
			if res.WireBytes != 0 {
				t.Errorf("%d bytes were read of a body that is known to be too large", res.WireBytes)
			}
		}),
	}
}

// moved redirects to another host, which must see nothing but who asks.
func moved(status int) func(*testing.T) animal {
	return func(t *testing.T) animal {
		there := web(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization")+r.Header.Get("Cookie")+r.Header.Get("Referer") != "" {
				t.Errorf("the request carries more than it should: %v", r.Header)
			}
			io.WriteString(w, "moved here")
		})
		here := web(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", "secret=1")
			http.Redirect(w, r, there, status)
		})
		return animal{url: here, check: func(t *testing.T, res freshet.Response) {
			if res.URL != there || res.Requests != 2 || string(res.Body) != "moved here" {
				t.Errorf("got %q from %s after %d requests, want it from %s after 2", res.Body, res.URL, res.Requests, there)
			}
		}}
	}
}

func downgrades(t *testing.T) animal {
	s := httptest.NewTLSServer(http.RedirectHandler("http://127.0.0.1/", http.StatusFound))
	t.Cleanup(s.Close)
	return animal{url: s.URL, config: trusting(s)}
}

// trusting returns a configuration that trusts a server's certificate.
func trusting(s *httptest.Server) fetch.Config {
	return fetch.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

// TestHeaderLimit takes a header of nearly the limit and refuses one beyond it.
func TestHeaderLimit(t *testing.T) {
	for size, class := range map[int]failure.Class{250 << 10: "", 260 << 10: failure.LargeHeader} {
		a := page(200, "page", "X-Long", strings.Repeat("x", size))(t)
		_, err := newClient(t, a.config).Fetch(t.Context(), freshet.Request{URL: a.url})
		if class != "" {
			wantClass(t, err, class)
		} else if err != nil {
			t.Errorf("a header of %d bytes is refused: %v", size, err)
		}
	}
}

// TestNobodyThere covers what keeps a request from leaving at all.
func TestNobodyThere(t *testing.T) {
	l := listen(t, "127.0.0.1")
	l.Close()
	client := newClient(t, fetch.Config{Resolver: func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "empty.example" {
			return nil, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}})
	for url, class := range map[string]failure.Class{
		"http://" + l.Addr().String() + "/": failure.Connect,
		"http://nowhere.example/":           failure.DNS,
		"http://empty.example/":             failure.DNS,
	} {
		res, err := client.Fetch(t.Context(), freshet.Request{URL: url})
		wantClass(t, err, class)
		if res.Requests != 0 {
			t.Errorf("%s: it counted %d requests, but none left", url, res.Requests)
		}
	}
}
