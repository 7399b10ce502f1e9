package browser

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// sendAlong adds to a request of the page what the page itself was asked for with, if
// the request goes to where the page came from and a document from there makes it. A
// frame of another origin must not use our credentials.
func (v *visit) sendAlong(r *http.Request) {
	along := v.document.Along
	if along == nil || !sameOrigin(r.URL, along.URL) || !fromOrigin(r.Header, along.URL) || v.isSentTo(r.URL) {
		return
	}
	for name, values := range along.Header {
		switch {
		case name == "Cookie":
			if all := withCookies(r.Header.Values(name), values); all != "" {
				r.Header.Set(name, all)
			}
		case name == "Accept-Language" || name == "User-Agent" || r.Header[name] == nil: // others are the page's own
			r.Header[name] = slices.Clone(values)
		}
	}
}

// noteRedirect notes where an answer of another origin leads the page: our credentials do not go
// there.
func (v *visit) noteRedirect(r *http.Request, a *http.Response) {
	along, location := v.document.Along, a.Header.Get("Location")
	if along == nil || location == "" || sameOrigin(r.URL, along.URL) && !v.isSentTo(r.URL) {
		return
	}
	to, err := r.URL.Parse(location)
	if err != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sentTo == nil {
		v.sentTo = map[string]bool{}
	}
	v.sentTo[withoutFragment(to)] = true
}

// isSentTo reports whether an answer of another origin led to a URL.
func (v *visit) isSentTo(u *url.URL) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sentTo[withoutFragment(u)]
}

func withoutFragment(u *url.URL) string {
	plain := *u
	plain.Fragment, plain.RawFragment = "", ""
	return plain.String()
}

// fromOrigin reports whether a request is one of a document from an origin. Browsers
// say so, unless the connection is not secure; then they name the document.
func fromOrigin(h http.Header, origin string) bool {
	if site := h.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	for _, name := range []string{"Origin", "Referer"} {
		if from := h.Get(name); from != "" {
			u, err := url.Parse(from)
			return err == nil && sameOrigin(u, origin)
		}
	}
	return false
}

// sameOrigin reports whether a URL has the scheme, host and port of another.
func sameOrigin(u *url.URL, raw string) bool {
	v, err := url.Parse(raw)
	return err == nil && v.Scheme == u.Scheme && strings.EqualFold(freshet.HostOf(raw), freshet.HostOf(u.String()))
}

// withCookies returns the cookies of the browser with those that it does not know.
func withCookies(known, more []string) string {
	var pairs, names []string
	for _, line := range append(slices.Clone(known), more...) {
		for pair := range strings.SplitSeq(line, ";") {
			pair = strings.TrimSpace(pair)
			name, _, _ := strings.Cut(pair, "=")
			if pair != "" && !slices.Contains(names, name) {
				pairs, names = append(pairs, pair), append(names, name)
			}
		}
	}
	return strings.Join(pairs, "; ")
}
