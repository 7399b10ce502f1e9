package sites

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// Relink returns an HTML page in which links lead to local files. For each link in href,
// src, srcset, action and poster it asks for the file of a normalised URL; a fragment is
// added to it. Links for which there is none are made absolute, so that they lead where
// they led before. Tags whose links change are written in normal form; all other bytes of
// the page, and url() in styles, stay as they are.
//
// A base would lead local links astray. Where a page has one, it is emptied.
func Relink(body []byte, url string, file func(url string) (local string, ok bool)) []byte {
	from, err := newBase(url)
	if err != nil {
		return body
	}
	r := relinker{from: from, file: file}
	if href, ok := baseOf(body); ok {
		if named, err := from.resolve(href); err == nil {
			r.from = named
		}
	}
	out := make([]byte, 0, len(body)+len(body)/8)
	z := html.NewTokenizer(bytes.NewReader(body))
	at := 0 // the tokenizer alters what it read; the bytes are taken from the page
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return append(out, body[at:]...)
		}
		raw := body[at : at+len(z.Raw())]
		at += len(raw)
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			token := z.Token()
			if token.Data == "noscript" || token.Data == "noframes" {
				z.NextIsNotRawText()
			}
			if r.tag(&token) {
				raw = []byte(token.String())
			}
		}
		out = append(out, raw...)
	}
}

// baseOf returns the href of the first base of a page that has one.
func baseOf(body []byte) (href string, ok bool) {
	if !bytes.Contains(bytes.ToLower(body), []byte("<base")) {
		return "", false
	}
	s := scan{seen: map[string]int{}}
	s.read(body)
	return s.base, s.based
}

type relinker struct {
	from base
	file func(url string) (string, bool)
}

// tag changes the links of a start tag, and reports whether there are any to change.
func (r *relinker) tag(token *html.Token) (changed bool) {
	for i := range token.Attr {
		a := &token.Attr[i]
		var to string
		ok := false
		switch a.Key {
		case "href", "src", "action", "poster":
			if to, ok = r.link(a.Val); token.Data == "base" && a.Key == "href" {
				to, ok = "", a.Val != ""
			}
		case "srcset":
			to, ok = r.set(a.Val)
		}
		if ok {
			a.Val, changed = to, true
		}
	}
	return changed
}

// link returns what a link becomes, if it changes.
func (r *relinker) link(href string) (string, bool) {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' {
		return "", false
	}
	url, err := r.from.normalise(href)
	if err != nil {
		return "", false
	}
	local, ok := r.file(url)
	if !ok {
		u, err := r.from.parse(href)
		if err != nil || absolute(href) {
			return "", false
		}
		return u.Href(false), true
	}
	if _, fragment, ok := strings.Cut(href, "#"); ok {
		local += "#" + fragment
	}
	return local, true
}

// absolute reports whether a link leads to the same place from everywhere.
func absolute(href string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(href), "//")
	return scheme == "http:" || scheme == "https:"
}

// set returns what a srcset becomes, if one of its pictures changes: URLs, each with a
// size after it, and commas between them.
func (r *relinker) set(value string) (string, bool) {
	var out strings.Builder
	changed := false
	for value != "" {
		start := strings.IndexFunc(value, func(c rune) bool { return c != ',' && !isSpace(byte(c)) || c > 127 })
		if start < 0 {
			break
		}
		out.WriteString(value[:start])
		value = value[start:]
		end := strings.IndexAny(value, " \t\n\f\r")
		if end < 0 {
			end = len(value)
		}
		url := strings.TrimRight(value[:end], ",")
		if local, ok := r.link(url); ok {
			changed = true
			// A comma or space would end the URL.
			out.WriteString(strings.NewReplacer(",", "%2C", " ", "%20").Replace(local))
		} else {
			out.WriteString(url)
		}
		rest := end
		if len(url) == end { // a size follows, up to a comma that is in no parentheses
			rest = sizeEnd(value, end)
		}
		out.WriteString(value[len(url):rest])
		value = value[rest:]
	}
	out.WriteString(value)
	return out.String(), changed
}

// sizeEnd returns where the size ends that begins at from.
func sizeEnd(value string, from int) int {
	open := 0
	for i := from; i < len(value); i++ {
		switch value[i] {
		case '(':
			open++
		case ')':
			open--
		case ',':
			if open <= 0 {
				return i
			}
		}
	}
	return len(value)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }
