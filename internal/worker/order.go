package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"freshet/internal/extract"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A validator can lie: a server that answers 304 to everything would hide all
// changes for ever. So every source is asked without validators once a day.
const trustValidators = 24 * time.Hour

// A date that lies this far ahead of the clock says nothing about when.
const clockSlack = 5 * time.Minute

// An Order says what to look at, and what to compare it with.
type Order struct {
	Source freshet.Source
	Head   freshet.Head
	At     time.Time // when the order was given, by the clock that counts

	// Base returns the text of the head. It is asked for only when the source
	// has changed, to say how.
	Base func(context.Context) ([]byte, error)

	// Noise returns what is known of the noise of the source, as the finding of an
	// earlier look had it; nothing if none had. It is asked for only when a source that
	// is to be spared noise has changed. Nil means that nobody looks for noise.
	Noise func(context.Context) ([]byte, error)

	// Recall returns what the stored versions of the source teach of its noise. It is
	// asked for when what Noise returns does not lead up to the head. Nil means that
	// nobody knows.
	Recall func(context.Context) (*noise.Memory, error)

	// BaseBody returns the response that the head was read from, and HeldText the text
	// that is held. They are asked for only when a capture may be suspect. Nil means
	// that nobody knows.
	BaseBody, HeldText func(context.Context) ([]byte, error)

	// Items returns which items the source has had, likewise. Nil means that nobody
	// looks for items.
	Items func(context.Context) ([]byte, error)

	// Fields returns the named values of the head. It is asked for only if the source
	// has any. Nil means that there are none.
	Fields func(context.Context) (freshet.Fields, error)

	// Recent returns the newest versions of the source, the newest first, if one of them
	// has this text; otherwise it need not return any. It is asked for only when the
	// source has changed. Nil means that nobody knows.
	Recent func(context.Context, freshet.Hash) ([]freshet.Version, error)

	// Voice says which pages the source may speak for, if it lists or links to any. Nil
	// means that nobody wants to hear of them.
	Voice *Voice

	// Room is asked before a body takes memory, as in [freshet.Request], and once
	// more with its size before it is read and compared. Nil means that there is
	// always room.
	Room func(ctx context.Context, size int64) error

	// Along are orders for other sources of the same document, which are read from the
	// same response. Only what they compare with counts of them.
	Along []Order

	// Leave is asked before each request leaves, as in [freshet.Request].
	Leave func(context.Context, freshet.Hop) error

	// Slow is told that the server is slow, as in [freshet.Request].
	Slow func(seen bool)
}

// special returns the source if it is not asked for by a plain GET.
func (o *Order) special() *freshet.Source {
	if o.Source.Request == nil && o.Source.Expect == nil && freshet.MediumOf(o.Source.URL) == freshet.OnWeb {
		return nil
	}
	s := o.Source
	return &s
}

// moved reports whether to ask at the URL that the source has moved to. Once a day
// the old one is asked again: it may have changed its mind. What is sent along is
// meant for the old one.
func (o *Order) moved() bool {
	age := o.At.Sub(o.Head.Moved.At)
	return o.Source.Request == nil && o.Head.Moved.URL != "" && age >= 0 && age < trustValidators
}

// URL returns where the look begins.
func (o *Order) URL() string {
	if o.moved() {
		return o.Head.Moved.URL
	}
	return o.Source.URL
}

// request asks after the head, if that is the head of all that are read from the
// answer: who has seen another one, or none, must not be told that it is as it was.
func (o *Order) request() freshet.Request {
	req := freshet.Request{URL: o.URL(), ID: o.Source.ID, Source: o.special(), Room: o.Room, Leave: o.Leave, Slow: o.Slow}
	req.Validators = o.validators()
	for _, a := range o.Along {
		if a = a.after(o); a.validators() != req.Validators {
			req.Validators = freshet.Validators{}
		}
	}
	return req
}

// validators returns what to ask after the head with: nothing if the validators have
// been trusted for long enough, or for how long is not known because the clock was set
// back, or if they were given for another reading of the page or by another URL.
func (o *Order) validators() (none freshet.Validators) {
	if o.Head.Moved.URL != "" && !o.moved() {
		return none
	}
	if o.Source.Recipe.Render.On {
		return none // a document that is as before can show other data
	}
	trusted := o.At.Sub(o.Head.Asked)
	if o.Head.Number > 0 && o.Head.Recipe == o.Source.Key() && trusted < trustValidators && trusted > -clockSlack {
		return o.Head.Validators
	}
	return none
}

// whereabouts returns where the source is to be asked for next time. Where it has
// moved to is asked no more when that fails, unless it was not its fault.
func (o *Order) whereabouts(resp freshet.Response, err error) freshet.Moved {
	var class failure.Class
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		class = e.Class
	}
	switch {
	case class.Is(failure.Deferred), class.Is(failure.Canceled), class.Ours():
		return o.Head.Moved
	case err != nil:
		return freshet.Moved{}
	case o.moved():
		return freshet.Moved{URL: cmp.Or(resp.Moved, o.Head.Moved.URL), At: o.Head.Moved.At}
	case resp.Moved != "":
		return freshet.Moved{URL: resp.Moved, At: o.At}
	}
	return freshet.Moved{}
}

// plausible returns a date that the source gives, or nothing if it lies in the
// future of the order, whose answer took some time.
func (o *Order) plausible(date time.Time, took time.Duration) time.Time {
	if date.After(o.At.Add(took + clockSlack)) {
		return time.Time{}
	}
	return date
}

// plausibleDates returns the newest of some dates that can be true.
func (o *Order) plausibleDates(dates []time.Time, took time.Duration) []time.Time {
	var kept []time.Time
	for _, at := range dates {
		if at = o.plausible(at, took); !at.IsZero() && len(kept) < freshet.MostDates {
			kept = append(kept, at)
		}
	}
	return kept
}

// A step is how the head became a capture.
type step struct {
	base    []byte // the text of the head
	unknown bool   // which could not be read
	text    []byte // of the capture
	delta   extract.Delta
}

// step returns how a text differs from the head.
func (o *Order) step(ctx context.Context, text []byte) step {
	base, err := o.Base(ctx)
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
