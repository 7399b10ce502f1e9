package sinks

import (
	"cmp"
	"context"
	"html"
	"net/url"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// Texts returns what a source said before and after a change.
type Texts func(ctx context.Context) (before, after []byte, err error)

// Bounds on what a template sees of a page.
const (
	maxDiffText = 16 << 10 // bytes
	maxPageText = 32 << 10 // bytes
)

// What events are about.
const (
	kindChange = "change"
	kindMatch  = "match"
	kindDigest = "digest"
)

// An Event is a change, a match of a query, or several of those, as templates see it. That
// of a match has what is known of the change that completed it.
type Event struct {
	ID       string           // of the event; the same on every delivery
	Kind     string           // change, match or digest
	Source   freshet.SourceID // ID of the source
	Title    string           // its name, the title of its page, or its host and path
	Name     string
	URL      string // without secrets
	Tags     []string
	Seq      int // number of the change, from 1
	Number   int // of the version
	After    time.Time
	Before   time.Time // when the change was seen
	Modified time.Time
	Summary  string
	Page     string // new, gone or back, if a page of a site as a whole changed so
	Suspect  string // why it is probably the wrong page, if it is
	Fields   []client.FieldChange
	Items    *client.ItemChanges
	Picture  *client.PictureChange // of a source whose pictures are compared
	Link     string                // of the source or the query in the API

	Query        queries.ID // that matched
	QueryName    string     // its name
	Match        int64      // number of the match, or of the first
	Count        int64      // of matches
	Cause        string     // of the match: change, poll, held or silent
	Group        string     // in which it was counted
	Value        any        // what the value of the query came to
	ModelSummary string     // what a language model says of it, or why it says nothing; "" if none is asked
	Hold         string     // what it waited for: digest, quiet or rate
	Entries      []*Event   // the matches of a digest, at most 500

	rendering
}

// A rendering is what an Event is made of, and what methods of it have computed.
type rendering struct {
	change freshet.Change
	batch  *Batch // nil if the event is of a change
	base   string
	links  linker
	ctx    context.Context // of the rendering, which an event does not outlive
	texts  Texts
	after  []byte
	delta  *extract.Delta
}

// NewEvent returns a change as templates see it. Base is as for Envelope. The event must not
// outlive ctx.
func NewEvent(ctx context.Context, c freshet.Change, base string, texts Texts) *Event {
	told := ChangeOf(c)
	e := &Event{
		ID: c.ID(), Kind: kindChange, Source: c.Source, Title: titleOf(c), Name: told.Name, URL: told.URL, Tags: told.Tags, Seq: c.Seq, Number: c.Number,
		After: told.After, Before: told.Before, Modified: told.Modified, Summary: told.Summary, Page: string(told.Page),
		Fields: told.Fields, Items: told.Items, Picture: told.Picture, Link: Envelope(c, base).Source,
		rendering: rendering{change: c, base: base, ctx: ctx, texts: texts},
	}
	if told.Suspect != nil {
		e.Suspect = string(told.Suspect.Class)
	}
	return e
}

// HTML returns the summary, the value and what differs as HTML without scripts or anything to
// load.
func (e *Event) HTML() (string, error) {
	news, err := e.News()
	if err != nil {
		return "", err
	}
	said := "<p>" + html.EscapeString(e.Summary) + "</p>\n"
	value, err := e.ValueText()
	if value != "" {
		said += "<p>" + html.EscapeString(value) + "</p>\n"
	}
	return said + newsHTML(news), err
}

// titleOf returns what to call a source.
func titleOf(c freshet.Change) string {
	if called := cmp.Or(c.Label.Name, c.Label.Title); called != "" {
		return called
	}
	if u, err := url.Parse(c.Label.URL); err == nil && u.Host != "" {
		return u.Host + strings.TrimSuffix(u.Path, "/")
	}
	return string(c.Source)
}

// compare reads both texts once, if anybody asks.
func (e *Event) compare() (*extract.Delta, error) {
	if e.delta != nil {
		return e.delta, nil
	}
	var before []byte
	if e.texts != nil && e.Page == "" {
		var err error
		if before, e.after, err = e.texts(e.ctx); err != nil {
			return nil, err
		}
	}
	d := extract.Diff(before, e.after)
	e.delta = &d
	return e.delta, nil
}

// Diff returns a unified diff without file names, cut at its first 16 KiB.
func (e *Event) Diff() (string, error) {
	d, err := e.compare()
	if err != nil || len(d.Hunks) == 0 {
		return "", err
	}
	text := d.Unified("", "")
	for range 2 { // the lines that name the files
		if _, rest, ok := strings.Cut(text, "\n"); ok && (strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "+++ ")) {
			text = rest
		}
	}
	return cut(strings.TrimRight(text, "\n"), maxDiffText), nil
}

// Added returns the lines that are new.
func (e *Event) Added() (string, error) { return e.lines(extract.Add) }

// Removed returns the lines that are gone.
func (e *Event) Removed() (string, error) { return e.lines(extract.Remove) }

func (e *Event) lines(op extract.Op) (string, error) {
	d, err := e.compare()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			if l.Op == op && b.Len() <= maxDiffText {
				b.WriteString(l.Text + "\n")
			}
		}
	}
	return cut(strings.TrimRight(b.String(), "\n"), maxDiffText), nil
}

// Text returns the whole new text, cut at its first 32 KiB.
func (e *Event) Text() (string, error) {
	if _, err := e.compare(); err != nil {
		return "", err
	}
	return cut(string(e.after), maxPageText), nil
}

// cut returns a text of at most so many bytes, with a mark where it was cut.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	const mark = "\n…"
	end := max(most-len(mark), 0)
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end] + mark
}

// Sample returns a change that never was, and its texts, for previews and tests.
func Sample(id string, now time.Time) (freshet.Change, Texts) {
	before, after := []byte("Sample page\nPrice: 12.00\nIn stock\n"), []byte("Sample page\nPrice: 9.50\nIn stock\n")
	c := freshet.Change{
		Cursor: 1, Epoch: freshet.Epoch(id), Source: "sample", Seq: 1, Number: 2, From: freshet.HashOf(before), To: freshet.HashOf(after),
		After: now.Add(-time.Hour), Before: now, Summary: "+1 -1 line: Price: 9.50",
		Label: freshet.Label{URL: "https://sample.example/page", Name: "Sample of Freshet", Tags: []string{"sample"}},
	}
	c.Details.Fields = []freshet.FieldChange{{Name: "price", From: 12.0, To: 9.5}}
	return c, func(context.Context) ([]byte, []byte, error) { return before, after, nil }
}
