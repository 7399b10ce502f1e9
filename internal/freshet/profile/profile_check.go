package profile

import (
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/units"
)

const (
	maxHeaders = 64
	maxValue   = 8 << 10 // bytes of a header or a cookie
	maxSent    = 1 << 20 // bytes of a body
	maxPattern = 1024    // bytes of a regular expression
	maxProgram = 2000    // instructions that it becomes
)

// methods are what a source can be asked for with. Those that delete are not among
// them: a poll is made again and again.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "QUERY", "PROPFIND", "REPORT", "SEARCH"}

// ownHeaders are set by the program, or belong to one connection, or would turn a
// request into two.
var ownHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
	"proxy-authorization", "proxy-authenticate", "proxy-connection", "accept-encoding",
	"if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range", "http2-settings",
}

// Check judges a profile. It returns it in its normal form, or an *invalid.Error that
// names the field below the one that the profile stands in.
func (p Profile) Check(at string) (Profile, error) {
	p.Method = strings.ToUpper(p.Method)
	p.Jar, p.Language = strings.TrimSpace(p.Jar), strings.TrimSpace(p.Language)
	for _, check := range []func(string) error{
		p.checkNames, p.checkMethod, p.checkHeaders, p.checkCookies, p.checkTexts, p.checkAuth, p.checkWay,
	} {
		if err := check(at); err != nil {
			return p, err
		}
	}
	return p, p.Login.check(at + ".login")
}

func (p Profile) checkNames(at string) error {
	if p.Use != "" && !ValidSecretName(p.Use) {
		return invalid.Errorf(at+".use", "%.80q is not the name of a profile", p.Use)
	}
	if p.Jar != "" && !ValidSecretName(p.Jar) {
		return invalid.Errorf(at+".jar", "%.80q is not a name; use %s, or up to 64 letters, digits, '.', '_' and '-'", p.Jar, OwnJar)
	}
	return nil
}

func (p Profile) checkMethod(at string) error {
	switch {
	case p.Method != "" && !slices.Contains(methods, p.Method):
		return invalid.Errorf(at+".method", "%.40q cannot be used; use one of %s", p.Method, strings.Join(methods, ", "))
	case p.Body != "" && len(p.Form) > 0:
		return invalid.Errorf(at+".form", "use a body or a form, not both")
	case (p.Method == "GET" || p.Method == "HEAD") && len(p.Form) > 0:
		return invalid.Errorf(at+".form", "%s has no body; put the fields into the URL", p.Method)
	case (p.Method == "GET" || p.Method == "HEAD") && p.Body != "":
		return invalid.Errorf(at+".body", "%s has no body", p.Method)
	case len(p.Body) > maxSent:
		return invalid.Errorf(at+".body", "is longer than %d bytes", maxSent)
	}
	return nil
}

func (p Profile) checkHeaders(at string) error {
	if len(p.Headers) > maxHeaders {
		return invalid.Errorf(at+".headers", "there are too many; the most is %d", maxHeaders)
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		field, lower := at+".headers."+name, strings.ToLower(name)
		switch {
		case !isToken(name):
			return invalid.Errorf(field, "%.80q is not the name of a header", name)
		case slices.Contains(ownHeaders, lower):
			return invalid.Errorf(field, "this header is set by Freshet and cannot be changed")
		case lower == "cookie":
			return invalid.Errorf(field, "use cookies instead")
		case seen[lower]:
			return invalid.Errorf(field, "is there twice")
		case lower == "authorization" && p.Auth != nil:
			return invalid.Errorf(field, "use auth or this header, not both")
		case len(p.Headers[name]) > maxValue:
			return invalid.Errorf(field, "is longer than %d bytes", maxValue)
		case !ValidHeaderValue(string(p.Headers[name])):
			return invalid.Errorf(field, "contains a line break or another control character")
		case lower == "authorization" && !p.Headers[name].Secret():
			return mustRefer(field)
		}
		seen[lower] = true
	}
	return nil
}

func (p Profile) checkCookies(at string) error {
	for _, name := range slices.Sorted(maps.Keys(p.Cookies)) {
		field, value := at+".cookies."+name, string(p.Cookies[name])
		switch {
		case !isToken(name):
			return invalid.Errorf(field, "%.80q is not the name of a cookie", name)
		case len(value) > maxValue:
			return invalid.Errorf(field, "is longer than %d bytes", maxValue)
		case !p.Cookies[name].Secret() && !ValidCookieValue(value):
			return invalid.Errorf(field, "contains a space, a comma, a semicolon, a quotation mark, a backslash or a control character")
		}
	}
	return nil
}

// mustRefer says that a secret was written down.
func mustRefer(field string) error {
	return invalid.Errorf(field, "is a secret and must not be written here; refer to it as ${env:NAME}, ${file:/path} or ${secret:NAME} (freshet settings secret set NAME)")
}

// checkTexts judges references, and asks for one where a name says that the value is
// a secret.
func (p Profile) checkTexts(at string) error {
	for field, t := range p.Values {
		found, err := t.References()
		if err != nil {
			return invalid.Errorf(at+"."+field, "%v", err)
		}
		for _, r := range found {
			if r.Kind == TakenValue && field == "proxy" {
				return invalid.Errorf(at+"."+field, "%s is not known before the login", r)
			}
		}
		_, name, _ := strings.Cut(field, ".")
		literal := len(found) == 0 && t != ""
		switch {
		case literal && strings.HasPrefix(field, "auth.") && !strings.HasSuffix(field, ".user") && !strings.HasSuffix(field, ".client_id") && !strings.HasPrefix(field, "auth.oauth2.params"),
			literal && name != "" && !strings.HasPrefix(field, "auth.") && mask.SecretName(name):
			return mustRefer(at + "." + field)
		}
	}
	return nil
}

func (p Profile) checkAuth(at string) error {
	a := p.Auth
	if a == nil {
		return nil
	}
	given := 0
	for _, is := range []bool{a.Basic != nil, a.Digest != nil, a.Bearer != "", a.OAuth2 != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return invalid.Errorf(at+".auth", "use one of basic, digest, bearer and oauth2")
	case a.Basic != nil && !a.Basic.named():
		return invalid.Errorf(at+".auth.basic.user", "must be there, and without a colon")
	case a.Digest != nil && !a.Digest.named():
		return invalid.Errorf(at+".auth.digest.user", "must be there, and without a colon")
	case a.OAuth2 == nil:
		return nil
	}
	o := a.OAuth2
	switch {
	case o.TokenURL == "":
		return invalid.Errorf(at+".auth.oauth2.token_url", "must be there")
	case !isAbsolute(o.TokenURL):
		return invalid.Errorf(at+".auth.oauth2.token_url", "%.200q is not an absolute URL", mask.URL(o.TokenURL))
	case o.ClientID == "" || o.ClientSecret == "":
		return invalid.Errorf(at+".auth.oauth2", "needs client_id and client_secret")
	}
	return nil
}

// named reports whether the user has a name that can be sent.
func (b *Basic) named() bool {
	return b.User != "" && (b.User.Secret() || !strings.Contains(string(b.User), ":"))
}

func isAbsolute(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// checkWay judges how the server is reached.
func (p Profile) checkWay(at string) error {
	if c := p.Cert; c != nil && (!filepath.IsAbs(c.Cert) || !filepath.IsAbs(c.Key)) {
		return invalid.Errorf(at+".cert", "needs cert and key, each a file with its full path")
	}
	if p.Proxy != "" {
		if err := checkProxy(at+".proxy", p.Proxy); err != nil {
			return err
		}
	}
	if !ValidHeaderValue(p.Language) || len(p.Language) > 256 {
		return invalid.Errorf(at+".language", "%.80q is not a list of languages, such as de-CH, de;q=0.9", p.Language)
	}
	if p.Timeout != "" {
		d, err := units.ParseDuration(p.Timeout)
		if err != nil {
			return invalid.Errorf(at+".timeout", "%v", invalid.ReasonOf(err))
		}
		return units.CheckShortest(at+".timeout", d, 100*time.Millisecond)
	}
	return nil
}

// checkProxy judges a proxy, whose user and password may be secrets.
func checkProxy(field string, t Value) error {
	plain, err := t.Expand(func(Reference) (string, error) { return "x", nil })
	if err != nil {
		return invalid.Errorf(field, "%v", err)
	}
	if plain == "x" { // all of it is a secret
		return nil
	}
	u, err := url.Parse(plain)
	switch {
	case err != nil || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) || u.Host == "" || u.Path != "" && u.Path != "/":
		return invalid.Errorf(field, "is not a proxy such as http://proxy.example:3128 or socks5://127.0.0.1:1080")
	case u.User != nil && !t.Secret():
		return mustRefer(field)
	}
	return nil
}

// Check returns an *invalid.Error below the field at if a status cannot be expected or a pattern is invalid.
func (e *Expect) Check(at string) error {
	for _, status := range e.Status {
		if status < 200 || status > 599 || status >= 300 && status < 400 {
			return invalid.Errorf(at+".status", "%d cannot be expected; use 200 to 299 or 400 to 599", status)
		}
	}
	if err := checkPattern(at+".match", e.Match); err != nil {
		return err
	}
	return checkPattern(at+".no_match", e.NoMatch)
}

// checkPattern judges a regular expression by how long it can take, too.
func checkPattern(field, pattern string) error {
	if pattern == "" {
		return nil
	}
	if len(pattern) > maxPattern {
		return invalid.Errorf(field, "is longer than %d bytes", maxPattern)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return invalid.Errorf(field, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if PatternSize(pattern) > maxProgram {
		return invalid.Errorf(field, "is too large; repeat less in it")
	}
	return nil
}

// PatternSize returns of how many instructions a regular expression is made, which is
// what each byte that it is held against can cost.
func PatternSize(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return maxProgram + 1
	}
	return len(program.Inst)
}

// isToken reports whether s can name a header or a cookie.
func isToken(s string) bool {
	return s != "" && len(s) <= 256 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") == ""
}

// ValidHeaderValue reports whether a value can be sent in a header: it cannot begin
// another one.
func ValidHeaderValue(v string) bool {
	return utf8.ValidString(v) && !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// ValidCookieValue reports whether a value can be sent as that of a cookie.
func ValidCookieValue(v string) bool {
	return !strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`",;\`, r) })
}
