package content

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"freshet"
)

// Limits on what is read whole into a tree. Pages and plain text without a
// selector are read in one pass and need none but the fetcher's.
const (
	maxTree  = 4 << 20  // bytes of JSON, or of HTML to select from
	maxText  = 32 << 20 // bytes of extracted text
	maxTitle = 300      // runes
)

// A Reading is what a response says.
type Reading struct {
	Text  []byte
	Title string       // of the page or feed, if it has one
	Kind  freshet.Kind // how it was read; never Auto

	// Modified is the date of the newest item of a feed or of the page on a
	// sitemap that changed last, zero if there is none. It is what the source says, which may lie in the future.
	Modified time.Time

	// FreshFor is for how long a feed says that it stays as it is, zero if it does
	// not say.
	FreshFor time.Duration
}

// Extract reads the body of resp as r says. It is pure: the same arguments give
// the same reading. The error is an *Error, or a *freshet.InvalidError if the
// recipe itself is wrong.
//
// Reading with a selector can take arbitrarily long; see [Reader].
func Extract(r freshet.Recipe, resp freshet.Response) (Reading, error) {
	sel, err := compile(r)
	if err != nil {
		return Reading{}, err
	}
	kind := sel.kind
	if kind == freshet.Auto {
		var ok bool
		if kind, ok = kindOf(resp); !ok {
			return describe(resp), nil
		}
	}
	body, err := decode(kind, resp.MediaType, resp.Body)
	if err != nil {
		return Reading{}, err
	}
	rd := Reading{Kind: kind}
	switch {
	case sel.css != nil:
		rd.Text, rd.Title, err = selectHTML(body, r.CSS, sel.css)
	case sel.path != nil:
		rd.Text, err = selectJSON(body, r.JSONPath, sel.path)
	case kind == freshet.HTML:
		rd.Text, rd.Title = pageText(body)
	case kind == freshet.JSON:
		rd.Text, err = canonicalJSON(body)
	case kind == freshet.Feed:
		rd, err = readFeed(body, dateOf(resp))
	default:
		rd.Text = plainText(body)
		rd.Modified = newestOnSitemap(body, dateOf(resp))
	}
	if err != nil {
		return Reading{}, err
	}
	if len(rd.Text) > maxText {
		return Reading{}, fail(FailLimit, "Use a selector to watch only the part you need.", "the text is longer than %d MiB", maxText>>20)
	}
	return rd, nil
}

// dateOf returns the time at which the server says it answered.
func dateOf(resp freshet.Response) time.Time {
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// kindOf decides how to read a response by its media type and, where that says
// little, by its look. It reports false for what is not text at all.
func kindOf(resp freshet.Response) (freshet.Kind, bool) {
	media, _, err := mime.ParseMediaType(resp.MediaType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(resp.MediaType), ";")
		media = strings.TrimSpace(media)
	}
	top, sub, _ := strings.Cut(media, "/")
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		if looksLikeFeed(resp.Body) { // a common slip of feed servers
			return freshet.Feed, true
		}
		return freshet.HTML, true
	case sub == "rss+xml" || sub == "atom+xml" || sub == "rdf+xml" || sub == "feed+json":
		return freshet.Feed, true
	case sub == "json" || strings.HasSuffix(sub, "+json"):
		return jsonKind(resp.Body), true
	case sub == "xml" || strings.HasSuffix(sub, "+xml"):
		return xmlKind(resp.Body), true
	case top == "text" || textual[sub]:
		return freshet.Text, true
	case media == "" || media == "application/octet-stream" || media == "unknown/unknown":
		return kindByLook(resp.Body)
	}
	return "", false
}

// textual names the application types that are plain text under another name.
var textual = map[string]bool{
	"javascript": true, "x-javascript": true, "ecmascript": true, "yaml": true, "x-yaml": true, "toml": true,
	"x-ndjson": true, "jsonl": true, "json-seq": true, "sql": true, "graphql": true, "x-sh": true,
	"x-www-form-urlencoded": true, "csv": true, "x-tex": true, "rtf": true,
}

func jsonKind(body []byte) freshet.Kind {
	head := body[:min(len(body), 1024)]
	if bytes.Contains(head, []byte("jsonfeed.org/version/")) {
		return freshet.Feed
	}
	return freshet.JSON
}

func xmlKind(body []byte) freshet.Kind {
	if looksLikeFeed(body) {
		return freshet.Feed
	}
	return freshet.Text
}

func kindByLook(body []byte) (freshet.Kind, bool) {
	switch looks, _, _ := strings.Cut(http.DetectContentType(body), ";"); {
	case looks == "text/html":
		return freshet.HTML, true
	case looks == "text/xml":
		return xmlKind(body), true
	case !strings.HasPrefix(looks, "text/"):
		return "", false
	}
	switch start := bytes.TrimLeft(body, "\ufeff \t\r\n"); {
	case looksLikeFeed(start):
		return freshet.Feed, true
	case bytes.HasPrefix(start, []byte("{")) || bytes.HasPrefix(start, []byte("[")):
		if len(body) <= maxTree && validJSON(body) {
			return jsonKind(body), true
		}
	}
	return freshet.Text, true
}

// describe reads what is not text (an image, an archive, a document): it is
// never opened, but a new one is still a change.
func describe(resp freshet.Response) Reading {
	media, _, _ := strings.Cut(resp.MediaType, ";")
	if media = oneLine(media, 100); media == "" {
		media = "binary data"
	}
	text := fmt.Sprintf("%s, %d bytes\nsha256 %x\n", media, len(resp.Body), sha256.Sum256(resp.Body))
	return Reading{Text: []byte(text), Kind: freshet.Text}
}
