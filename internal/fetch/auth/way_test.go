package auth_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/freshet/failure"
)

// clientCert writes a client certificate and its key to files.
func clientCert(t *testing.T, name string) (cert, key string, pool *x509.CertPool) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret), pool
}

// secure starts a TLS server that asks for client certificates, and has the rig trust
// it.
func (r *rig) secure(pool *x509.CertPool, demand tls.ClientAuthType, answer http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(r.noting(answer))
	s.TLS = &tls.Config{ClientAuth: demand, ClientCAs: pool}
	s.StartTLS()
	r.t.Cleanup(s.Close)
	if r.fetch.RootCAs == nil {
		r.fetch.RootCAs = x509.NewCertPool()
	}
	r.fetch.RootCAs.AddCert(s.Certificate())
	return s
}

func TestClientCertificate(t *testing.T) {
	r := newRig(t)
	cert, key, pool := clientCert(t, "watcher")
	whose := func(w http.ResponseWriter, req *http.Request) {
		if len(req.TLS.PeerCertificates) == 0 {
			fmt.Fprint(w, "nobody")
			return
		}
		fmt.Fprint(w, req.TLS.PeerCertificates[0].Subject.CommonName)
	}
	// A certificate for another host name, so that a redirect leaves home.
	other := r.secure(pool, tls.RequestClientCert, whose)
	s := r.secure(pool, tls.RequireAndVerifyClientCert, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/away" {
			http.Redirect(w, req, strings.Replace(other.URL, "127.0.0.1", "[::1]", 1), http.StatusFound)
			return
		}
		whose(w, req)
	})
	request := fmt.Sprintf(`{"url": "%%s", "request": {"cert": {"cert": %q, "key": %q}}}`, cert, key)
	if got := body(t, r.client(), r.source(request, s.URL)); got != "watcher" {
		t.Errorf("the server saw %q", got)
	}
	if _, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"language": "de"}}`, s.URL)); err == nil {
		t.Error("the server is reached without a certificate")
	}
	if got := body(t, r.client(), r.source(`{"url": "%s", "request": {"language": "de"}}`, other.URL)); got != "nobody" {
		t.Errorf("without a certificate the other server saw %q", got)
	}
	if _, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"cert": {"cert": "/no/cert", "key": "/no/key"}}}`, s.URL)); classOf(err) != failure.Secret {
		t.Errorf("a missing certificate fails with %v", err)
	}
}

// A certificate is not shown to a host that a redirect leads to.
func TestCertificateStaysHome(t *testing.T) {
	r := newRig(t)
	cert, key, pool := clientCert(t, "watcher")
	other := r.secure(pool, tls.RequestClientCert, func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, len(req.TLS.PeerCertificates))
	})
	home := r.secure(pool, tls.RequireAndVerifyClientCert, func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other.URL, http.StatusFound)
	})
	if got := body(t, r.client(), r.source(fmt.Sprintf(`{"url": "%%s", "request": {"cert": {"cert": %q, "key": %q}}}`, cert, key), home.URL)); got != "0" {
		t.Errorf("the other host was shown %s certificates", got)
	}
}

// An httpProxy notes what goes through it.
type httpProxy struct {
	*httptest.Server
	user string // whom it serves; "" means everybody

	mu   sync.Mutex
	seen []string
}

func newHTTPProxy(t *testing.T, user string) *httpProxy {
	p := &httpProxy{user: user}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *httpProxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if p.user != "" && req.Header.Get("Proxy-Authorization") != p.user {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	p.mu.Lock()
	p.seen = append(p.seen, req.Method+" "+req.Host+" auth="+req.Header.Get("Authorization"))
	p.mu.Unlock()
	if req.Method == http.MethodConnect {
		p.tunnel(w, req.Host)
		return
	}
	req.RequestURI = ""
	req.Header.Del("Proxy-Authorization")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

func (p *httpProxy) tunnel(w http.ResponseWriter, to string) {
	there, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack() // before the client knows that it may send
	if err != nil {
		there.Close()
		return
	}
	fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\n")
	relay(here, there)
}

func relay(a, b net.Conn) {
	go func() { _, _ = io.Copy(a, b); a.Close() }()
	_, _ = io.Copy(b, a)
	b.Close()
}

// socksProxy serves SOCKS5 with a user and password, and returns its address and what
// was asked of it.
func socksProxy(t *testing.T, user, password string) (string, func() []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var seen []string
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				to, ok := socksHello(c, user, password)
				mu.Lock()
				seen = append(seen, to)
				mu.Unlock()
				if !ok {
					c.Close()
					return
				}
				there, err := net.Dial("tcp", to)
				if err != nil {
					_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
					c.Close()
					return
				}
				_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
				relay(c, there)
			}()
		}
	}()
	return l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, seen...)
	}
}

// socksHello speaks the beginning of SOCKS5 and returns where to connect to.
func socksHello(c net.Conn, user, password string) (string, bool) {
	in := bufio.NewReader(c)
	text := func(n byte) string {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return string(b)
	}
	head := text(2)
	text(head[1])
	if user != "" {
		_, _ = c.Write([]byte{5, 2})
		text(1)
		u := text(text(1)[0])
		p := text(text(1)[0])
		if u != user || p != password {
			_, _ = c.Write([]byte{1, 1})
			return "refused", false
		}
		_, _ = c.Write([]byte{1, 0})
	} else {
		_, _ = c.Write([]byte{5, 0})
	}
	kind := text(4)[3]
	var host string
	switch kind {
	case 1:
		host = net.IP(text(4)).String()
	case 3:
		host = text(text(1)[0])
	case 4:
		host = net.IP(text(16)).String()
	}
	port := text(2)
	return net.JoinHostPort(host, fmt.Sprint(int(port[0])<<8|int(port[1]))), true
}

func TestHTTPProxy(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "p@ss: word/1"
	r.env["TOKEN"] = "for-the-origin-only"
	p := newHTTPProxy(t, "Basic bWU6cEBzczogd29yZC8x") // me:p@ss: word/1
	address := strings.TrimPrefix(p.URL, "http://")
	r.fetch.Proxies = []string{address}
	plain := r.server(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "plain ", req.Header.Get("Proxy-Authorization"))
	})
	secure := r.secure(nil, tls.NoClientCert, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secure") })
	const request = `{"url": "%s", "request": {"proxy": "http://me:${env:PASSWORD}@` + "%s" + `", "auth": {"bearer": "${env:TOKEN}"}}}`
	if got := body(t, r.client(), r.source(request, plain.URL, address)); got != "plain " {
		t.Errorf("through the proxy came %q", got)
	}
	if got := body(t, r.client(), r.source(request, secure.URL, address)); got != "secure" {
		t.Errorf("through the tunnel came %q", got)
	}
	want := []string{
		"GET " + strings.TrimPrefix(plain.URL, "http://") + " auth=Bearer for-the-origin-only",
		"CONNECT " + strings.TrimPrefix(secure.URL, "https://") + " auth=",
	}
	if fmt.Sprint(p.seen) != fmt.Sprint(want) {
		t.Errorf("the proxy saw %q, want %q", p.seen, want)
	}
	r.env["PASSWORD"] = "wrong-password"
	if _, err := get(t, r.client(), r.source(request, secure.URL, address)); classOf(err) != failure.Proxy || strings.Contains(err.Error(), "wrong-password") {
		t.Errorf("a wrong password ends with %v", err)
	}
}

func TestSOCKSProxy(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "socks:password"
	address, seen := socksProxy(t, "me", "socks:password")
	r.fetch.Proxies = []string{address}
	r.fetch.Ports = []uint16{80}
	r.fetch.Allow = nil // names are resolved by the proxy
	const request = `{"url": "%s", "request": {"proxy": "socks5://me:${env:PASSWORD}@%s"}}`
	s := r.server(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	// The name resolves only at the proxy, which is told the name.
	_, err := get(t, r.client(), r.source(request, "http://page.example/", address))
	if classOf(err) != failure.Proxy || fmt.Sprint(seen()) != "[page.example:80]" {
		t.Errorf("the proxy was asked for %v, %v", seen(), err)
	}
	// What the URL names is judged as without a proxy.
	for _, url := range []string{s.URL, "http://169.254.169.254/", "http://localhost/", "http://db.internal/", "http://10.0.0.1/", "http://page.example:22/"} {
		if _, err := get(t, r.client(), r.source(request, url, address)); !classOf(err).Is(failure.Blocked) {
			t.Errorf("%s is reached through the proxy: %v", url, err)
		}
	}
	if len(seen()) != 1 {
		t.Errorf("the proxy was asked for %v", seen())
	}
	r.fetch.Allow = newRig(t).fetch.Allow
	if got := body(t, r.client(), r.source(request, s.URL, address)); got != "here" {
		t.Errorf("through the proxy came %q", got)
	}
}

func TestProxyMustBeAllowed(t *testing.T) {
	r := newRig(t)
	p := newHTTPProxy(t, "")
	address := strings.TrimPrefix(p.URL, "http://")
	s := r.server(echo)
	for _, allowed := range [][]string{nil, {"127.0.0.1:1"}} {
		r.fetch.Proxies = allowed
		if _, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"proxy": "http://%s"}}`, s.URL, address)); classOf(err) != failure.Proxy {
			t.Errorf("with %v the proxy ends with %v", allowed, err)
		}
	}
	// Metadata services and the program itself are no proxies, whatever is allowed.
	r.fetch.Proxies = []string{"169.254.169.254:80"}
	if _, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"proxy": "http://169.254.169.254"}}`, s.URL)); classOf(err) != failure.Proxy || !strings.Contains(err.Error(), "metadata") {
		t.Errorf("a metadata service as a proxy ends with %v", err)
	}
	if len(p.seen) != 0 || len(r.requests()) != 0 {
		t.Errorf("requests were sent: %v, %v", p.seen, r.requests())
	}
}
