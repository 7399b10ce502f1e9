package sites

import (
	"bytes"
	"html"
	"strings"

	tokens "golang.org/x/net/html"
)

// Relink returns an HTML page in which links lead to local files. For each link in href,
// src, srcset, action and poster it asks for the file of a normalised URL; a fragment is
// added to it. Links for which there is none are made absolute, so that they lead where
// they led before. All other bytes of the page, and url() in styles, stay as they are.
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
	z := tokens.NewTokenizer(bytes.NewReader(body))
	at := 0 // the tokenizer alters what it read; the bytes are taken from the page
	for {
		kind := z.Next()
		if kind == tokens.ErrorToken {
			return append(out, body[at:]...)
		}
		raw := body[at : at+len(z.Raw())]
		at += len(raw)
		if kind != tokens.StartTagToken && kind != tokens.SelfClosingTagToken {
			out = append(out, raw...)
			continue
		}
		out = r.tag(out, raw, z)
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

// tag appends a start tag to out, with its links changed.
func (r *relinker) tag(out, raw []byte, z *tokens.Tokenizer) []byte {
	name, more := z.TagName()
	isBase := string(name) == "base"
	if string(name) == "noscript" || string(name) == "noframes" {
		z.NextIsNotRawText()
	}
	copied := 0
	var spans map[string]span
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		changed, ok := r.attribute(string(key), string(value), isBase)
		if !ok {
			continue
		}
		if spans == nil {
			spans = attributeSpans(raw)
		}
		span := spans[string(key)]
		if span.end == 0 {
			continue
		}
		out = append(out, raw[copied:span.start]...)
		out = append(out, span.quoted(html.EscapeString(changed))...)
		copied = span.end
	}
	return append(out, raw[copied:]...)
}

// attribute returns what an attribute becomes, if it changes.
func (r *relinker) attribute(key, value string, isBase bool) (string, bool) {
	switch key {
	case "href":
		if isBase {
			return "", true
		}
		return r.link(value)
	case "src", "action", "poster":
		return r.link(value)
	case "srcset":
		return r.set(value)
	}
	return "", false
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

// A span is where the value of an attribute stands in a tag. It is zero if there is none.
type span struct {
	start, end int
	bare       bool // without quotes
}

// quoted returns an escaped value as it stands in the place of the span.
func (s span) quoted(value string) string {
	if s.bare {
		return `"` + value + `"`
	}
	return value
}

// attributeSpans finds the values of the attributes of a tag, as the tokenizer does. Of
// two with the same name the first counts.
func attributeSpans(tag []byte) map[string]span {
	spans := map[string]span{}
	i := 1
	for i < len(tag) && !isSpace(tag[i]) && tag[i] != '/' && tag[i] != '>' {
		i++
	}
	for i < len(tag) {
		i = skip(tag, i)
		if i >= len(tag) || tag[i] == '>' {
			break
		}
		key, after := readKey(tag, i)
		s, after := readValue(tag, after)
		if _, again := spans[key]; !again {
			spans[key] = s
		}
		i = max(after, i+1)
	}
	return spans
}

// readKey reads the name of an attribute.
func readKey(tag []byte, i int) (key string, after int) {
	start := i
	for i < len(tag) {
		c := tag[i]
		if c == '=' && i > start || isSpace(c) || c == '/' || c == '>' {
			break
		}
		i++
	}
	return strings.ToLower(string(tag[start:i])), i
}

// readValue reads the value of an attribute, if it has one.
func readValue(tag []byte, i int) (s span, after int) {
	i = skip(tag, i)
	if i >= len(tag) || tag[i] == '>' || tag[i] != '=' && tag[i] != '/' {
		return span{}, i
	}
	if tag[i] == '/' {
		return span{}, i + 1
	}
	i = skip(tag, i+1)
	if i >= len(tag) || tag[i] == '>' {
		return span{}, i
	}
	if quote := tag[i]; quote == '"' || quote == '\'' {
		end := bytes.IndexByte(tag[i+1:], quote)
		if end < 0 {
			return span{}, len(tag)
		}
		return span{start: i + 1, end: i + 1 + end}, i + 2 + end
	}
	start := i
	for i < len(tag) && !isSpace(tag[i]) && tag[i] != '>' {
		i++
	}
	return span{start: start, end: i, bare: true}, i
}

func skip(tag []byte, i int) int {
	for i < len(tag) && isSpace(tag[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }
