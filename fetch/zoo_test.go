package fetch_test

import (
	"bytes"
	"compress/gzip"
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

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"freshet"
	"freshet/fetch"
)

// A zooCase is a hostile server and the outcomes that are right for it:
// captured, unchanged or a class of failure.
type zooCase struct {
	ID     string
	Server string
	Expect []string
	Reason string
}

// An animal is a hostile server, ready to be fetched from.
type animal struct {
	url    string
	config fetch.Config
	asked  freshet.Validators
	check  func(*testing.T, freshet.Response) // of what came, beyond the class
}

// TestZoo fetches from each hostile server and looks at how it ends.
func TestZoo(t *testing.T) {
	zoo := animals()
	for _, c := range loadCases[zooCase](t, "testdata/zoo.json") {
		t.Run(c.ID, func(t *testing.T) {
			build := zoo[c.ID]
			if build == nil {
				t.Fatalf("there is no server for %q", c.Server)
			}
			a := build(t)
			client := newClient(t, a.config)
			res, err := client.Fetch(t.Context(), freshet.Request{URL: a.url, Validators: a.asked})
			got, right := outcome(res, err), false
			for _, want := range c.Expect {
				right = right || freshet.Failure(got).Is(freshet.Failure(want))
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
		})
	}
}

// raw is a server that says one thing.
func raw(reply string) func(*testing.T) animal {
	return func(t *testing.T) animal { return animal{url: "http://" + serve(t, say(reply)) + "/"} }
}

// flood is a server that says head and then tail for ever.
func flood(head, tail string) func(*testing.T) animal {
	return func(t *testing.T) animal {
		return animal{url: "http://" + serve(t, func(conn net.Conn) {
			if !hear(conn) {
				return
			}
			io.WriteString(conn, head)
			many := strings.Repeat(tail, 1+4096/len(tail))
			for {
				if _, err := io.WriteString(conn, many); err != nil {
					return
				}
			}
		}) + "/"}
	}
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

func zipped(body string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

func brotliedText(body string) string {
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

func zstded(body []byte) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll(body, nil))
}

// animals returns all the servers by the id of their case.
func animals() map[string]func(*testing.T) animal {
	const ok = "HTTP/1.1 200 OK\r\n"
	zeros := strings.Repeat("\x00", 8<<20)
	zoo := map[string]func(*testing.T) animal{
		"size-infinite_body": flood(ok+"\r\n", "endless "),
		"size-chunk_1byte":   limited(flood(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"), fetch.Config{WireBytes: 100_000}),
		"size-content_length_huge": checked(flood(ok+"Content-Length: 10000000000\r\n\r\n", "x"), func(t *testing.T, res freshet.Response) {
			if res.WireBytes != 0 {
				t.Errorf("%d bytes were read of a body that is known to be too large", res.WireBytes)
			}
		}),

		"size-gzip_bomb":             page(200, zipped(zeros), "Content-Encoding", "gzip"),
		"size-brotli_bomb":           page(200, brotliedText(zeros), "Content-Encoding", "br"),
		"size-zstd_bomb":             page(200, zstded([]byte(zeros)), "Content-Encoding", "zstd"),
		"size-zstd_window":           page(200, wideZstd, "Content-Encoding", "zstd"),
		"size-gzip_nested":           page(200, zipped(zipped("page")), "Content-Encoding", "gzip, gzip"),
		"size-gzip_multi_member":     page(200, strings.Repeat(zipped(zeros[:4<<10]), 10_000), "Content-Encoding", "gzip"),
		"size-gzip_trailing_garbage": page(200, zipped("page")+"junk", "Content-Encoding", "gzip"),
		"size-encoding_lie":          page(200, "plain text all along", "Content-Encoding", "gzip"),
		"size-encoding_unknown":      page(200, "page", "Content-Encoding", "x-secret"),
		"size-encoding_unasked":      checked(page(200, zipped("page"), "Content-Encoding", "X-GZIP"), wantBody("page")),

		"header-cookies_5000":  flood(ok, "Set-Cookie: name=value-of-a-usual-length; Path=/; HttpOnly; Secure\r\n"),
		"header-1xx_flood":     flood("", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"),
		"header-101_unasked":   flood("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "x"),
		"header-204_with_body": raw("HTTP/1.1 204 No Content\r\n\r\nbody"),
		"header-304_unasked":   raw("HTTP/1.1 304 Not Modified\r\n\r\n"),
		"header-status_299":    checked(page(299, "page"), wantBody("page")),
		"header-nul_in_name":   raw(ok + "X-\x00: " + strings.Repeat("a", 100_000) + "\r\nContent-Length: 4\r\n\r\npage"),
		"header-obs_fold":      checked(raw(ok+"Content-Type: text/html;\r\n charset=utf-8\r\nContent-Length: 4\r\n\r\npage"), wantBody("page")),
		"header-bare_lf":       checked(raw("HTTP/1.1 200 OK\nContent-Length: 4\n\npage"), wantBody("page")),
		"header-log_injection": checked(raw(ok+"Content-Language: \x1b[31mred\x07\r\nContent-Length: 4\r\n\r\npage"), func(t *testing.T, res freshet.Response) {
			if v := res.Header.Get("Content-Language"); v != "" {
				t.Errorf("a header with control characters is kept: %q", v)
			}
		}),

		"frame-cl_short":        raw(ok + "Content-Length: 100\r\n\r\nhalf."),
		"frame-cl_and_te":       checked(raw(ok+"Content-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"), wantBody("page")),
		"frame-chunk_garbage":   raw(ok + "Transfer-Encoding: chunked\r\n\r\nZZ\r\npage\r\n0\r\n\r\n"),
		"frame-chunk_no_end":    raw(ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
		"frame-trailer_flood":   flood(ok+"Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n", "X-Trailer: again and again\r\n"),
		"frame-rst_mid":         resets,
		"frame-close_delimited": checked(raw("HTTP/1.0 200 OK\r\n\r\npage"), wantBody("page")),

		"redir-loop": checked(page(302, "", "Location", "/"), wantRequests(6)),
		"redir-pingpong": checked(func(t *testing.T) animal {
			var a, b string
			a = web(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, b, http.StatusFound) })
			b = web(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, a, http.StatusFound) })
			return animal{url: a}
		}, wantRequests(6)),
		"redir-no_location":     page(302, "nowhere"),
		"redir-to_private":      page(302, "", "Location", "http://169.254.169.254/latest/"),
		"redir-https_to_http":   downgrades,
		"redir-permanent_308":   moved(http.StatusPermanentRedirect),
		"redir-cross_host_auth": moved(http.StatusFound),
		"redir-meta_refresh":    checked(page(200, `<meta http-equiv=refresh content="0;url=/x">`), wantRequests(1)),

		"polite-429_seconds":    checked(page(429, "", "Retry-After", "120"), wantRetry(2*time.Minute)),
		"polite-429_date":       checked(page(429, "", "Date", "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After", "Mon, 02 Jan 2006 15:14:05 GMT"), wantRetry(10*time.Minute)),
		"polite-503_retry":      checked(page(503, "", "Retry-After", "999999999999999999999"), wantRetry(24*time.Hour)),
		"polite-retry_negative": checked(page(503, "", "Retry-After", "-5"), wantRetry(0)),
		"polite-429_none":       checked(page(429, ""), wantRetry(0)),
		"polite-flood_503":      page(503, "busy"),
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
	}
	addSecure(zoo)
	return zoo
}

// wideZstd is a frame that declares a window of 512 MiB for a few bytes: magic,
// descriptor, window, and one raw block.
const wideZstd = "\x28\xb5\x2f\xfd" + "\x00" + "\x98" + "\x21\x00\x00page"

// resets breaks the connection in the middle of a body.
func resets(t *testing.T) animal {
	return animal{url: "http://" + serve(t, func(conn net.Conn) {
		hear(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 5000))
		conn.(*net.TCPConn).SetLinger(0)
	}) + "/"}
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
	for size, class := range map[int]freshet.Failure{250 << 10: "", 260 << 10: freshet.FailLargeHeader} {
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
	for url, class := range map[string]freshet.Failure{
		"http://" + l.Addr().String() + "/": freshet.FailConnect,
		"http://nowhere.example/":           freshet.FailDNS,
		"http://empty.example/":             freshet.FailDNS,
	} {
		res, err := client.Fetch(t.Context(), freshet.Request{URL: url})
		wantClass(t, err, class)
		if res.Requests != 0 {
			t.Errorf("%s: it counted %d requests, but none left", url, res.Requests)
		}
	}
}
