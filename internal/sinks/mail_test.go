package sinks_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/mail"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"freshet/internal/fetch"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
)

// A postOffice is an SMTP server that keeps what it is handed.
type postOffice struct {
	mu     sync.Mutex
	refuse *smtp.SMTPError // what it says to a message
	from   string
	to     []string
	bodies []string
	users  []string
	login  bool // it knows LOGIN alone
}

// A counter is one session of it.
type counter struct {
	*postOffice
	secure func() bool
}

func (p *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &counter{p, func() bool { _, ok := c.TLSConnectionState(); return ok }}, nil
}

func (c *counter) AuthMechanisms() []string {
	if c.login {
		return []string{sasl.Login}
	}
	return []string{"LOGIN", sasl.Plain}
}

func (c *counter) Auth(mechanism string) (sasl.Server, error) {
	check := func(_, user, password string) error {
		if password != "letter-box" {
			return smtp.ErrAuthFailed
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.users = append(c.users, user)
		return nil
	}
	switch {
	case mechanism == sasl.Login:
		return &loginServer{check: check}, nil
	case c.login:
		return nil, smtp.ErrAuthUnknownMechanism
	}
	return sasl.NewPlainServer(check), nil
}

// A loginServer asks for a name and a password, as Exchange does.
type loginServer struct {
	check func(_, user, password string) error
	said  []string
}

func (s *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil {
		s.said = append(s.said, string(response))
	}
	switch len(s.said) {
	case 0:
		return []byte("Username:"), false, nil
	case 1:
		return []byte("Password:"), false, nil
	}
	return nil, true, s.check("", s.said[0], s.said[1])
}

func (c *counter) Mail(from string, _ *smtp.MailOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from, c.to = from, nil
	return nil
}

func (c *counter) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = append(c.to, to)
	return nil
}

func (c *counter) Data(r io.Reader) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return c.refuse
	}
	c.bodies = append(c.bodies, string(body))
	return nil
}

func (c *counter) Reset()        {}
func (c *counter) Logout() error { return nil }

// serveMail runs a post office. It speaks TLS from the beginning, offers STARTTLS, or
// neither; trusted are those who signed its certificate.
func serveMail(t *testing.T, security string) (p *postOffice, address string, trusted *x509.CertPool) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	trusted = x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	p = &postOffice{}
	server := smtp.NewServer(p)
	server.Domain, server.AllowInsecureAuth, server.ReadTimeout = "localhost", true, time.Minute
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	with := &tls.Config{Certificates: certified.TLS.Certificates}
	switch security {
	case "tls":
		l = tls.NewListener(l, with)
	case "starttls":
		server.TLSConfig = with
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return p, l.Addr().String(), trusted
}

func letter(url string, settings values) sinks.Sink {
	all := values{"from": "Freshet <freshet@mail.example>", "to": "a@mail.example, B <b@mail.example>"}
	for name, v := range settings {
		all[name] = v
	}
	return sinks.Sink{Name: "mail", Kind: "email", URL: profile.Value(url), Settings: all}
}

func trusting(pool *x509.CertPool) func(*sinks.Config) {
	return func(c *sinks.Config) {
		c.TLS = fetch.Config{RootCAs: pool}.TLS
		c.Timeout = time.Minute
	}
}

// A message is the same whenever it is made, and reaches a real server by every kind of
// security.
func TestMail(t *testing.T) {
	tests := []struct {
		security, scheme string
		settings         values
	}{
		{"starttls", "smtp", values{"user": "me", "password": "letter-box"}},
		{"tls", "smtps", values{"user": "me", "password": "letter-box"}},
		{"login", "smtp", values{"user": "me", "password": "letter-box"}},
		{"none", "smtp", values{"tls": "none"}},
		{"settings", "smtp", values{"user": "me", "password": "letter-box"}},
	}
	for _, tt := range tests {
		t.Run(tt.security, func(t *testing.T) {
			p, address, pool := serveMail(t, strings.NewReplacer("login", "starttls", "settings", "starttls").Replace(tt.security))
			p.login = tt.security == "login"
			sink, config := letter(tt.scheme+"://"+address, tt.settings), trusting(pool)
			if tt.security == "settings" { // the sink is an address alone
				server := sink
				sink = sinks.Sink{Name: "mail", Kind: "email", Settings: values{"to": server.Settings["to"]}}
				delete(server.Settings, "to")
				config = func(c *sinks.Config) {
					trusting(pool)(c)
					c.Mail = func() (sinks.Sink, error) { return server, nil }
				}
			}
			o := opened(t, sink, config)
			body, err := o.Render(t.Context(), change(), texts)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := o.Render(t.Context(), change(), texts); err != nil || !bytes.Equal(body, again) {
				t.Errorf("made again the message is another (%v):\n%s", err, again)
			}
			for range 2 {
				if answer, err := o.Send(t.Context(), sinks.Message{ID: change().ID(), Body: body}); err != nil || !strings.Contains(answer, "OK") {
					t.Fatal(answer, err)
				}
			}
			if len(p.bodies) != 2 || p.bodies[0] != p.bodies[1] || p.bodies[0] != string(body) {
				t.Errorf("the server got %d messages: %q, want %q", len(p.bodies), p.bodies, body)
			}
			if p.from != "freshet@mail.example" || strings.Join(p.to, " ") != "a@mail.example b@mail.example" {
				t.Errorf("from %s to %v", p.from, p.to)
			}
			if wants := tt.settings["user"] != ""; wants != (len(p.users) == 2) {
				t.Errorf("%v logged in", p.users)
			}
			m, err := mail.ReadMessage(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Header.Get("Message-Id"); got != "<"+sinks.WebhookID("mail", change().ID())+"@mail.example>" {
				t.Errorf("the id is %s", got)
			}
			for name, want := range map[string]string{"Subject": "Page: new <!channel> @all ``` & [log in](http://evil.example)", "X-Freshet-Event": change().ID(), "Date": "Sun, 01 Mar 2026 12:00:00 +0000"} {
				if got := m.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			text, _ := io.ReadAll(m.Body)
			for _, part := range []string{"text/plain", "text/html", "+ new <!channel>", "&lt;!channel&gt;", `<a href=3D"http://page.example/?a=3D1&amp;b=3D2">`} {
				if !strings.Contains(strings.ReplaceAll(string(text), "=\r\n", ""), part) {
					t.Errorf("there is no %q in %s", part, text)
				}
			}
		})
	}
}

// loopback is where every name leads to.
func loopback(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// A sink that names no server waits until the settings have one, and cannot bring a login of its own for it.
func TestMailWithoutServer(t *testing.T) {
	s := sinks.Sink{Name: "mail", Kind: "email", Settings: values{"to": "a@mail.example"}}
	o := opened(t, s, func(c *sinks.Config) {
		c.Mail = func() (sinks.Sink, error) {
			return sinks.Sink{Settings: values{"from": "", "user": "", "password": ""}}, nil
		}
	})
	body, err := o.Render(t.Context(), change(), texts)
	if err != nil || !strings.Contains(string(body), "From: <a@mail.example>") {
		t.Errorf("%v, %s", err, body)
	}
	if _, err := o.Send(t.Context(), sinks.Message{ID: "1", Body: body}); err == nil || o.Missing() == nil || !strings.Contains(err.Error(), "no mail server is set") {
		t.Errorf("sent without a server: %v", err)
	}
	s.Settings["password"] = "${secret:other}"
	if _, err := sinks.Check(sinks.Config{}, s); err == nil || !strings.Contains(err.Error(), "settings.password") {
		t.Errorf("a password for the server of the settings: %v", err)
	}
}

// What goes wrong with mail is told apart.
func TestMailTrouble(t *testing.T) {
	p, address, pool := serveMail(t, "starttls")
	_, plain, _ := serveMail(t, "none")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, conn)
		}
	}()
	short := func(c *sinks.Config) { trusting(pool)(c); c.Timeout = 200 * time.Millisecond }
	tests := []struct {
		name   string
		s      sinks.Sink
		change func(*sinks.Config)
		refuse *smtp.SMTPError
		want   string
		unfit  bool
	}{
		{"a certificate that nobody trusts", letter("smtp://"+address, nil), trusting(x509.NewCertPool()), nil, "certificate", false},
		{"no STARTTLS", letter("smtp://"+plain, nil), trusting(pool), nil, "offers no STARTTLS", false},
		{"a password in the clear", letter("smtp://mail.example:"+plain[strings.LastIndex(plain, ":")+1:], values{"tls": "none", "user": "me", "password": "letter-box"}), func(c *sinks.Config) {
			c.Dial = fetch.Config{Resolver: loopback, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}.Dialer
		}, nil, "unencrypted", false},
		{"a wrong password", letter("smtp://"+address, values{"user": "me", "password": "wrong-letters"}), trusting(pool), nil, "535", false},
		{"a mailbox that is full", letter("smtp://"+address, nil), trusting(pool), &smtp.SMTPError{Code: 452, Message: "full"}, "452", false},
		{"a message that is not wanted", letter("smtp://"+address, nil), trusting(pool), &smtp.SMTPError{Code: 554, Message: "spam"}, "554", true},
		{"a server that says nothing", letter("smtp://"+silent.Addr().String(), nil), short, nil, "no answer within 200ms", false},
		{"a server that is not there", letter("smtp://127.0.0.1:1", nil), trusting(pool), nil, "connecting to 127.0.0.1:1", false},
		{"a private address", letter("smtp://10.0.0.1:25", nil), trusting(pool), nil, "not a public address", false},
		{"a private address by name", letter("smtp://mail.example:25", nil), func(c *sinks.Config) {
			c.Dial = fetch.Config{Resolver: loopback}.Dialer
		}, nil, "not a public address", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.mu.Lock()
			p.refuse = tt.refuse
			p.mu.Unlock()
			o := opened(t, tt.s, tt.change)
			_, err := o.Send(t.Context(), sinks.Message{ID: "a", Body: []byte("Subject: x\r\n\r\nx\r\n")})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "wrong-letters") {
				t.Errorf("it fails with %v, want %s", err, tt.want)
			}
			if r, _ := errors.AsType[*sinks.Refusal](err); tt.unfit != (r != nil && r.Unfit()) {
				t.Errorf("%v is unfit: %v", err, !tt.unfit)
			}
		})
	}
	if len(p.bodies) > 0 {
		t.Errorf("messages arrived: %v", p.bodies)
	}
}
