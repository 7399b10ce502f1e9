package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/auth/openid"
	"freshet/internal/test/oidctest"
)

// The role is that of the provider at each login, by groups in whatever claim and by
// addresses that it has verified.
func TestRolesOfTheProvider(t *testing.T) {
	r := newProviderRig(t, func(c *openid.Config) { c.Groups = "realm_access.roles" })
	for what, c := range map[string]struct {
		said map[string]any
		want access.Role // "" is a refusal
	}{
		"a group":                   {map[string]any{"realm_access": map[string]any{"roles": []string{"x", "ops"}}}, access.Admin},
		"a group alone":             {map[string]any{"realm_access": map[string]any{"roles": "shop"}}, access.Editor},
		"the highest of two groups": {map[string]any{"realm_access": map[string]any{"roles": []string{"shop", "ops"}}}, access.Admin},
		"a claim with that name":    {map[string]any{"realm_access.roles": []string{"ops"}}, access.Admin},
		"another claim":             {map[string]any{"groups": []string{"ops"}}, ""},
		"a claim of another kind":   {map[string]any{"realm_access": []any{"roles"}}, ""},
		"part of a group":           {map[string]any{"realm_access": map[string]any{"roles": []string{"op", "opsx", "group:ops"}}}, ""},
		"an address":                {map[string]any{"email": "Ada@Example.com", "email_verified": true}, access.Admin},
		"an address in a text":      {map[string]any{"email": "ada@example.com", "email_verified": "true"}, access.Admin},
		"an address of the domain":  {map[string]any{"email": "bo@example.com", "email_verified": true}, access.Viewer},
		"an address in quotes":      {map[string]any{"email": `"b@o"@example.com`, "email_verified": true}, access.Viewer},
		"another domain":            {map[string]any{"email": "bo@example.com.evil.example", "email_verified": true}, ""},
		"two signs":                 {map[string]any{"email": "bo@example.com@evil.example", "email_verified": true}, ""},
		"a domain that ends so":     {map[string]any{"email": "bo@notexample.com", "email_verified": true}, ""},
		"no verified address":       {map[string]any{"email": "ada@example.com"}, ""},
		"an address not verified":   {map[string]any{"email": "ada@example.com", "email_verified": false}, ""},
		"nothing":                   {map[string]any{}, ""},
	} {
		r.now = r.now.Add(time.Minute) // so that tries are forgiven
		c.said["sub"] = what
		r.provider.Person = c.said
		b := r.browser()
		at := b.login()
		if s := b.session(); s.Role != c.want || c.want == "" && !strings.HasPrefix(at, "/login?error=role") {
			t.Errorf("%s: the role is %q, want %q; the browser is at %s", what, s.Role, c.want, at)
		}
	}
}

// A provider can say groups only when it is asked, and only of the same person.
func TestUserInfo(t *testing.T) {
	r := newProviderRig(t)
	p := r.provider
	p.Post = true
	p.Person = map[string]any{"sub": "1", "email": "ada@example.com"} // which is not verified
	for _, c := range []struct {
		says map[string]any
		want access.Role
	}{
		{map[string]any{"sub": "1", "groups": []string{"ops"}}, access.Admin},
		{map[string]any{"sub": "2", "groups": []string{"ops"}}, ""},
		{map[string]any{"sub": "1", "email": "eve@evil.example", "email_verified": true}, ""}, // which is another
		{map[string]any{"sub": "1", "groups": []string{"shop"}, "aud": "x", "iss": "y"}, access.Editor},
	} {
		p.Elsewhere = c.says
		b := r.browser()
		b.login()
		if s := b.session(); s.Role != c.want {
			t.Errorf("%v gives the role %q, want %q", c.says, s.Role, c.want)
		}
	}
	p.Person = map[string]any{"sub": "3", "preferred_username": "bo"}
	p.Elsewhere = map[string]any{"sub": "3", "preferred_username": "eve", "groups": []string{"ops"}} // what is signed counts
	b := r.browser()
	b.login()
	if s := b.session(); s.User != "bo" {
		t.Errorf("who is bo by the ID token, and eve otherwise, is %q", s.User)
	}
	asked := p.Asked("/userinfo")
	p.Person["groups"] = []string{"shop"}
	r.browser().login()
	if p.Asked("/userinfo") != asked {
		t.Error("the provider is asked for what it has said")
	}
}

// When the provider takes rights away, all that is good for more ends, streams too, and
// does not come back with them.
func TestRightsEnd(t *testing.T) {
	for _, c := range []struct {
		name                                    string
		groups                                  []string
		admin, write, read, tagged, link, other bool // what is still good
	}{
		{"admin", []string{"ops"}, true, true, true, true, true, true},
		{"editor", []string{"shop"}, false, true, true, true, true, true},
		{"viewer", []string{}, false, false, true, false, false, true},
		{"gone", nil, false, false, false, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newProviderRig(t, func(c *openid.Config) { c.Roles.Viewers = []string{"group:all"} })
			r.provider.Person = map[string]any{"sub": "1", "preferred_username": "bo", "groups": []string{"ops"}}
			b := r.browser()
			b.login()
			scopes := func(list ...access.Right) auth.Limit { return auth.Limit{Scopes: list} }
			tagged := scopes(access.Read, access.Write)
			tagged.Tag = "shop"
			good := map[string][]string{}
			for name, p := range map[string]auth.Credential{
				"admin":  {Kind: auth.TokenKind, User: "bo", Limit: scopes(access.Read, access.Administer)},
				"write":  {Kind: auth.TokenKind, User: "bo", Limit: scopes(access.Read, access.Write)},
				"read":   {Kind: auth.TokenKind, User: "bo", Limit: scopes(access.Read)},
				"tagged": {Kind: auth.TokenKind, User: "bo", Limit: tagged},
				"link":   {Kind: auth.ShareKind, User: "bo", Limit: auth.Limit{Source: "a"}},
				"other":  {Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Source: "a"}},
			} {
				_, good[name] = r.pass(p)
			}
			var ended <-chan struct{}
			if !c.admin { // a stream of the session
				ended = b.stream()
			}
			r.provider.Person["groups"] = append(c.groups, "all")
			if c.groups == nil {
				r.provider.Person["groups"] = []string{"others"}
			}
			again := r.browser()
			again.login()
			if again.session().Known != (c.groups != nil) {
				t.Errorf("after it the session is %+v", again.session())
			}
			if b.session().Known != c.admin {
				t.Errorf("the session before is good: %v", !c.admin)
			}
			if ended != nil {
				<-ended
			}
			check := func(when string) {
				t.Helper()
				for name, want := range map[string]bool{"admin": c.admin, "write": c.write, "read": c.read, "tagged": c.tagged, "link": c.link, "other": c.other} {
					got := r.status("GET", "/api/v1/sources/a", good[name]) == http.StatusOK
					if got != want {
						t.Errorf("%s: %s is good: %v", when, name, got)
					}
				}
			}
			check("after it")
			r.provider.Person["groups"] = []string{"ops"}
			if at := r.browser().login(); at != "/sources?q=x" {
				t.Errorf("as an admin again: %s", at)
			}
			check("as an admin again")
		})
	}
}

// stream begins a stream of the browser and tells when it has ended.
func (b *browser) stream() <-chan struct{} {
	b.t.Helper()
	resp, err := b.Get(b.API.URL + "/api/v1/changes/stream")
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("the stream answers %s", resp.Status)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer resp.Body.Close()
		for buffer := make([]byte, 1024); ; {
			if _, err := resp.Body.Read(buffer); err != nil {
				return
			}
		}
	}()
	return ended
}

// The last admin who is none at the provider has no way in, and the other users keep theirs.
func TestLastAdminOfTheProvider(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "preferred_username": "bo", "groups": []string{"ops"}}
	b := r.browser()
	b.login()
	if err := r.gate.RemoveUser(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	_, token := r.pass(auth.Credential{Kind: auth.TokenKind, User: "bo", Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
	r.provider.Person["groups"] = []string{"shop"}
	if at := r.browser().login(); !strings.HasPrefix(at, "/login?error=last") {
		t.Errorf("as the last admin who is an editor now: %s", at)
	}
	if b.session().Known || r.status("GET", "/api/v1/sources/a", token) != http.StatusUnauthorized {
		t.Error("something of the admin is good still")
	}
	r.provider.Person["groups"] = []string{"others"}
	if at := r.browser().login(); !strings.HasPrefix(at, "/login?error=role") {
		t.Errorf("as the last admin who is nobody now: %s", at)
	}
	r.gateRig.session("vi")
}

// A name is not a person: whoever has the name of somebody else at the provider is another.
func TestNamesAreNotPeople(t *testing.T) {
	r := newProviderRig(t)
	for _, c := range []struct{ sub, name, want string }{
		{"1", "ada", "ada-"}, {"2", "ada", "ada-"}, {"3", "Bo Møller", "Bo-M-ller"}, {"4", "../x", "x"}, {"5", "@@", "somebody"}, {"6", strings.Repeat("y", 300), strings.Repeat("y", 100)},
		{"7", "", "7"}, {"3", "another name", "Bo-M-ller"},
	} {
		r.provider.Person = map[string]any{"sub": c.sub, "preferred_username": c.name, "groups": []string{"shop"}}
		b := r.browser()
		b.login()
		s := b.session()
		if s.User != c.want && !(strings.HasSuffix(c.want, "-") && strings.HasPrefix(s.User, c.want) && len(s.User) == len(c.want)+8) {
			t.Errorf("%q is called %q, want %q", c.name, s.User, c.want)
		}
		if s.Role != access.Editor {
			t.Errorf("%q is %s", c.name, s.Role)
		}
	}
	if u, err := auth.NewStore(r.Store.DB()).User(t.Context(), "ada"); err != nil || u.Role != access.Admin || u.Subject != "" {
		t.Errorf("ada is %+v, %v", u, err)
	}
	if users, err := auth.NewStore(r.Store.DB()).Users(t.Context()); err != nil || len(users) != 3+7 {
		t.Errorf("there are %d users, %v", len(users), err)
	}
}

// While the provider is away, or refuses, people are told so, and passwords work.
func TestProviderDown(t *testing.T) {
	r := newProviderRig(t)
	p := r.provider
	p.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	p.Deny = "access_denied"
	if at := r.browser().login(); !strings.HasPrefix(at, "/login?error=denied") {
		t.Errorf("refused: %s", at)
	}
	p.Deny = ""
	both := r.browser()
	if at := both.get(both.away("/") + "&error=server_error"); at != "/login?error=denied" || p.Asked("/token") != 0 {
		t.Errorf("an error beside a code: %s", at)
	}
	b := r.browser()
	answer := b.away("/")
	p.Close()
	if at := b.get(answer); at != "/login?error=provider" {
		t.Errorf("away at the end: %s", at)
	}
	r.now = r.now.Add(2 * time.Hour) // what is known of the provider holds
	if at := b.get("/login/oidc"); !strings.HasPrefix(at, p.URL+"/authorize?") {
		t.Errorf("away at the beginning: %s", at)
	}
	r.gateRig.session("ada")

	gone := newProviderRig(t)
	gone.provider.Close()
	if at := gone.browser().get("/login/oidc?next=/changes"); at != "/login?error=provider&next=%2Fchanges" {
		t.Errorf("never seen: %s", at)
	}
	plain := newProviderRig(t) // nothing secret goes over plain http, but on this machine
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"} {
		plain.provider.Offers = map[string]any{name: "http://id.example/" + name}
		plain.now = plain.now.Add(time.Minute)
		if at := plain.browser().get("/login/oidc"); at != "/login?error=provider" {
			t.Errorf("with %s over plain http: %s", name, at)
		}
	}
	none := newGateRig(t)
	none.do("GET", "/login/oidc", nil).is(404)
	none.do("GET", "/login/oidc/callback?code=x&state=y", nil).is(404)
}

// Whoever fails too often waits; a site that sends people to the callback holds up nobody.
func TestProviderTries(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	for range 30 {
		r.browser().get("/login/oidc/callback?code=x&state=y")
	}
	if at := r.browser().login(); at != "/sources?q=x" {
		t.Fatalf("after answers to nothing: %s", at)
	}
	r.provider.Twist = func(c map[string]any) { c["nonce"] = "x" }
	for range 5 {
		r.browser().login()
	}
	r.provider.Twist = nil
	asked := r.provider.Asked("/token")
	if at := r.browser().login(); !strings.HasPrefix(at, "/login?error=many") || r.provider.Asked("/token") != asked {
		t.Errorf("after five failures: %s", at)
	}
	r.gateRig.session("ada")
	r.now = r.now.Add(time.Minute)
	for range 10 {
		if at := r.browser().login(); at != "/sources?q=x" {
			t.Fatalf("a while later: %s", at)
		}
	}
}

// Under another name than the public one, a browser is sent to the public one first, where
// the provider will send it back to; and the cookie says as much as it can.
func TestPublicName(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	b := r.browser()
	local := strings.Replace(r.API.URL, "127.0.0.1", "localhost", 1)
	at := b.get(local + "/login/oidc?next=/changes")
	if at != r.API.URL+"/login/oidc?here=1&next=%2Fchanges" {
		t.Fatalf("under another name: %s", at)
	}
	if at = b.get(b.get(b.get(at))); at != "/changes" || !b.session().Known {
		t.Errorf("by the public name: %s", at)
	}
	for secure, want := range map[bool]string{false: "freshet-login=", true: "__Host-freshet-login="} {
		req, err := http.NewRequest("GET", r.API.URL+"/login/oidc?here=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.gate.Public = "http://" + req.URL.Host
		if secure {
			r.gate.Public = "https://" + req.URL.Host
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		cookie := resp.Header.Get("Set-Cookie")
		if !strings.HasPrefix(cookie, want) || strings.Contains(cookie, "Secure") != secure || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") || !strings.Contains(cookie, "Max-Age=600") {
			t.Errorf("https %v: the cookie is %s", secure, cookie)
		}
		to, err := url.Parse(resp.Header.Get("Location"))
		if q := to.Query(); err != nil || q.Get("redirect_uri") != r.API.URL+"/login/oidc/callback" || q.Get("scope") != "openid profile" || q.Get("client_id") != oidctest.ClientID {
			t.Errorf("the provider is asked for %s", to)
		}
	}
}

// While people log in at a provider nobody is let in without, and the first is an admin.
func TestFirstGuest(t *testing.T) {
	r := newProviderRig(t)
	for _, name := range []string{"ed", "vi", "ada"} {
		if err := r.gate.RemoveUser(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	r.gate.Loopback = true
	if r.status("GET", "/api/v1/sources", nil) != http.StatusUnauthorized {
		t.Error("a stranger on this machine is let in")
	}
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"shop"}}
	if at := r.browser().login(); !strings.HasPrefix(at, "/login?error=first") {
		t.Errorf("an editor as the first: %s", at)
	}
	r.provider.Person = map[string]any{"sub": "2", "groups": []string{"ops"}}
	b := r.browser()
	if at := b.login(); at != "/sources?q=x" || b.session().Role != access.Admin {
		t.Errorf("an admin as the first: %s", at)
	}
}

// A password that a user of the provider got in some other way opens nothing.
func TestGuestsHaveNoPassword(t *testing.T) {
	r := newProviderRig(t)
	if _, err := r.gate.AddUser(t.Context(), auth.User{Name: "bo", Role: access.Admin, Subject: r.provider.URL + "#1"}, "password of bo"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.gate.AddUser(t.Context(), auth.User{Name: "eli", Role: access.Admin, Subject: "https://former.example#1"}, "password of eli"); err != nil {
		t.Fatal(err)
	}
	r.do("POST", "/api/v1/session", client.Login{User: "bo", Password: "password of bo"}).is(401)
	r.gateRig.session("eli") // of a provider that is not used any more
}
