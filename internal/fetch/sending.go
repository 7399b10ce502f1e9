package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A Sending says how the requests of a fetch are made, where a plain GET does not
// do. All that it holds has been filled in: it is never shown or logged.
type Sending struct {
	Method string      // "" means GET
	Header http.Header // goes along wherever redirects lead; nothing in it is secret

	// Secret, Body and Cert go only to the host of the URL. Once a redirect has led
	// to another host they are left behind, also if one leads back: the other host
	// has chosen where to.
	Secret http.Header
	Body   []byte
	Cert   *tls.Certificate

	Digest  *Digest        // likewise; nil means that nobody proves anything
	Cookies http.CookieJar // nil means that there are none
	Proxy   *url.URL       // nil means to connect to the host itself
	Status  []int          // that bring a page; none means those of 200 to 299
	Within  time.Duration  // for all of it; zero, or longer than Config.Total, means that
}

// A course is a Sending on its way from redirect to redirect.
type course struct {
	Sending
	home       string // host that secrets may go to; "" when it has been left
	challenged bool   // the server has refused this request, and said which proof it wants
}

func (s Sending) from(at target) course {
	if s.Method == "" {
		s.Method = http.MethodGet
	}
	return course{Sending: s, home: at.host}
}

// conditional reports whether the server may answer that nothing has changed.
func (c *course) conditional() bool {
	return (c.Method == http.MethodGet || c.Method == http.MethodHead) && c.Body == nil
}

// follow changes how the next request is made after a redirect with a status, as
// browsers do.
func (c *course) follow(status int, to target) *freshet.FetchError {
	left := to.host != c.home
	if left {
		c.home, c.Secret, c.Cert, c.Digest = "", nil, nil, nil
	}
	c.challenged = false
	switch {
	case status == http.StatusSeeOther && c.Method != http.MethodHead,
		(status == http.StatusMovedPermanently || status == http.StatusFound) && c.Method == http.MethodPost:
		c.Method, c.Body = http.MethodGet, nil
		c.Header = c.Header.Clone()
		c.Header.Del("Content-Type")
	case left && !c.conditional():
		return fail(failure.RedirectBody, "a redirect of a %s request to another host, %s", c.Method, to.host)
	}
	return nil
}

// request returns the next request.
func (c *course) request(ctx context.Context, base http.Header, to target) *http.Request {
	u := to.url()
	req := (&http.Request{
		Method: c.Method, URL: u, Host: u.Host, Header: base,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	for _, more := range []http.Header{c.Header, c.Secret} {
		for name, values := range more {
			if name == "Cookie" {
				values = []string{strings.Join(append(slices.Clone(base[name]), values...), "; ")}
			}
			base[name] = values
		}
	}
	if c.Digest != nil {
		if proof := c.Digest.header(c.Method, u); proof != "" {
			base.Set("Authorization", proof)
		}
	}
	if c.Cookies != nil {
		for _, cookie := range c.Cookies.Cookies(u) {
			req.AddCookie(cookie)
		}
	}
	if c.Body != nil {
		req.ContentLength = int64(len(c.Body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.Body)), nil }
		req.Body, _ = req.GetBody() // never fails
	}
	return req
}

// along returns what a browser that shows the page sends to where it came from; nil if
// that is nothing, or redirects have led to another host.
func (c *course) along(u *url.URL) *freshet.Along {
	if c.home == "" || c.Header == nil && c.Secret == nil && c.Cookies == nil {
		return nil
	}
	header := http.Header{}
	for _, more := range []http.Header{c.Header, c.Secret} {
		for name, values := range more {
			switch name {
			case "Accept", "Content-Type", "Origin", "Referer": // of the document alone
			default:
				header[name] = slices.Clone(values)
			}
		}
	}
	if c.Cookies != nil {
		sent := http.Request{Header: header}
		for _, cookie := range c.Cookies.Cookies(u) {
			sent.AddCookie(cookie)
		}
	}
	if len(header) == 0 {
		return nil
	}
	return &freshet.Along{URL: u.String(), Header: header}
}

// heard keeps the cookies of an answer.
func (c *course) heard(hr *http.Response) {
	if c.Cookies != nil {
		if set := hr.Cookies(); len(set) > 0 {
			c.Cookies.SetCookies(hr.Request.URL, set)
		}
	}
}

// proves reports whether to make a request once more because the server has said which proof it wants.
func (c *course) proves(hr *http.Response) bool {
	if hr.StatusCode != http.StatusUnauthorized || c.Digest == nil || c.challenged || !c.Digest.heard(hr.Header) {
		return false
	}
	c.challenged = true
	return true
}

// wants reports whether a status brings a page.
func (c *course) wants(status int) bool { return slices.Contains(c.Status, status) }

// unexpected returns a failure if the source expects other statuses.
func (c *course) unexpected(status int) *freshet.FetchError {
	if len(c.Status) == 0 || c.wants(status) {
		return nil
	}
	return fail(failure.ExpectStatus, "the server answered %d %s, and the source expects %v", status, http.StatusText(status), c.Status)
}

// headLines returns what the header of an answer to HEAD says of the page, as text:
// there is nothing else to compare.
func headLines(h http.Header) []byte {
	var b bytes.Buffer
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Language", "Content-Disposition", "Etag", "Last-Modified", "Location"} {
		for _, v := range h[name] {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	return b.Bytes()
}
