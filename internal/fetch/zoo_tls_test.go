package fetch_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// addSecure adds the servers that speak TLS, and HTTP/2 over it.
func addSecure(pen map[string]func(*testing.T) animal) {
	pen["tls-expired"] = certified(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }, true)
	pen["tls-wrong_host"] = certified(func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} }, true)
	pen["tls-self_signed"] = certified(func(*x509.Certificate) {}, false)
	pen["tls-tls10"] = func(t *testing.T) animal {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}
		s.Config.ErrorLog = quiet
		s.StartTLS()
		t.Cleanup(s.Close)
		return animal{url: s.URL, config: trusting(s)}
	}

	pen["tls-keyupdate_flood"] = rekeys

	pen["h2-continuation_flood"] = h2(func(s *h2Talk) {
		s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.stream, BlockFragment: s.block(":status", "200")})
		for s.err == nil {
			s.err = s.WriteContinuation(s.stream, false, s.block("x-flood", "again and again and again and again"))
		}
	})
	pen["h2-settings_maxframe"] = h2(func(s *h2Talk) {
		s.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1})
		s.drain()
	})
	pen["h2-rst_each_stream"] = checked(h2(func(s *h2Talk) {
		for s.stream != 0 {
			s.WriteRSTStream(s.stream, http2.ErrCodeRefusedStream)
			s.await()
		}
	}), atMostRequests(2))
	pen["h2-goaway_loop"] = checked(h2(func(s *h2Talk) {
		s.WriteGoAway(0, http2.ErrCodeNo, nil)
		s.drain()
	}), atMostRequests(3))
	pen["h2-window_zero"] = limited(h2(func(s *h2Talk) {
		s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.stream, EndHeaders: true, BlockFragment: s.block(":status", "200")})
		s.drain()
	}), fetch.Config{BodyIdle: 200 * time.Millisecond})
	pen["h2-ping_flood"] = limited(h2(func(s *h2Talk) {
		go s.drain()
		for i := byte(0); s.err == nil; i++ {
			s.err = s.WritePing(false, [8]byte{i})
		}
	}), fetch.Config{HeaderTimeout: 200 * time.Millisecond})
	pen["h2-push"] = h2(func(s *h2Talk) {
		s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.stream, EndHeaders: true, BlockFragment: s.block(":status", "200")})
		s.WriteData(s.stream, true, []byte("page"))
		s.WritePushPromise(http2.PushPromiseParam{StreamID: s.stream, PromiseID: 2, EndHeaders: true, BlockFragment: s.block(":method", "GET")})
		s.drain()
	})
}

func atMostRequests(most int) func(*testing.T, freshet.Response) {
	return func(t *testing.T, res freshet.Response) {
		t.Helper()
		if res.Requests > most {
			t.Errorf("it took %d requests, want at most %d", res.Requests, most)
		}
	}
}

// certified is a server whose certificate has been changed from a good one,
// trusted or not.
func certified(change func(*x509.Certificate), trusted bool) func(*testing.T) animal {
	return func(t *testing.T) animal {
		cert := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		}
		change(cert)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		s.Config.ErrorLog = quiet
		s.StartTLS()
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		if trusted {
			parsed, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			roots.AddCert(parsed)
		}
		return animal{url: s.URL, config: fetch.Config{RootCAs: roots}}
	}
}

// An h2Talk is a server's side of an HTTP/2 connection, frame by frame.
type h2Talk struct {
	*http2.Framer
	stream uint32 // of the request last heard; 0 if there will be no more
	err    error
}

// block returns header fields as they are sent.
func (s *h2Talk) block(fields ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return b.Bytes()
}

// await reads until the next request.
func (s *h2Talk) await() {
	for {
		f, err := s.ReadFrame()
		if err != nil {
			s.stream = 0
			return
		}
		if f.Header().Type == http2.FrameHeaders {
			s.stream = f.Header().StreamID
			return
		}
	}
}

// drain reads until the client hangs up.
func (s *h2Talk) drain() {
	for s.stream != 0 {
		s.await()
	}
}

// h2 is a server that speaks HTTP/2 as talk does, once it has heard a request.
func h2(talk func(*h2Talk)) func(*testing.T) animal {
	return func(t *testing.T) animal {
		lender := httptest.NewTLSServer(nil) // of its certificate
		defer lender.Close()
		config := &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}}
		addr := serve(t, func(conn net.Conn) {
			secure := tls.Server(conn, config)
			defer secure.Close()
			if _, err := io.ReadFull(secure, make([]byte, len(http2.ClientPreface))); err != nil {
				return
			}
			s := &h2Talk{Framer: http2.NewFramer(secure, secure)}
			s.WriteSettings()
			if s.await(); s.stream != 0 {
				talk(s)
			}
		})
		return animal{url: "https://" + addr + "/", config: trusting(lender)}
	}
}

// TestHTTP2 fetches from an ordinary server over HTTP/2, twice over the same
// connection.
func TestHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, r.Proto)
	}))
	conns := 0
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns++
		}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	client := newClient(t, trusting(s))
	res, err := client.Fetch(t.Context(), freshet.Request{URL: s.URL})
	if err != nil || string(res.Body) != "HTTP/2.0" {
		t.Fatalf("got %q and %v, want HTTP/2.0", res.Body, err)
	}
	res, err = client.Fetch(t.Context(), freshet.Request{URL: s.URL, Validators: res.Validators})
	if err != nil || !res.NotModified {
		t.Fatalf("got %+v and %v, want it unmodified", res, err)
	}
	if conns != 1 {
		t.Errorf("two fetches took %d connections", conns)
	}
}

// TestHTTP2Length announces a length and sends another.
func TestHTTP2Length(t *testing.T) {
	for body, class := range map[string]failure.Class{"half": failure.Truncated, "twice as much": failure.Protocol} {
		a := h2(func(s *h2Talk) {
			s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.stream, EndHeaders: true, BlockFragment: s.block(":status", "200", "content-length", "8")})
			s.WriteData(s.stream, true, []byte(body))
			s.drain()
		})(t)
		_, err := newClient(t, a.config).Fetch(t.Context(), freshet.Request{URL: a.url})
		wantClass(t, err, class)
	}
}

// TestTLSHints says what can be done about a handshake that fails.
func TestTLSHints(t *testing.T) {
	pen := map[string]func(*testing.T) animal{}
	addSecure(pen)
	pen["plain"] = func(t *testing.T) animal {
		return animal{url: "https://" + serve(t, func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") })}
	}
	for name, hint := range map[string]string{
		"tls-expired": "expired", "tls-wrong_host": "another name", "tls-self_signed": "SSL_CERT_FILE", "plain": "http://",
	} {
		a := pen[name](t)
		_, err := newClient(t, a.config).Fetch(t.Context(), freshet.Request{URL: a.url})
		wantClass(t, err, failure.TLS)
		if got := freshet.HintOf(err); !strings.Contains(got, hint) {
			t.Errorf("%s: the hint for %q is %q, want it to say %q", name, err, got, hint)
		}
	}
}
