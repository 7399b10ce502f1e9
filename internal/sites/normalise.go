package sites

import (
	"errors"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"freshet/internal/urlenc"
)

// LongestURL is how long the URL of a page may be, in bytes. Sitemaps have the same bound.
const LongestURL = 2048

// ErrNoPage means that a link leads to nothing that can be requested as a page, such as
// a mailto: address or a state that only a script of the page can show.
var ErrNoPage = errors.New("no page")

// Normalise returns the URL that href leads to from a page at base, in the one
// spelling that every link to the same page has. An empty base is for absolute URLs.
//
// The URL is read as browsers read it. Then scheme and host are in lower case, the host
// in punycode and without a dot at its end; the default port, user and password, the
// fragment and an empty query are gone; escapes are in upper case and stand only where
// they are needed; parameters are sorted by name. Parameters that only track a visitor
// (utm_source, gclid) and session ids are left out. A slash at the end, index.html and
// the case of the path stay: only the server knows what they mean.
//
// Normalise of what it returned is the same again, whatever the base.
func Normalise(base, href string) (string, error) {
	from, err := newBase(base)
	if err != nil {
		return "", err
	}
	return from.normalise(href)
}

// standard reads URLs as browsers do. It holds no state.
var standard = whatwg.NewParser()

// A base is what links are relative to.
type base struct {
	url    *whatwg.Url // nil if there is none
	origin string      // scheme and host, as URLs begin that are normalised; empty if not simple
	dir    string      // path up to its last slash
}

func newBase(raw string) (base, error) {
	if raw == "" {
		return base{}, nil
	}
	return base{}.resolve(raw)
}

// resolve returns the base that href is, seen from b.
func (b base) resolve(href string) (base, error) {
	u, err := b.parse(href)
	if err != nil {
		return base{}, err
	}
	host, err := hostOf(u)
	if err != nil {
		return base{}, err
	}
	resolved := base{url: u, origin: u.Scheme() + "://" + host}
	if path := u.Pathname(); plain(path) {
		resolved.dir = path[:strings.LastIndexByte(path, '/')+1]
	}
	return resolved, nil
}

// parse reads href as browsers do, seen from b.
func (b base) parse(href string) (*whatwg.Url, error) {
	if len(href) > LongestURL {
		return nil, fmt.Errorf("%w: the URL is longer than %d bytes", ErrNoPage, LongestURL)
	}
	if strings.Count(href, "@") > 16 { // the parser takes 160 ms for four thousand
		return nil, fmt.Errorf("%q is not a URL", href)
	}
	u, err := standard.BasicParser(href, b.url, nil, whatwg.NoState)
	if err != nil {
		return nil, fmt.Errorf("%q is not a URL: %w", href, err)
	}
	return u, nil
}

func (b base) normalise(href string) (string, error) {
	if quick, ok := b.quick(href); ok {
		return quick, nil
	}
	return b.exact(href)
}

func (b base) exact(href string) (string, error) {
	u, err := b.parse(href)
	if err != nil {
		return "", err
	}
	host, err := hostOf(u)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(u.Fragment(), "!") {
		return "", fmt.Errorf("%w: only the script of the page can show what #! leads to", ErrNoPage)
	}
	var out strings.Builder
	out.WriteString(u.Scheme())
	out.WriteString("://")
	out.WriteString(host)
	out.WriteString(tidyPath(urlenc.Normalize(u.Pathname(), pathSet)))
	if query := tidyQuery(urlenc.Normalize(u.Query(), querySet)); query != "" {
		out.WriteByte('?')
		out.WriteString(query)
	}
	if out.Len() > LongestURL {
		return "", fmt.Errorf("%w: the URL is longer than %d bytes", ErrNoPage, LongestURL)
	}
	return out.String(), nil
}

// hostOf returns host and port of a URL that can be requested.
func hostOf(u *whatwg.Url) (string, error) {
	if scheme := u.Scheme(); scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("%w: %s: is not requested, only http and https", ErrNoPage, scheme)
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if host == "" || strings.HasSuffix(host, ".") {
		return "", fmt.Errorf("%q is no host", u.Hostname())
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return host, nil
}

// quick normalises the links that most pages are full of: paths and URLs in plain
// letters, in which there is little to do. The exact parser takes several times as long.
func (b base) quick(href string) (string, bool) {
	if href == "" || len(href) > LongestURL/2 {
		return "", false
	}
	href, fragment, _ := strings.Cut(href, "#")
	if strings.HasPrefix(fragment, "!") {
		return "", false
	}
	href, query, _ := strings.Cut(href, "?")
	origin, rest := b.origin, ""
	switch {
	case plainOrigin(href) > 0:
		end := plainOrigin(href)
		if origin, rest = href[:end], href[end:]; rest == "" {
			rest = "/"
		}
	case origin == "":
		return "", false
	case strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "//"):
		rest = href
	case b.dir != "" && href != "" && isWord(href[0]) && !strings.ContainsRune(href, ':'):
		rest = b.dir + href
	default:
		return "", false
	}
	if !plain(rest) || len(rest) > LongestURL/2 || !plainQuery(query) {
		return "", false
	}
	if query = tidyQuery(query); query != "" {
		return origin + rest + "?" + query, true
	}
	return origin + rest, true
}

// plainOrigin returns where the origin ends of a URL whose host is plain: names in lower
// case with dots between them, the last one of letters, none of them international. It
// is 0 for all others.
func plainOrigin(url string) int {
	begin := len("http://")
	if rest, ok := strings.CutPrefix(url, "http"); !ok || !strings.HasPrefix(rest, "://") {
		if begin++; !strings.HasPrefix(url, "https://") {
			return 0
		}
	}
	label := begin // where the last name begins
	letters := true
	for i := begin; i <= len(url); i++ {
		if i == len(url) || url[i] == '/' {
			if letters && i > label {
				return i
			}
			return 0
		}
		switch c := url[i]; {
		case 'a' <= c && c <= 'z':
		case isDigit(c), c == '-' && i > label:
			letters = false
		case c == '.' && i > label && url[i-1] != '-' && !strings.HasPrefix(url[label:i], "xn--"):
			label, letters = i+1, true
		default:
			return 0
		}
	}
	return 0
}

// plain reports whether a path is normalised as it stands: it has only letters that are
// never escaped, and no segment that begins with a dot.
func plain(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case isWord(c) || c == '-':
		case c == '/' || c == '_':
		case c == '.' && i > 0 && path[i-1] != '/':
		default:
			return false
		}
	}
	return true
}

// plainQuery reports whether nothing in a query is ever escaped.
func plainQuery(query string) bool {
	for i := range len(query) {
		if c := query[i]; !urlenc.IsUnreserved(c) && c != '=' && c != '&' {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// What a path and a query hold without an escape (RFC 3986).
var (
	pathSet  = urlenc.NewSet(urlenc.Unreserved, "!$&'()*+,;=:@/")
	querySet = urlenc.NewSet(urlenc.Unreserved, "!$&'()*+,;=:@/?")
)
