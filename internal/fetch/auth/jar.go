package auth

import (
	"cmp"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

const (
	maxCookies     = 200     // of one jar
	maxCookieBytes = 4 << 10 // of one cookie
)

// A cookie is one that a server has set, with the URL that set it: whose it is follows
// from both.
type cookie struct {
	From     string    `json:"from"`
	Name     string    `json:"name"`
	Value    string    `json:"value"`
	Domain   string    `json:"domain,omitempty"`
	Path     string    `json:"path,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
	Secure   bool      `json:"secure,omitempty"`
	HTTPOnly bool      `json:"http_only,omitempty"`
	Set      time.Time `json:"set"`
}

// A jar keeps cookies. That of the standard library knows which cookie goes where but
// not how to serialize them, so all that is set is noted beside it.
type jar struct {
	key jarKey
	now func() time.Time

	mu    sync.Mutex
	rules *cookiejar.Jar
	kept  []cookie
	dirty bool // since it was last saved
}

func newJar(key jarKey, now func() time.Time, kept []cookie) *jar {
	j := &jar{key: key, now: now, kept: kept}
	j.rebuild()
	return j
}

// rebuild tells the rules all cookies anew.
func (j *jar) rebuild() {
	j.rules, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // never fails
	for _, c := range j.kept {
		if from, err := url.Parse(c.From); err == nil {
			j.rules.SetCookies(from, []*http.Cookie{c.http()})
		}
	}
}

func (c cookie) http() *http.Cookie {
	return &http.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: c.Expires, Secure: c.Secure, HttpOnly: c.HTTPOnly}
}

// Cookies implements [http.CookieJar].
func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rules.Cookies(u)
}

// SetCookies implements [http.CookieJar].
func (j *jar) SetCookies(u *url.URL, set []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	from := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	for _, hc := range set {
		if len(hc.Name)+len(hc.Value)+len(hc.Path)+len(hc.Domain) > maxCookieBytes {
			continue
		}
		c := cookie{From: from, Name: hc.Name, Value: hc.Value, Domain: hc.Domain, Path: hc.Path, Expires: hc.Expires, Secure: hc.Secure, HTTPOnly: hc.HttpOnly, Set: now}
		if hc.MaxAge > 0 {
			c.Expires = now.Add(time.Duration(min(hc.MaxAge, 400*24*3600)) * time.Second)
		}
		gone := hc.MaxAge < 0 || !c.Expires.IsZero() && !c.Expires.After(now)
		j.note(c, gone, u)
		j.rules.SetCookies(u, []*http.Cookie{hc})
	}
}

// note keeps a cookie in the place of the one with its name, domain and path.
func (j *jar) note(c cookie, gone bool, u *url.URL) {
	same := func(o cookie) bool {
		if o.Name != c.Name || o.Domain != c.Domain || o.Path != c.Path {
			return false
		}
		from, err := url.Parse(o.From)
		return err == nil && (c.Domain != "" || from.Host == u.Host)
	}
	i := slices.IndexFunc(j.kept, same)
	switch {
	case gone && i < 0:
		return
	case gone:
		j.kept = slices.Delete(j.kept, i, i+1)
	case i < 0:
		j.kept = append(j.kept, c)
	default:
		old := j.kept[i]
		// That a session lasts a little longer is not worth a write.
		unchanged := old.Value == c.Value && c.Expires.Sub(old.Expires).Abs() < 24*time.Hour
		j.kept[i] = c
		if unchanged {
			return
		}
	}
	j.dirty = true
	if len(j.kept) > maxCookies {
		slices.SortFunc(j.kept, func(a, b cookie) int { return cmp.Compare(a.Set.UnixNano(), b.Set.UnixNano()) })
		j.kept = slices.Delete(j.kept, 0, len(j.kept)-maxCookies)
		j.rebuild()
	}
}

// changed returns the cookies if they have changed since they were last saved.
func (j *jar) changed() ([]cookie, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.dirty
	j.dirty = false
	return slices.Clone(j.kept), was
}

// again has the jar saved next time.
func (j *jar) again() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dirty = true
}

// leastCookie is how long the value of a cookie is at least that answers are searched
// for: those of sessions are, and those that only say a language or a day are not.
const leastCookie = 16

// secrets returns the values that nobody else should see.
func (j *jar) secrets() (values []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.kept {
		if len(c.Value) >= leastCookie {
			values = append(values, c.Value)
		}
	}
	return values
}
