// Package profile defines how a source is requested: method, headers, credentials and logins.
package profile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// A Profile says how a source is asked for, where a plain GET does not do. A
// configuration file can hold profiles with a name, which sources build on.
type Profile struct {
	Use string `json:"use,omitempty"` // name of a profile that this one completes

	Method   string           `json:"method,omitempty"` // "" means GET, or POST if there is a body or a form
	Headers  map[string]Value `json:"headers,omitempty"`
	Body     Value            `json:"body,omitempty"`
	Form     map[string]Value `json:"form,omitempty"` // a body as an HTML form sends it
	Cookies  map[string]Value `json:"cookies,omitempty"`
	Jar      string           `json:"jar,omitempty"` // where cookies of answers are kept: OwnJar, or a name that sources share
	Auth     *Auth            `json:"auth,omitempty"`
	Cert     *Cert            `json:"cert,omitempty"`
	Proxy    Value            `json:"proxy,omitempty"`
	Language string           `json:"language,omitempty"` // Accept-Language
	Timeout  string           `json:"timeout,omitempty"`  // for the whole fetch

	Login *Login `json:"login,omitempty"`

	// Hosts are those that a named profile is for; none means all. Sources that were
	// added over the API can use a profile with secrets only for these hosts.
	Hosts []string `json:"hosts,omitempty"`
}

// OwnJar is the Jar of a source that shares its cookies with no other.
const OwnJar = "source"

// An Auth is how a source knows who asks. One of its fields is set.
type Auth struct {
	Basic  *Basic  `json:"basic,omitempty"`
	Digest *Basic  `json:"digest,omitempty"` // as of RFC 7616: the password is not sent
	Bearer Value   `json:"bearer,omitempty"`
	OAuth2 *OAuth2 `json:"oauth2,omitempty"`
}

// A Basic is a user with a password, as of RFC 7617.
type Basic struct {
	User     Value `json:"user"`
	Password Value `json:"password"`
}

// An OAuth2 gets a token by the client credentials grant, as of RFC 6749.
type OAuth2 struct {
	TokenURL     string           `json:"token_url"`
	ClientID     Value            `json:"client_id"`
	ClientSecret Value            `json:"client_secret"`
	Scope        string           `json:"scope,omitempty"`
	InBody       bool             `json:"in_body,omitempty"` // id and secret go into the body, not into an Authorization header
	Params       map[string]Value `json:"params,omitempty"`  // more of the token request, such as audience
}

// A Cert is a client certificate: files in PEM form.
type Cert struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// An Expect says which answers of a source count. One that does not is a failed
// poll and never a change.
type Expect struct {
	Status  []int  `json:"status,omitempty"`   // that bring a page; none means those of 200 to 299
	Match   string `json:"match,omitempty"`    // a regular expression that the body must match
	NoMatch string `json:"no_match,omitempty"` // one that it must not match
}

// empty reports whether a profile says nothing.
func (p *Profile) Empty() bool { return p == nil || strictjson.MarshalCanonical(p) == "{}" }

// key returns a profile in a canonical form. How long an answer may take makes no
// other source.
func (p *Profile) Key() string {
	if p.Empty() {
		return ""
	}
	same := *p
	same.Timeout = ""
	if same.Empty() {
		return ""
	}
	return strictjson.MarshalCanonical(&same)
}

// Over returns a profile that says what p says, and where p is silent what base
// says. Headers, form fields and cookies of both go together.
func (p Profile) Over(base Profile) Profile {
	p.Use = base.Use
	p.Method = cmp.Or(p.Method, base.Method)
	p.Headers = merged(base.Headers, p.Headers)
	if p.Body == "" && p.Form == nil {
		p.Body = base.Body
	}
	if p.Body == "" {
		p.Form = merged(base.Form, p.Form)
	}
	p.Cookies = merged(base.Cookies, p.Cookies)
	p.Jar = cmp.Or(p.Jar, base.Jar)
	p.Auth = cmp.Or(p.Auth, base.Auth)
	p.Cert = cmp.Or(p.Cert, base.Cert)
	p.Proxy = cmp.Or(p.Proxy, base.Proxy)
	p.Language = cmp.Or(p.Language, base.Language)
	p.Timeout = cmp.Or(p.Timeout, base.Timeout)
	p.Login = cmp.Or(p.Login, base.Login)
	p.Hosts = base.Hosts
	return p
}

func merged(base, over map[string]Value) map[string]Value {
	if len(base) == 0 {
		return over
	}
	all := maps.Clone(base)
	maps.Copy(all, over)
	return all
}

// Values yields all values of the profile that can refer to secrets, by the path of
// the field.
func (p *Profile) Values(yield func(field string, t Value) bool) {
	if p == nil {
		return
	}
	list := []struct {
		field string
		text  Value
	}{{"body", p.Body}, {"proxy", p.Proxy}}
	add := func(field string, t Value) {
		list = append(list, struct {
			field string
			text  Value
		}{field, t})
	}
	each := func(section string, values map[string]Value) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			add(section+"."+name, values[name])
		}
	}
	each("headers", p.Headers)
	each("form", p.Form)
	each("cookies", p.Cookies)
	if a := p.Auth; a != nil {
		add("auth.bearer", a.Bearer)
		if a.Basic != nil {
			add("auth.basic.user", a.Basic.User)
			add("auth.basic.password", a.Basic.Password)
		}
		if a.Digest != nil {
			add("auth.digest.user", a.Digest.User)
			add("auth.digest.password", a.Digest.Password)
		}
		if a.OAuth2 != nil {
			add("auth.oauth2.client_id", a.OAuth2.ClientID)
			add("auth.oauth2.client_secret", a.OAuth2.ClientSecret)
			each("auth.oauth2.params", a.OAuth2.Params)
		}
	}
	p.Login.values(add)
	for _, v := range list {
		if !yield(v.field, v.text) {
			return
		}
	}
}

// Secret returns the first field of the profile that is secret, "" if none is.
func (p *Profile) Secret() string {
	for field, t := range p.Values {
		if t.Secret() {
			return field
		}
	}
	if p != nil && p.Cert != nil {
		return "cert"
	}
	return ""
}

// Local returns the first field that reads a file or a variable of this machine, ""
// if none does. Who can only use the API must not be able to have them sent
// anywhere.
func (p *Profile) Local() string {
	for field, t := range p.Values {
		found, _ := t.References() // what is wrong with them is said elsewhere
		if slices.ContainsFunc(found, func(r Reference) bool { return r.Kind == EnvSecret || r.Kind == FileSecret }) {
			return field
		}
	}
	if p != nil && p.Cert != nil {
		return "cert"
	}
	return ""
}

// Limit returns the timeout; zero if there is none.
func (p *Profile) Limit() time.Duration {
	if p == nil || p.Timeout == "" {
		return 0
	}
	d, err := units.ParseDuration(p.Timeout)
	if err != nil {
		return 0 // it has been checked
	}
	return d
}

// ParseProfile reads a profile in JSON. It does not judge: see Profile.Check.
func Parse(text string) (Profile, error) { return strictjson.Parse[Profile](text) }
