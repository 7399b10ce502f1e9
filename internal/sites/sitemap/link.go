package sitemap

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// resolve returns what a list says is a URL as an absolute one, as far as that can
// be had. It reports false if there is nothing to return.
func (d *document) resolve(raw []byte, line int) (string, bool) {
	raw = trim(raw)
	if len(raw) == 0 {
		d.note(faultNoURL, line, "an entry has no URL and is left out")
		return "", false
	}
	if len(raw) > maxURL {
		d.note(faultLongerURL, line, "a URL is longer than %d bytes; its entry is left out", maxURL)
		return "", false
	}
	if len(raw) >= longURL {
		d.note(faultLongURL, line, "a URL has %d bytes; the protocol wants less than %d", len(raw), longURL)
	}
	text := d.respell(raw, line)
	rest, ok := cutWebScheme(text)
	switch {
	case ok && strings.HasPrefix(rest, "//") && len(rest) > 2 && rest[2] != '/':
	case ok:
		d.note(faultSpelling, line, "%s is not spelt as a URL", quoted(raw))
		text = text[:len(text)-len(rest)] + "//" + strings.TrimLeft(rest, "/")
	case hasOtherScheme(text):
		d.note(faultScheme, line, "%s is not the URL of a web page", quoted(raw))
		return text, true
	default:
		return d.absolute(text, line)
	}
	d.sameHost(text, line)
	return text, true
}

// absolute returns a URL that has no scheme as one that has.
func (d *document) absolute(text string, line int) (string, bool) {
	scheme := "https"
	if d.base != nil {
		scheme = d.base.Scheme
	}
	switch {
	case strings.HasPrefix(text, "//"):
		text = scheme + ":" + text
		d.sameHost(text, line)
		return text, true
	case d.isHost(text):
		d.note(faultNoScheme, line, "%s has no http:// or https:// in front", quoted([]byte(text)))
		text = scheme + "://" + text
		d.sameHost(text, line)
		return text, true
	case d.base == nil:
		d.note(faultRelative, line, "%s is relative, and the URL of the list is not known", quoted([]byte(text)))
		return text, true
	}
	d.note(faultRelative, line, "%s is relative", quoted([]byte(text)))
	ref, err := url.Parse(text)
	if err != nil {
		if ref, err = url.Parse("./" + text); err != nil {
			d.note(faultSpelling, line, "%s is not spelt as a URL", quoted([]byte(text)))
			return text, true
		}
	}
	return d.base.ResolveReference(ref).String(), true
}

// sameHost reports a URL of another host than that of the list.
func (d *document) sameHost(text string, line int) {
	if d.base == nil {
		return
	}
	_, rest, _ := strings.Cut(text, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if !strings.EqualFold(rest, d.base.Host) {
		d.note(faultHost, line, "%s is on another host than the list", quoted([]byte(text)))
	}
}

// cutWebScheme returns what follows http: or https:.
func cutWebScheme(s string) (rest string, ok bool) {
	for _, scheme := range []string{"https:", "http:"} {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return s[len(scheme):], true
		}
	}
	return s, false
}

// hasOtherScheme reports whether a URL begins with a scheme, or with what can only
// be meant as one. A host with a port is none.
func hasOtherScheme(s string) bool {
	i := strings.IndexAny(s, ":/?#.")
	if i <= 0 || s[i] != ':' {
		return false
	}
	port := len(s) > i+1 && s[i+1] >= '0' && s[i+1] <= '9'
	return !port || strings.HasPrefix(s, "tel:")
}

// isHost reports whether what has no scheme begins with the name of a host: that of
// the list, one with www, or one that does not look like the name of a file.
func (d *document) isHost(s string) bool {
	host := s
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		host = s[:i]
	}
	if d.base != nil && strings.EqualFold(strings.TrimPrefix(host, "www."), strings.TrimPrefix(d.base.Host, "www.")) {
		return true
	}
	host, _, _ = strings.Cut(host, ":")
	labels := strings.Split(strings.ToLower(host), ".")
	last := labels[len(labels)-1]
	if len(labels) < 2 || len(last) < 2 || files[last] {
		return false
	}
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && r < utf8.RuneSelf
		}) {
			return false
		}
	}
	return !strings.ContainsAny(last, "0123456789-")
}

// files are endings of files that could be those of hosts.
var files = map[string]bool{
	"html": true, "htm": true, "xhtml": true, "shtml": true, "php": true, "asp": true, "aspx": true, "jsp": true, "do": true, "cgi": true, "cfm": true,
	"xml": true, "txt": true, "json": true, "rss": true, "atom": true, "gz": true, "zip": true, "pdf": true, "md": true,
	"png": true, "jpg": true, "jpeg": true, "gif": true, "webp": true, "svg": true, "css": true, "js": true,
}

// respell returns a URL with what browsers pass over taken out and what they would
// escape escaped: line breaks, spaces, backslashes, bytes that are no text.
func (d *document) respell(raw []byte, line int) string {
	odd, letters := false, false
	for _, c := range raw {
		odd = odd || c <= ' ' || c == '\\' || c == 0x7f || c == '<' || c == '>' || c == '"'
		letters = letters || c >= utf8.RuneSelf
	}
	if letters && !utf8.Valid(raw) {
		odd = true
		d.note(faultBytes, line, "%s has bytes that are no text", quoted(raw))
	}
	if !odd {
		return string(raw)
	}
	d.note(faultSpelling, line, "%s is not spelt as a URL", quoted(raw))
	var out strings.Builder
	query := false
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		query = query || r == '?' || r == '#'
		switch {
		case r == utf8.RuneError && size == 1, r == ' ', r == '<', r == '>', r == '"':
			escape(&out, raw[i])
		case r < ' ' || r == 0x7f:
		case r == '\\' && !query:
			out.WriteByte('/')
		default:
			out.Write(raw[i : i+size])
		}
		i += size
	}
	return out.String()
}

func escape(out *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	out.Write([]byte{'%', hex[c>>4], hex[c&15]})
}
