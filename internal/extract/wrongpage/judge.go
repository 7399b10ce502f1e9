package wrongpage

import (
	"bytes"
	"cmp"
	"html"

	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
	"freshet/internal/lazyregexp"
)

// A Page is what a look saw.
type Page struct {
	Kind  reading.Kind
	Title string
	Text  []byte // as it is compared
	Body  []byte // as it was received; may be nil if it is not at hand
}

// A Past is the version that a page is held against.
type Past struct {
	Text []byte
	Body func() []byte // as it was received; nil if it cannot be had

	// Kept is how many bytes of the text are in lines that are known to have stayed,
	// from a comparison that has been made already. There may be more; zero says nothing.
	Kept int
}

// What is looked at of a page. What comes after says no more.
const (
	mostText   = 64 << 10 // bytes of text
	mostMarkup = 64 << 10
)

const (
	muchText  = 1000 // bytes of text that a page has before it can shrink
	shrunkTo  = 0.35 // of its text is left when it has
	ownText   = 0.6  // of the words of a page are there: it is the page, whatever else it says
	ownLines  = 0.8  // likewise, of its bytes in lines that have stayed
	nearlyAll = 0.9  // of the words of a page
)

// Judge says why a page is probably not the one that is watched, "" if nothing speaks
// against it. A past of nil is a first look: then only what a page says of itself
// can speak against it.
func Judge(p Page, past *Past) suspect.Class {
	text := bytes.TrimSpace(p.Text)
	if past != nil && len(bytes.TrimSpace(past.Text)) == 0 {
		past = nil // nothing can be missed
	}
	if len(text) == 0 {
		return cmp.Or(obstacle(p, past, 0), suspect.Empty)
	}
	if past == nil {
		return obstacle(p, nil, 0)
	}
	var kept overlap
	own := past.linesStay(p.Text, text, ownLines)
	if !own {
		kept = overlapOf(past.Text, text)
		own = kept.linesStay(ownLines) || kept.wordsStay(ownText)
	}
	if !own {
		if why := obstacle(p, past, kept.share()); why != "" {
			return why
		}
	}
	switch before := len(bytes.TrimSpace(past.Text)); {
	case p.Kind == reading.HTML && cutShort(p, past) && overlapOf(past.Text, text).share() < nearlyAll:
		return suspect.Truncated
	case listCut(past.Text, text):
		return suspect.Truncated
	case before >= muchText && float64(len(text)) < shrunkTo*float64(before):
		return suspect.Shrunk
	case p.Kind == reading.HTML && !own && otherLanguage(p, past):
		return suspect.Language
	}
	return ""
}

// linesStay reports whether more than a share of the bytes of the past is known to be in
// lines that have stayed. Text is what was seen, and trimmed the same without the space
// around it: the last line is another one without its newline, and does not count. Of texts
// that are not looked at as a whole nothing is known.
func (p *Past) linesStay(text, trimmed []byte, share float64) bool {
	if p.Kept == 0 || max(len(p.Text), len(text)) > mostText || len(text)-len(trimmed) > 1 || text[0] != trimmed[0] {
		return false
	}
	last := len(trimmed) - bytes.LastIndexByte(trimmed, '\n')
	return float64(p.Kept-last) > share*float64(len(p.Text))
}

// SaysTheSame reports whether a page says of itself what makes it suspect by a class.
func SaysTheSame(p Page, why suspect.Class) bool { return obstacle(p, nil, 0) == why }

// clip returns the first bytes of a text.
func clip(b []byte, most int) []byte { return b[:min(len(b), most)] }

var titleOf = lazyregexp.New(`(?is)<title[^>]*>(.{0,300}?)</title>`)

// pastPage returns the past as a page.
func (p *Past) page(kind reading.Kind) Page {
	before := Page{Kind: kind, Text: p.Text}
	if p.Body != nil {
		before.Body = p.Body()
	}
	if m := titleOf.FindSubmatch(clip(before.Body, mostMarkup)); m != nil {
		before.Title = html.UnescapeString(string(m[1]))
	}
	return before
}
