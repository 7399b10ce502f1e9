package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"freshet/internal/extract"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
)

// A validator can lie: a server that answers 304 to everything would hide all
// changes for ever. So every source is asked without validators once a day, and
// sooner if its past contradicts the server.
const trustValidators = 24 * time.Hour

// A date that lies this far ahead of the clock says nothing about when.
const clockSlack = 5 * time.Minute

// A Task says what to look at, and what to compare it with.
type Task struct {
	Source  freshet.Source
	Head    freshet.Head
	At      time.Time   // when the task was given, by the clock that counts
	History History     // of the source
	Hints   *IndexHints // which pages the source may list or link to; nil means not to look

	// Shared are tasks for other sources of the same document, which are read from the
	// same response. Only what they compare with counts of them.
	Shared []Task

	// Room is asked before a body takes memory, as in [freshet.Request], and once
	// more with its size before it is read and compared. Nil means that there is
	// always room.
	Room func(ctx context.Context, size int64) error

	// Permit is asked before each request is sent, as Leave of [freshet.Request].
	Permit func(context.Context, freshet.Hop) error

	// Slow is called when the server is slow, as in [freshet.Request].
	Slow func(seen bool)
}

// A History is what is stored of a source: beside the store, or asked for over the
// network. A look asks only for what it needs, which is nothing of most sources that have
// not changed.
type History interface {
	// Text returns the text of the head, and Body the response that it was read from.
	Text(context.Context) ([]byte, error)
	Body(context.Context) ([]byte, error)

	// Picture returns the picture of the head, or [freshet.ErrNotFound] if it has none.
	Picture(context.Context) ([]byte, error)

	// QuarantinedText returns the text of the version that is held as suspect.
	QuarantinedText(context.Context) ([]byte, error)

	// Fields returns the named values of the head.
	Fields(context.Context) (freshet.Fields, error)

	// Items returns which items the source has had, as the result of an earlier look had
	// it; nothing if none had.
	Items(context.Context) ([]byte, error)

	// Noise returns what is known of the noise of the source, likewise.
	Noise(context.Context) ([]byte, error)

	// LearnNoise returns what the stored versions teach of the noise of the source. It is
	// asked for when what Noise returns does not lead up to the head.
	LearnNoise(context.Context) (*noise.Memory, error)

	// VersionsWith returns the newest versions of the source, the newest first, if one of
	// them has this text; otherwise it need not return any.
	VersionsWith(context.Context, freshet.Hash) ([]freshet.Version, error)

	// PageKeys returns the keys of pages, given their URLs as the source has them, in
	// their order; zero for one that the source gives no hints for. It is asked for all
	// pages of a source at once.
	PageKeys(ctx context.Context, urls []string) ([]crawl.PageKey, error)
}

// special returns the source if it is not asked for by a plain GET.
func (t *Task) special() *freshet.Source {
	if t.Source.Request == nil && t.Source.Expect == nil && freshet.MediumOf(t.Source.URL) == freshet.OnWeb {
		return nil
	}
	s := t.Source
	return &s
}

// moved reports whether to ask at the URL that the source has moved to. Once a day
// the old one is asked again: it may have changed its mind. What is sent along is
// meant for the old one.
func (t *Task) moved() bool {
	age := t.At.Sub(t.Head.Moved.At)
	return t.Source.Request == nil && t.Head.Moved.URL != "" && age >= 0 && age < trustValidators
}

// URL returns where the look begins.
func (t *Task) URL() string {
	if t.moved() {
		return t.Head.Moved.URL
	}
	return t.Source.URL
}

// request makes a conditional request with the validators of the head, if all that are read from
// the answer share it: a source with another head, or none, must not get a 304.
func (t *Task) request(ctx context.Context) freshet.Request {
	req := freshet.Request{URL: t.URL(), ID: t.Source.ID, Source: t.special(), Room: t.Room, Leave: t.Permit, Slow: t.Slow}
	req.Validators = t.validators()
	if req.Validators != (freshet.Validators{}) && t.overdue(ctx) {
		req.Validators = freshet.Validators{}
	}
	for _, a := range t.Shared {
		if a = a.after(t); a.validators() != req.Validators {
			req.Validators = freshet.Validators{}
		}
	}
	return req
}

// validators returns what to ask after the head with: nothing if the validators have
// been trusted for long enough, or for how long is not known because the clock was set
// back, or if they were given for another reading of the page or by another URL.
func (t *Task) validators() (none freshet.Validators) {
	if t.Head.Moved.URL != "" && !t.moved() {
		return none
	}
	if t.Source.Recipe.Render.On {
		return none // a document that is as before can show other data
	}
	trusted := t.At.Sub(t.Head.Asked)
	if t.Head.Number > 0 && t.Head.Recipe == t.Source.Key() && trusted < trustValidators && trusted > -clockSlack {
		return t.Head.Validators
	}
	return none
}

// A source of at least fewVersions is overdue if it has not changed for overdueGaps times as long as it used
// to. Every overduePolls polls it is looked whether it is.
const (
	overduePolls = 8
	fewVersions  = 5
	overdueGaps  = 8
)

// overdue reports whether a source has neither changed nor been asked without validators for so long that its
// past contradicts a server that says it has not been modified.
func (t *Task) overdue(ctx context.Context) bool {
	if t.Head.Polls%overduePolls != 0 || t.Head.Number < fewVersions {
		return false
	}
	versions, err := t.History.VersionsWith(ctx, t.Head.Hash)
	if err != nil || len(versions) < fewVersions {
		return false
	}
	gaps := make([]time.Duration, 0, len(versions))
	for i, v := range versions[1:] {
		gaps = append(gaps, versions[i].SeenAt.Sub(v.SeenAt))
	}
	slices.Sort(gaps)
	last := versions[0].SeenAt
	if t.Head.Asked.After(last) {
		last = t.Head.Asked
	}
	return t.At.Sub(last) > overdueGaps*gaps[len(gaps)/2]
}

// whereabouts returns where the source is to be asked for next time. Where it has
// moved to is asked no more when that fails, unless it was not its fault.
func (t *Task) whereabouts(resp freshet.Response, err error) freshet.Moved {
	class := failure.Class("")
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		class = e.Class
	}
	switch {
	case class.Is(failure.Deferred), class.Is(failure.Canceled), class.Ours():
		return t.Head.Moved
	case err != nil:
		return freshet.Moved{}
	case t.moved():
		return freshet.Moved{URL: cmp.Or(resp.Moved, t.Head.Moved.URL), At: t.Head.Moved.At}
	case resp.Moved != "":
		return freshet.Moved{URL: resp.Moved, At: t.At}
	}
	return freshet.Moved{}
}

// plausible returns a date that the source gives, or nothing if it lies in the
// future of the task, whose answer took some time.
func (t *Task) plausible(date time.Time, took time.Duration) time.Time {
	if date.After(t.At.Add(took + clockSlack)) {
		return time.Time{}
	}
	return date
}

// plausibleDates returns the newest of some dates that can be true.
func (t *Task) plausibleDates(dates []time.Time, took time.Duration) []time.Time {
	var kept []time.Time
	for _, at := range dates {
		if at = t.plausible(at, took); !at.IsZero() && len(kept) < evidence.MaxDates {
			kept = append(kept, at)
		}
	}
	return kept
}

// after returns the task as one for what another task brings: it was given then, and
// where the document has moved to is known from there.
func (t Task) after(first *Task) Task {
	t.At, t.Head.Moved = first.At, first.Head.Moved
	return t
}

// A step is how the head became a capture.
type step struct {
	base    []byte // the text of the head
	unknown bool   // which could not be read
	text    []byte // of the capture
	delta   extract.Delta
}

// step returns how a text differs from the head.
func (t *Task) step(ctx context.Context, text []byte) step {
	base, err := t.History.Text(ctx)
	if err != nil {
		return step{unknown: true, text: text}
	}
	return step{base: base, text: text, delta: extract.Diff(base, text)}
}

// summary says it in a few words.
func (s step) summary() string {
	if s.unknown {
		return "changed; the previous version could not be read"
	}
	return s.delta.Summary()
}
