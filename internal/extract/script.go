package extract

import (
	"bytes"
	"strings"
)

// Bounds of a page that needs JavaScript to show anything.
const (
	blankText = 200 // bytes of text at most
	blankBody = 256 // bytes at least: a page that says little has little to hide
)

// NeedsScript reports whether a page is likely to be blank without JavaScript: it has scripts, and hardly
// any text.
func NeedsScript(mediaType string, body, text []byte) bool {
	text = bytes.TrimSpace(text)
	return MayNeedScript(mediaType, int64(len(text))) && (len(body) >= blankBody || len(text) == 0) && runsScript(body)
}

// runsScript reports whether a page has a script that a browser would run. Data for search engines is none.
func runsScript(body []byte) bool {
	for body = bytes.ToLower(body); ; {
		_, after, found := bytes.Cut(body, []byte("<script"))
		if tag, _, _ := bytes.Cut(after, []byte(">")); !found || !bytes.Contains(tag, []byte("json")) {
			return found
		}
		body = after
	}
}

// MayNeedScript reports whether a page with so many bytes of text has to be asked about by NeedsScript.
func MayNeedScript(mediaType string, text int64) bool {
	return strings.Contains(mediaType, "html") && text <= blankText
}
