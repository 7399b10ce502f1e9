package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
)

// A ChangesPage is part of the change log. It is not called ChangePage, which generators of
// clients make of the field page of Change.
type ChangesPage struct {
	Items []Change      `json:"items" nullable:"false"`
	Next  freshet.Place `json:"next" doc:"The cursor to continue after"`
}

// A Change is a change as the API, streams and webhooks send it. The URL, name and tags are those
// that the source had when the change was seen, so every delivery of a change is the same.
type Change struct {
	Cursor   freshet.Place    `json:"cursor" doc:"Position in the change log"`
	Source   freshet.SourceID `json:"source" doc:"ID of the source that changed"`
	Seq      int              `json:"seq" doc:"Number of this change of the source, from 1 without gaps; continues if the source is purged and added again"`
	Number   int              `json:"number" doc:"Number of the version that the change led to"`
	From     string           `json:"from" doc:"SHA-256 of the text before"`
	To       string           `json:"to" doc:"SHA-256 of the text after"`
	After    time.Time        `json:"after" doc:"When the old text was last seen; the change happened after this"`
	Before   time.Time        `json:"before" doc:"When the new text was first seen; the change happened no later than this"`
	Modified time.Time        `json:"modified,omitzero" doc:"When the source says it changed, if that is between after and before"`
	Summary  string           `json:"summary" doc:"Short summary of what was added and removed"`
	Suspect  *Suspect         `json:"suspect,omitempty" doc:"Why the new text is probably that of the wrong page, if it is"`
	Fields   []FieldChange    `json:"fields,omitempty" doc:"Named values that are other than before"`
	Items    *ItemChanges     `json:"items,omitempty" doc:"Items that are other than before: entries of a feed, rows of a table, elements of a list"`
	Text     *TextChange      `json:"text,omitempty" doc:"Lines that differ from before, possibly cut"`
	Picture  *PictureChange   `json:"picture,omitempty" doc:"How much of the picture changed, of a source with render: {compare: picture}; GET /sources/{id}/diff?format=png shows it"`
	Page     crawl.PageEvent  `json:"page,omitempty" enum:"new,gone,back" doc:"What happened to a page of a site as a whole, if that is the change"`
	URL      string           `json:"url,omitempty" doc:"As the source had it when the change was seen"`
	Name     string           `json:"name,omitempty" doc:"As the source had it when the change was seen"`
	Title    string           `json:"title,omitempty" doc:"Title of the page of a source without a name, as it is now; only in lists of the API"`
	Tags     []string         `json:"tags,omitempty" doc:"As the source had it when the change was seen"`
}

// EventType is the CloudEvents type of every Event.
const EventType = "freshet.change"

// An Event is a change in a CloudEvents 1.0 envelope, in its JSON format.
type Event struct {
	SpecVersion     string    `json:"specversion" enum:"1.0"`
	ID              string    `json:"id" doc:"ID of the change; the same on every delivery, and never reused"`
	Source          string    `json:"source" format:"uri-reference" doc:"URL of the source in the API"`
	Type            string    `json:"type" enum:"freshet.change"`
	Time            time.Time `json:"time" doc:"When the change was seen"`
	Subject         string    `json:"subject,omitempty" doc:"URL of the source"`
	DataContentType string    `json:"datacontenttype"`
	Data            Change    `json:"data"`
}

// A ChangeFilter says which changes are wanted. The zero filter wants all.
type ChangeFilter struct {
	Source freshet.SourceID // only changes of this source
	Site   freshet.SourceID // only changes of this site and its pages
	Tag    string           // only changes of sources that had this tag then
	Words  string           // only changes that contain these words
	Seen   freshet.Between  // only changes that were seen then
}

func (f ChangeFilter) ask(q query) {
	q.text("source", string(f.Source))
	q.text("site", string(f.Site))
	q.text("tag", f.Tag)
	q.text("q", f.Words)
	q.between(f.Seen)
}

// A ChangeQuery selects a page of the change log.
type ChangeQuery struct {
	ChangeFilter
	After freshet.Place // begin after this cursor
	Limit int           // zero means 100; at most 1000
	Wait  time.Duration // for a change, if there is none; at most a minute
}

// Changes returns a page of the change log, the oldest first. Its Next is where
// to go on. If After is not a place of this log the error is a *freshet.GoneError,
// which says where to go on.
func (c *Client) Changes(ctx context.Context, q ChangeQuery) (ChangesPage, error) {
	asked := query{}
	asked.place("after", q.After)
	q.ask(asked)
	asked.number("limit", int64(q.Limit))
	if q.Wait > 0 {
		asked.text("wait", q.Wait.String())
	}
	return get[ChangesPage](ctx, c, "/changes", asked)
}
