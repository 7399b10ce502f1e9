package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/features"
	"freshet/internal/store"
	"freshet/internal/store/sqlite"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cheap makes passwords quick to hash.
var cheap = auth.Cost{Memory: 64, Passes: 1}

// A rig is a gate over a real store, with a clock that the test moves.
type rig struct {
	*auth.Gate
	t     *testing.T
	db    *store.DB
	store *auth.Store
	now   time.Time
}

func newRig(t *testing.T, cfg auth.Config) *rig {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	r := &rig{t: t, db: opened.DB(), store: auth.NewStore(opened.DB()), now: noon}
	cfg.Store, cfg.Cost, cfg.Now = r.store, cheap, func() time.Time { return r.now }
	if r.Gate, err = auth.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) user(name string, role access.Role) auth.User {
	r.t.Helper()
	u, err := r.AddUser(r.t.Context(), auth.User{Name: name, Role: role}, "password of "+name)
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

func (r *rig) login(name string) (auth.Credential, string) {
	r.t.Helper()
	p, secret, err := r.Login(r.t.Context(), name, "password of "+name, "192.0.2.1")
	if err != nil {
		r.t.Fatal(err)
	}
	return p, secret
}

func (r *rig) knows(secret string) bool {
	r.t.Helper()
	c, err := r.Known(r.t.Context(), secret)
	if err != nil && !errors.Is(err, auth.ErrUnknown) {
		r.t.Fatal(err)
	}
	return c.Known
}

// A password of any length counts to its last byte, and a hash is never the same twice.
func TestPasswords(t *testing.T) {
	r := newRig(t, auth.Config{})
	long := strings.Repeat("x", 100)
	a, err := r.AddUser(t.Context(), auth.User{Name: "ada", Role: access.Admin}, long+"a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.AddUser(t.Context(), auth.User{Name: "bob", Role: access.Viewer}, long+"a")
	if err != nil {
		t.Fatal(err)
	}
	if a.Password == b.Password || !strings.HasPrefix(a.Password, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("the hashes are %s and %s", a.Password, b.Password)
	}
	for password, right := range map[string]bool{long + "a": true, long + "b": false, long: false, "": false, strings.Repeat("x", 5000): false} {
		_, err := r.Verify(t.Context(), "ada", password, fmt.Sprintf("192.0.2.%d", len(password)%200))
		if (err == nil) != right || !right && !errors.Is(err, auth.ErrWrong) {
			t.Errorf("a password of %d bytes gives %v", len(password), err)
		}
	}
	for _, password := range []string{"", "short", strings.Repeat("é", 7), strings.Repeat("x", 1025)} {
		if _, err := r.AddUser(t.Context(), auth.User{Name: "eve", Role: access.Viewer}, password); err == nil {
			t.Errorf("the password %.10q is taken", password)
		}
	}
}

// A name that nobody has gets the same answer as a wrong password, and as one without any.
func TestNobodyIsTold(t *testing.T) {
	r := newRig(t, auth.Config{})
	r.user("ada", access.Admin)
	if _, err := r.AddUser(t.Context(), auth.User{Name: "elsewhere", Role: access.Viewer, Subject: "https://id.example#1"}, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "nobody", "elsewhere", ""} {
		if _, err := r.Verify(t.Context(), name, "wrong", "192.0.2.1"); err != auth.ErrWrong {
			t.Errorf("%q gets %v", name, err)
		}
	}
}

// Whoever fails often has to wait, and nobody else has.
func TestTries(t *testing.T) {
	r := newRig(t, auth.Config{})
	r.user("ada", access.Admin)
	r.user("bob", access.Viewer)
	try := func(name, password, from string) error {
		_, err := r.Verify(t.Context(), name, password, from)
		return err
	}
	for n := range 5 {
		if err := try("ada", "wrong", "2001:db8::1"); err != auth.ErrWrong {
			t.Fatalf("failure %d gives %v", n, err)
		}
	}
	err := try("ada", "password of ada", "2001:db8::2") // the same network
	many, ok := errors.AsType[*auth.TooManyError](err)
	if !ok || many.Seconds() != 12 {
		t.Fatalf("after five failures the right password gives %v", err)
	}
	for _, other := range []struct{ name, from string }{{"ada", "2001:db8:0:1::1"}, {"ada", "192.0.2.1"}, {"bob", "2001:db8::1"}} {
		if err := try(other.name, "password of "+other.name, other.from); err != nil {
			t.Errorf("%s from %s gets %v", other.name, other.from, err)
		}
	}
	r.now = r.now.Add(12 * time.Second)
	if err := try("ada", "password of ada", "2001:db8::1"); err != nil {
		t.Errorf("after the wait it gives %v", err)
	}
	for n := range 30 { // one address, any names
		err = try(fmt.Sprint("x", n), "wrong", "192.0.2.9")
	}
	if _, ok := errors.AsType[*auth.TooManyError](err); !ok {
		t.Errorf("after 30 failures of one address there is no wait: %v", err)
	}
	if err := try("ada", "password of ada", "192.0.2.10"); err != nil {
		t.Errorf("at another address it gives %v", err)
	}
	for range 30 { // nor can anybody guess a token or a link
		_, _, err = r.Enter(t.Context(), "ft_guess", "192.0.2.30")
	}
	if _, ok := errors.AsType[*auth.TooManyError](err); !ok {
		t.Errorf("after 30 wrong tokens from one address there is no wait: %v", err)
	}
	for range 50 { // who is right does not have to wait
		if err := try("ada", "password of ada", "192.0.2.20"); err != nil {
			t.Fatal(err)
		}
	}
}

// A session ends when nothing was asked for a while, after a month, and at a new password.
func TestSessionsEnd(t *testing.T) {
	r := newRig(t, auth.Config{})
	ada := r.user("ada", access.Admin)
	_, idle := r.login("ada")
	_, used := r.login("ada")
	for range 10 {
		r.now = r.now.Add(3 * 24 * time.Hour)
		if r.now.Sub(noon) < 30*24*time.Hour && !r.knows(used) {
			t.Fatalf("after %s it is over", r.now.Sub(noon))
		}
		if r.knows(idle) != (r.now.Sub(noon) < 7*24*time.Hour) && r.now.Sub(noon) == 3*24*time.Hour {
			t.Errorf("the idle session is wrong after %s", r.now.Sub(noon))
		}
		if r.now.Sub(noon) == 3*24*time.Hour {
			idle = "" // from here on nobody uses it
		}
	}
	if r.knows(used) {
		t.Error("a session lasts longer than a month")
	}
	first, one := r.login("ada")
	_, two := r.login("ada")
	_, token, err := r.Issue(t.Context(), auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "ci", Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.EditUser(t.Context(), ada, "another password", first.ID); err != nil {
		t.Fatal(err)
	}
	if !r.knows(one) || r.knows(two) || !r.knows(token) {
		t.Errorf("after a new password: the session that set it %t, another %t, a token %t", r.knows(one), r.knows(two), r.knows(token))
	}
	r.now = r.now.Add(8 * 24 * time.Hour)
	if r.knows(one) {
		t.Error("a session that lay idle for 8 days is good")
	}
	if err := r.RemoveUser(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if r.knows(token) {
		t.Error("a token outlives its user")
	}
}

// A pass is never good for more than its user may do, also later, and is not written to at
// every use.
func TestTokens(t *testing.T) {
	r := newRig(t, auth.Config{Local: "fd_local"})
	r.user("ada", access.Admin)
	bob := r.user("bob", access.Editor)
	p, secret, err := r.Issue(t.Context(), auth.Credential{Kind: auth.TokenKind, User: "bob", Name: "ci", Expires: noon.Add(time.Hour), Limit: auth.Limit{Scopes: []access.Right{access.Read, access.Write}}})
	if err != nil {
		t.Fatal(err)
	}
	may := func() string {
		c, err := r.Known(t.Context(), secret)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(c.Limit.Scopes)
	}
	if got := may(); got != "[read write]" {
		t.Errorf("the token is good for %s", got)
	}
	bob.Role = access.Viewer
	if _, err := r.EditUser(t.Context(), bob, "", ""); err != nil {
		t.Fatal(err)
	}
	if got := may(); got != "[read]" {
		t.Errorf("the token of a viewer is good for %s", got)
	}
	r.now = r.now.Add(4 * time.Minute)
	may()
	if stored, _ := r.store.CredentialBySecret(t.Context(), p.Secret); !stored.Used.Equal(noon) {
		t.Errorf("it was used at %s", stored.Used)
	}
	r.now = r.now.Add(4 * time.Minute)
	may()
	if stored, _ := r.store.CredentialBySecret(t.Context(), p.Secret); !stored.Used.Equal(r.now) {
		t.Errorf("it was used at %s", stored.Used)
	}
	r.now = noon.Add(time.Hour)
	if got := may(); got != auth.ErrUnknown.Error() {
		t.Errorf("after it has expired: %s", got)
	}
	if c, err := r.Known(t.Context(), "fd_local"); err != nil || !c.May(access.Administer) {
		t.Errorf("the token of the data directory: %+v, %v", c, err)
	}
	for _, wrong := range []string{"", "fd_loca", "fd_localx", "ft_" + strings.Repeat("A", 43)} {
		if r.knows(wrong) {
			t.Errorf("%q is let in", wrong)
		}
	}
}

// While there are no users, only what comes straight from this machine is let in.
func TestOpen(t *testing.T) {
	request := func(change ...func(*http.Request)) *http.Request {
		req := httptest.NewRequest("GET", "/api/v1/sources", nil)
		req.RemoteAddr, req.Host = "127.0.0.1:5000", "127.0.0.1:8080"
		for _, c := range change {
			c(req)
		}
		return req
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	tests := []struct {
		name string
		req  *http.Request
		open bool
	}{
		{"this machine", request(), true},
		{"by name", request(host("localhost:8080")), true},
		{"by IPv6", request(host("[::1]:8080"), func(r *http.Request) { r.RemoteAddr = "[::1]:5000" }), true},
		{"another machine", request(func(r *http.Request) { r.RemoteAddr = "192.0.2.1:5000" }), false},
		{"no address", request(func(r *http.Request) { r.RemoteAddr = "@" }), false},
		{"a proxy that says so", request(header("X-Forwarded-For", "192.0.2.1")), false},
		{"a proxy that says it otherwise", request(header("Forwarded", "for=192.0.2.1")), false},
		{"a proxy that says who it is", request(header("Via", "1.1 cache")), false},
		{"a proxy that says the name", request(header("X-Forwarded-Host", "freshet.example")), false},
		{"nginx as it comes", request(func(r *http.Request) { r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0 }), false},
		{"a public name", request(host("freshet.example")), false},
		{"an address of the network", request(host("192.168.1.5:8080")), false},
		{"a wrong token", request(header("Authorization", "Bearer ft_x")), false},
	}
	for _, at := range []struct {
		name string
		cfg  auth.Config
		may  bool
	}{
		{"loopback", auth.Config{Loopback: true}, true},
		{"believed proxy", auth.Config{Loopback: true, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, true},
		{"all addresses", auth.Config{}, false},
		{"on", auth.Config{Loopback: true, Mode: auth.On}, false},
	} {
		r := newRig(t, at.cfg)
		for _, users := range []bool{false, true} {
			if users {
				r.user("ada", access.Admin)
			}
			for _, tt := range tests {
				c, err := r.Ask(tt.req)
				if err != nil && !errors.Is(err, auth.ErrUnknown) {
					t.Fatal(err)
				}
				if c.Known != (tt.open && at.may && !users) {
					t.Errorf("%s, %s, with users %t: let in is %t", at.name, tt.name, users, c.Known)
				}
			}
		}
	}
	if c, err := newRig(t, auth.Config{Mode: auth.Off}).Ask(request(host("freshet.example"), header("X-Forwarded-For", "192.0.2.1"))); err != nil || !c.May(access.Administer) {
		t.Errorf("if nobody has to log in: %+v, %v", c, err)
	}
}

// Where a request comes from is what the last proxy that is believed says.
func TestAddress(t *testing.T) {
	r := newRig(t, auth.Config{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}, Public: "https://freshet.example/"})
	tests := []struct {
		remote, forwarded, proto, host, want string
		secure                               bool
	}{
		{"192.0.2.1:1", "", "", "", "192.0.2.1", false},
		{"192.0.2.1:1", "198.51.100.7", "https", "", "192.0.2.1", false}, // says what it likes
		{"127.0.0.1:1", "198.51.100.7", "https", "", "198.51.100.7", true},
		{"127.0.0.1:1", "198.51.100.7", "http", "freshet.example", "198.51.100.7", false},
		{"127.0.0.1:1", "203.0.113.9, 198.51.100.7, 10.1.2.3", "", "", "198.51.100.7", false},
		{"127.0.0.1:1", "nonsense, 10.1.2.3", "", "", "10.1.2.3", false},
		{"127.0.0.1:1", "", "", "freshet.example", "127.0.0.1", true},
		{"[::ffff:127.0.0.1]:1", "198.51.100.7", "", "other.example", "198.51.100.7", false},
	}
	for _, tt := range tests {
		req := httptest.NewRequest("GET", "/", nil)
		req.RemoteAddr, req.Host = tt.remote, tt.host
		for name, value := range map[string]string{"X-Forwarded-For": tt.forwarded, "X-Forwarded-Proto": tt.proto} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if got := r.Address(req); got != tt.want {
			t.Errorf("%+v comes from %s", tt, got)
		}
		if got := r.Secure(req); got != tt.secure {
			t.Errorf("%+v is secure: %t", tt, got)
		}
	}
}

// The cookie of https cannot be set over http, and no token is one.
func TestCookies(t *testing.T) {
	r := newRig(t, auth.Config{Public: "https://freshet.example"})
	r.user("ada", access.Admin)
	_, session := r.login("ada")
	_, token, err := r.Issue(t.Context(), auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "ci", Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host, cookie, value string
		known               bool
	}{
		{"freshet.example", auth.SecureCookie, session, true},
		{"freshet.example", auth.PlainCookie, session, false},
		{"192.0.2.5:8080", auth.PlainCookie, session, true},
		{"192.0.2.5:8080", auth.SecureCookie, session, false},
		{"192.0.2.5:8080", auth.PlainCookie, token, false},
		{"192.0.2.5:8080", auth.PlainCookie, "x", false},
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.RemoteAddr, req.Host = "192.0.2.1:1", tt.host
		req.AddCookie(&http.Cookie{Name: tt.cookie, Value: tt.value})
		c, err := r.Ask(req)
		if err != nil || c.Known != tt.known {
			t.Errorf("%+v: %t, %v", tt, c.Known, err)
		}
	}
	secure, plain := auth.Caller{Secure: true}.Cookie("x", noon), auth.Caller{}.Cookie("x", noon)
	if s := secure.String(); !strings.HasPrefix(s, "__Host-freshet=x; Path=/;") || !strings.Contains(s, "; Secure") || !strings.Contains(s, "HttpOnly") || !strings.Contains(s, "SameSite=Strict") || strings.Contains(s, "Domain") {
		t.Errorf("the cookie is %s", s)
	}
	if s := plain.String(); !strings.HasPrefix(s, "freshet=x;") || strings.Contains(s, "; Secure") || !strings.Contains(s, "HttpOnly") {
		t.Errorf("over http the cookie is %s", s)
	}
}

// What somebody is doing ends with the pass that it was begun with.
func TestCallsEnd(t *testing.T) {
	r := newRig(t, auth.Config{Loopback: true})
	open := httptest.NewRequest("GET", "/", nil)
	open.RemoteAddr, open.Host = "127.0.0.1:1", "localhost"
	begin := func(c auth.Caller) context.Context {
		ctx, done := r.Bind(t.Context(), c)
		t.Cleanup(done)
		return ctx
	}
	known := func(secret string) auth.Caller {
		c, err := r.Known(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, err := r.Ask(open)
	if err != nil {
		t.Fatal(err)
	}
	before := begin(c)
	ada := r.user("ada", access.Admin)
	if before.Err() == nil {
		t.Error("what began while nobody had to log in goes on after there is a user")
	}
	r.user("bob", access.Admin)
	pass, secret := r.login("ada")
	share, link, err := r.Issue(t.Context(), auth.Credential{Kind: auth.ShareKind, User: "ada", Limit: auth.Limit{Source: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	_, seen, err := r.Enter(t.Context(), link, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	one, other, through := begin(known(secret)), begin(known(link)), begin(known(seen))
	if c := known(seen); !c.Share() || fmt.Sprint(c.Limit.Scopes) != "[read]" || c.User != "" {
		t.Errorf("who came by a link is %+v", c)
	}
	if err := r.Revoke(t.Context(), auth.CredentialFilter{ID: pass.ID}); err != nil || one.Err() == nil || other.Err() != nil {
		t.Errorf("after the end of a session: %v, %v, %v", err, one.Err(), other.Err())
	}
	if err := r.Revoke(t.Context(), auth.CredentialFilter{ID: share.ID}); err != nil || other.Err() == nil || through.Err() == nil || r.knows(seen) {
		t.Errorf("after the end of a link: %v, %v, %v", err, other.Err(), through.Err())
	}
	_, secret = r.login("ada")
	one = begin(known(secret))
	if ada.Role = access.Viewer; one.Err() != nil {
		t.Fatal(one.Err())
	}
	if _, err := r.EditUser(t.Context(), ada, "", ""); err != nil || one.Err() == nil {
		t.Errorf("after another role: %v, %v", err, one.Err())
	}
}

// A stream ends when its pass expires.
func TestCallsExpire(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	synctest.Test(t, func(t *testing.T) {
		g, err := auth.New(t.Context(), auth.Config{Store: auth.NewStore(store.DB())})
		if err != nil {
			t.Fatal(err)
		}
		ctx, done := g.Bind(t.Context(), auth.Caller{Credential: auth.Credential{ID: "x", Expires: time.Now().Add(time.Hour)}})
		defer done()
		time.Sleep(time.Hour - time.Second)
		if synctest.Wait(); ctx.Err() != nil {
			t.Error("it has ended before")
		}
		time.Sleep(time.Second)
		if synctest.Wait(); ctx.Err() == nil {
			t.Error("it goes on")
		}
	})
}
