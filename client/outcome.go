package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
)

// An Outcome is how a poll ended, as the API tells it.
type Outcome struct {
	Cursor    freshet.Place    `json:"cursor" doc:"Position in the log of polls"`
	Source    freshet.SourceID `json:"source"`
	Cause     string           `json:"cause" enum:"policy,bound,hand,doubt,shared,push,strategy" doc:"Why the poll was made; strategy: it was one of the times that the source is polled at; shared: it was not, but the source was read from the poll of another that watches the same document; push: a hook or a WebSub hub said that it has changed"`
	Since     time.Time        `json:"since,omitzero" doc:"When the previous successful poll was"`
	Pushed    time.Time        `json:"pushed,omitzero" doc:"When a hook or a WebSub hub announced the change, if one did"`
	Began     time.Time        `json:"began"`
	Ended     time.Time        `json:"ended"`
	Result    string           `json:"result" enum:"unchanged,changed,first,failed,held" doc:"held: the page is suspect, and no change is reported until more polls agree"`
	Version   int              `json:"version,omitempty" doc:"Number of the version seen, or of the one that is held"`
	Quiet     freshet.Quiet    `json:"quiet,omitempty" enum:"suspect,noise" doc:"Why no change was reported for the version that it stored, if it stored one so"`
	Status    int              `json:"status,omitempty" doc:"Status of the last HTTP response"`
	Requests  int              `json:"requests" doc:"0 if the cause is shared"`
	Route     []string         `json:"route,omitempty" doc:"Hosts of the requests, in order, if not only the source's own"`
	Bytes     int64            `json:"bytes" doc:"Bytes of the body received"`
	Modified  time.Time        `json:"modified,omitzero" doc:"When the source says it last changed"`
	Dates     []time.Time      `json:"dates,omitempty" doc:"When the source says that it changed before, newest first: the dates of the latest items of a feed"`
	Word      *Word            `json:"word,omitempty" doc:"What the source says of other pages, if it lists pages and says something new"`
	Foretold  *Foretelling     `json:"foretold,omitempty" doc:"When the source announces that it will change; missing if it announces nothing or, where the poll captured nothing, nothing new"`
	FreshFor  Duration         `json:"fresh_for,omitzero" doc:"How long the server says that the source stays the same"`
	LookAgain Duration         `json:"look_again,omitzero" doc:"How soon a held page is looked at again"`
	NotBefore time.Time        `json:"not_before,omitzero" doc:"When the host allows the next poll, if it asked to wait"`
	Suspect   *Suspect         `json:"suspect,omitempty" doc:"Why this is probably the wrong page, if it is"`
	LandedOn  string           `json:"landed_on,omitempty" doc:"The final URL, if redirects led to a different page"`
	Failure   failure.Class    `json:"failure,omitempty" doc:"Class of the failure"`
	Error     string           `json:"error,omitempty" doc:"The same in words"`
}

// A Word is what a sitemap, feed or page of links said of other pages, in numbers.
type Word struct {
	Kind   string    `json:"kind" enum:"sitemap,feed,hub" doc:"What the source is; hub: a page with links"`
	Pages  int       `json:"pages" doc:"Pages that it lists, links to or dates otherwise than before"`
	Gone   int       `json:"gone,omitempty" doc:"Pages that it does not list any more"`
	Newest time.Time `json:"newest,omitzero" doc:"The latest date that it gives one of them"`
}

// WordOf returns a word as the API tells it.
func WordOf(w *evidence.IndexHint) *Word {
	if w == nil {
		return nil
	}
	told := &Word{Kind: w.Kind.String(), Pages: len(w.Pages)}
	for _, p := range w.Pages {
		if p.Gone {
			told.Gone++
		}
		if p.Date.After(told.Newest) {
			told.Newest = p.Date.UTC()
		}
	}
	told.Pages -= told.Gone
	return told
}

// A Foretelling is what a source says of when it will change.
type Foretelling struct {
	Next      []NextWord `json:"next,omitempty" doc:"When it says that it changes next, by each of its ways to say so"`
	RestHours []int      `json:"rest_hours,omitempty" doc:"Hours of the day, in UTC, in which a feed says that it is not updated"`
	RestDays  []string   `json:"rest_days,omitempty" doc:"Days on which a feed says that it is not updated"`
}

// A NextWord is when a source says that it changes next.
type NextWord struct {
	By    string    `json:"by" enum:"server,feed,text,field" doc:"What says so: the schedule of a feed, the text, or the value that next_change names"`
	At    time.Time `json:"at"`
	Every Duration  `json:"every,omitzero" doc:"The announced interval between changes, if any"`
}

// ForetellingOf returns what a source says of when it will change, as the API tells it.
func ForetellingOf(f *evidence.Announcement) *Foretelling {
	if f == nil || len(f.Next) == 0 && f.Rests == 0 {
		return nil
	}
	told := &Foretelling{}
	for _, n := range f.Next {
		told.Next = append(told.Next, NextWord{By: n.By.String(), At: n.At.UTC(), Every: Duration(n.Every)})
	}
	told.RestHours, told.RestDays = restsOf(f.Rests)
	return told
}

// restsOf returns the hours and days of rests.
func restsOf(r evidence.QuietHours) (hours []int, days []string) {
	for h := range evidence.RestDays {
		if r&r.Hour(h) != 0 {
			hours = append(hours, h)
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if r&r.Day(d) != 0 {
			days = append(days, d.String())
		}
	}
	return hours, days
}

// An OutcomePage is part of the log of outcomes.
type OutcomePage struct {
	Items []Outcome     `json:"items" nullable:"false"`
	Next  freshet.Place `json:"next" doc:"The cursor to continue with: the next after, or with newest the next before; 0 if there are no older ones"`
}

// An OutcomeHistory is part of a source's outcomes, the newest first.
type OutcomeHistory struct {
	Items []Outcome      `json:"items" nullable:"false"`
	Next  *freshet.Place `json:"next" doc:"Pass this as before to get older polls; null if there are none"`
}

// An OutcomeQuery selects a page of the log of outcomes.
type OutcomeQuery struct {
	After  freshet.Place // begin after this cursor
	Newest bool          // the newest first, going back
	Before freshet.Place // with Newest: only those before this cursor; zero means from the end
	Limit  int           // zero means 100; at most 1000

	// Wait is how long to wait if there is no outcome after the cursor; at most a
	// minute.
	Wait time.Duration
}

// Outcomes returns a page of the log of all polls.
func (c *Client) Outcomes(ctx context.Context, q OutcomeQuery) (OutcomePage, error) {
	asked := query{}
	asked.place("after", q.After)
	asked.flag("newest", q.Newest)
	asked.place("before", q.Before)
	asked.number("limit", int64(q.Limit))
	if q.Wait > 0 {
		asked.text("wait", q.Wait.String())
	}
	return get[OutcomePage](ctx, c, "/outcomes", asked)
}

// Outcomes returns polls of one source, the newest first, from before a
// cursor; zero means from the end. A limit of zero means 100.
func (r Sources) Outcomes(ctx context.Context, id freshet.SourceID, before freshet.Place, limit int) (OutcomeHistory, error) {
	asked := query{}
	asked.place("before", before)
	asked.number("limit", int64(limit))
	return get[OutcomeHistory](ctx, r.c, r.sourcePath(id, "outcomes"), asked)
}
