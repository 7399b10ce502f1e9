package fetch_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"code.dny.dev/ssrf"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// FuzzCheckAddr: the form in which an address is written does not matter, and
// nothing is let through that the oracle denies.
func FuzzCheckAddr(f *testing.F) {
	for _, a := range []string{"127.0.0.1", "::1", "64:ff9b::7f00:1", "2002:7f00:1::", "168.63.129.16", "93.184.215.14", "2606:2800:21f::1", "2001::1"} {
		f.Add(netip.MustParseAddr(a).AsSlice())
	}
	oracle := ssrf.New(ssrf.WithAnyPort())
	open := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		to := netip.AddrPortFrom(a, 443)
		got := fetch.Config{}.CheckAddr(to)
		if plain := (fetch.Config{}).CheckAddr(netip.AddrPortFrom(a.Unmap(), 443)); (got == nil) != (plain == nil) {
			t.Fatalf("%s is judged %v, but unmapped %v", a, got, plain)
		}
		network := "tcp6"
		if a.Is4() {
			network = "tcp4"
		}
		if err := oracle.Safe(network, to.String(), nil); err != nil && got == nil && !a.Is4In6() {
			t.Fatalf("%s is let through, but the oracle says: %v", a, err)
		}
		if err := open.CheckAddr(to); err != nil && got == nil {
			t.Fatalf("%s is let through, but not where more is allowed: %v", a, err)
		}
	})
}

// FuzzRetryAfter: whatever a server asks for, it is left alone for no less
// than nothing and no more than a day.
func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"120", "-5", "999999999999999999999", "Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 MST", "١٢"} {
		f.Add(v, "Mon, 02 Jan 2006 15:00:05 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		if got := fetch.RetryAfter(h, time.Unix(1e9, 0)); got < 0 || got > 24*time.Hour {
			t.Fatalf("Retry-After %q at %q asks for %v", value, date, got)
		}
	})
}

// FuzzDecode: no body decodes to more than the limit, and every failure has a
// class.
func FuzzDecode(f *testing.F) {
	text := strings.Repeat("page ", 100)
	f.Add("gzip", []byte(zipped(text)))
	f.Add("gzip", []byte(zipped(text)+zipped(text)))
	f.Add("br", []byte(brotliedText(text)))
	f.Add("zstd", []byte(zstded([]byte(text))))
	f.Add("zstd", []byte(wideZstd))
	f.Add("deflate", []byte(deflatedText(text)))
	f.Add("deflate", []byte(bareText(text)))
	f.Add("gzip, gzip", []byte(zipped(zipped(text))))
	f.Add("", []byte(text))
	const limit = 100_000
	config := fetch.Config{WireBytes: limit, DecodedBytes: limit}
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		got, err := fetch.Decode(config, encoding, bytes.NewReader(body))
		if len(got) > limit {
			t.Fatalf("%d bytes of %q decode to %d", len(body), encoding, len(got))
		}
		if _, ok := errors.AsType[*freshet.FetchError](err); err != nil && !ok {
			t.Fatalf("the failure has no class: %v", err)
		}
		if again, err2 := fetch.Decode(config, encoding, byteByByte{bytes.NewReader(body)}); (err == nil) != (err2 == nil) || !bytes.Equal(got, again) {
			t.Fatalf("in one piece %q decodes to %.40q (%v), byte by byte to %.40q (%v)", encoding, got, err, again, err2)
		}
	})
}

// A byteByByte reads one byte at a time.
type byteByByte struct{ from io.Reader }

func (r byteByByte) Read(p []byte) (int, error) { return r.from.Read(p[:min(len(p), 1)]) }

// FuzzResponse: whatever bytes a server sends, the fetch ends within its time,
// says what happened in words fit to be shown, and hands over no more than
// allowed.
func FuzzResponse(f *testing.F) {
	for _, reply := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nEtag: \"b\"\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\npage",
		"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zipped("page"),
		"HTTP/1.1 429 Slow Down\r\nRetry-After: 10\r\n\r\n",
	} {
		f.Add([]byte(reply), true)
		f.Add([]byte(reply), false)
	}
	config := fetch.Config{HeaderBytes: 4096, WireBytes: 10_000, DecodedBytes: 20_000}
	f.Fuzz(func(t *testing.T, reply []byte, hangUp bool) {
		synctest.Test(t, func(t *testing.T) {
			client := fetch.NewOver(config, pipeTo(t, func(conn net.Conn) {
				var both sync.WaitGroup
				both.Go(func() { io.Copy(io.Discard, conn) })
				conn.Write(reply)
				if hangUp {
					conn.Close()
				}
				both.Wait()
			}))
			defer client.CloseIdle()
			began := time.Now()
			res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/", Validators: freshet.Validators{ETag: `"a"`}})
			if took := time.Since(began); took > 5*time.Minute {
				t.Fatalf("it took %v", took)
			}
			if len(res.Body) > 20_000 {
				t.Fatalf("it handed over %d bytes", len(res.Body))
			}
			if err == nil {
				return
			}
			if failure, ok := errors.AsType[*freshet.FetchError](err); !ok || failure.Class == "" {
				t.Fatalf("the failure has no class: %v", err)
			}
			if strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 1000 {
				t.Fatalf("the message is not fit to be shown: %q", err)
			}
		})
	})
}

// FuzzVerdict checks any URL against any answer: whatever is allowed stands up to the
// guard of the dialer, and whatever is refused is refused by a rule.
func FuzzVerdict(f *testing.F) {
	for _, c := range []string{"http://127.0.0.1/", "https://page.example:8443/x", "http://[::ffff:a9fe:a9fe]/", "http://127。0。0。1/", "http://user@x/"} {
		f.Add(c, []byte{93, 184, 215, 14}, "//10.0.0.1/")
	}
	f.Fuzz(func(t *testing.T, raw string, answer []byte, location string) {
		addr, ok := netip.AddrFromSlice(answer)
		if !ok {
			addr = netip.IPv6Loopback()
		}
		config := fetch.Config{Resolver: stub([]netip.Addr{addr})}
		v := config.Check(t.Context(), raw)
		if v.Rule == "" || v.Reason == "" {
			t.Fatalf("%q is judged without a rule or a reason: %+v", raw, v)
		}
		if !v.Allow {
			return
		}
		if _, err := config.CheckURL(raw); err != nil {
			t.Fatalf("%q is allowed, but could not be added: %v", raw, err)
		}
		for _, a := range v.Addrs {
			if err := config.CheckAddr(netip.AddrPortFrom(a, 80)); err != nil {
				t.Fatalf("%q is allowed to %s: %v", raw, a, err)
			}
		}
		if v := config.Check(t.Context(), raw, location); v.Rule == "" || v.Reason == "" {
			t.Fatalf("a redirect from %q to %q is judged without a rule or a reason: %+v", raw, location, v)
		}
	})
}
