package extract

import (
	"bytes"
	"mime"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"freshet/internal/extract/chardet"
	"freshet/internal/freshet/reading"
	"freshet/internal/lazyregexp"
)

// decode returns body as valid UTF-8 without a byte order mark.
//
// A byte order mark rules, then what the server declares. What the document
// itself declares is asked only if it is not UTF-8, a few stray bytes apart: text
// in another encoding that happens to be valid UTF-8 is as good as unknown, whereas
// stale declarations in pages that have long moved to UTF-8 are common. If none
// is declared, or the text is declared as UTF-8 and is not, the encoding is detected. Bytes
// that the encoding does not know become U+FFFD.
func decode(kind reading.Kind, mediaType string, body []byte) ([]byte, error) {
	mark := markOf(body)
	label := mark
	if label == "" {
		_, params, _ := mime.ParseMediaType(mediaType)
		label = params["charset"]
		if kind == reading.JSON && mostlyUTF8(body) {
			label = "" // JSON is UTF-8, whatever a careless server adds
		}
	}
	enc, name := charset.Lookup(label)
	if enc == nil || label != mark && refuted(name, body) {
		enc, name = undeclared(kind, body)
	}
	switch name {
	case "utf-8", "":
		return valid(body), nil
	case "replacement":
		return nil, fail(FailEncoding, "", "the page uses the encoding %q, which is not safe to read", label)
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return nil, fail(FailEncoding, "", "decode from %s: %w", name, err)
	}
	return valid(text), nil
}

// widened returns a body in UTF-16 as UTF-8; nil if it is anything else.
func widened(body []byte) []byte {
	name := markOf(body)
	if name != "utf-16le" && name != "utf-16be" {
		name = chardet.Wide(body)
	}
	if name == "" {
		return nil
	}
	enc, _ := charset.Lookup(name)
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return nil
	}
	return valid(text)
}

// undeclared returns the encoding of a body of which the server says nothing that is true.
func undeclared(kind reading.Kind, body []byte) (encoding.Encoding, string) {
	plain := mostlyUTF8(body)
	if plain && bytes.IndexByte(body, escape) < 0 {
		return charset.Lookup("utf-8")
	}
	if enc, name := charset.Lookup(declared(kind, body)); enc != nil && !refuted(name, body) {
		return enc, name
	}
	found := chardet.Detect(body)
	if plain && found == chardet.Fallback {
		found = "utf-8" // an escape that shifts nothing
	}
	return charset.Lookup(found)
}

// refuted reports whether a body is declared as UTF-8 and is not. A few strange bytes do not suffice: they may be what is left of
// characters that were cut in two.
func refuted(name string, body []byte) bool {
	return name == "utf-8" && beyondASCII(body) >= enoughToRefute && !mostlyUTF8(body)
}

const enoughToRefute = 4

// valid returns b without a byte order mark and with U+FFFD for what is not
// UTF-8.
func valid(b []byte) []byte {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
}

// mostlyUTF8 reports whether a body is UTF-8, or has at least as many letters
// beyond ASCII in UTF-8 as bytes that are not. Text in other encodings has next to
// none of the former. So a stray byte does not have the whole page read otherwise.
func mostlyUTF8(body []byte) bool {
	if utf8.Valid(body) {
		return true
	}
	letters, strays := 0, 0
	for len(body) > 0 {
		if body[0] < utf8.RuneSelf {
			body = body[1:]
			continue
		}
		r, size := utf8.DecodeRune(body)
		if r == utf8.RuneError && size == 1 {
			strays++
		} else {
			letters++
		}
		body = body[size:]
	}
	return letters >= strays
}

// escape starts a shift sequence in ISO-2022-JP, whose bytes are all ASCII.
const escape = 0x1b

// markOf returns the encoding that a byte order mark names.
func markOf(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8"
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be"
	}
	return ""
}

var (
	metaCharset = lazyregexp.New(`(?i)<meta[^>]{1,200}charset\s*=\s*["']?\s*([a-z0-9_:.\-]{2,40})`)
	xmlEncoding = lazyregexp.New(`^\s*<\?xml[^>]{1,200}encoding\s*=\s*["']([A-Za-z0-9_:.\-]{2,40})["']`)
)

// declared returns the encoding that the start of the document names.
func declared(kind reading.Kind, body []byte) string {
	head := body[:min(len(body), 1024)]
	if m := xmlEncoding.FindSubmatch(head); m != nil {
		return notWide(string(m[1]))
	}
	if kind == reading.HTML {
		if m := metaCharset.FindSubmatch(head); m != nil {
			return notWide(string(m[1]))
		}
	}
	return ""
}

// notWide returns label unless it names UTF-16: if that were true its name
// could not have been read.
func notWide(label string) string {
	if _, name := charset.Lookup(label); name == "utf-16le" || name == "utf-16be" {
		return "utf-8"
	}
	return label
}

// beyondASCII counts the bytes beyond ASCII.
func beyondASCII(body []byte) (n int) {
	for _, c := range body {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// HTML returns a page as UTF-8, whatever it is encoded in.
func HTML(mediaType string, body []byte) ([]byte, error) {
	return decode(reading.HTML, mediaType, body)
}
