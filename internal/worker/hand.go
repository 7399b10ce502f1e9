package worker

import (
	"context"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/extract"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
)

// A Reader turns a response into the text that is compared.
type Reader func(context.Context, freshet.Recipe, freshet.Response) (extract.Reading, error)

// A Hand looks at sources. It may make many looks at once.
type Hand struct {
	fetcher freshet.Fetcher
	read    Reader
	show    *browser.Renderer
}

// A Looker makes looks: a [Hand], or hands on other machines.
type Looker interface {
	Look(ctx context.Context, order Order) Finding
	Robots(ctx context.Context, o Order, origin string) (Manners, error)
}

// New returns a Hand. A nil Reader means extract.Extract.
func New(f freshet.Fetcher, read Reader) *Hand {
	if read == nil {
		read = func(_ context.Context, r freshet.Recipe, resp freshet.Response) (extract.Reading, error) {
			return extract.Extract(r, resp)
		}
	}
	return &Hand{fetcher: f, read: read}
}

// Showing returns a Hand that can render pages, too.
func (h *Hand) Showing(show *browser.Renderer) *Hand {
	return &Hand{fetcher: h.fetcher, read: h.read, show: show}
}

// Look fetches a source, reads it and compares it with its head. Other sources of the
// same document are read from what it brought.
func (h *Hand) Look(ctx context.Context, order Order) Finding {
	o := &order // it is large
	began := time.Now()
	view, err := h.see(ctx, o)
	took := time.Since(began)
	f := h.judge(ctx, o, view, took, err)
	f.Requests, f.Bytes = view.Requests, view.WireBytes
	f.RetryAfter, f.Away = view.RetryAfter, view.Away
	if view.Own || !tells(err) {
		return f
	}
	captured := f.Capture != nil
	held := int64(1)
	for _, a := range o.Along {
		if captured {
			held++
		}
		a = a.after(o)
		if room, times := o.Room, held; room != nil { // what was captured before is still there
			a.Room = func(ctx context.Context, size int64) error { return room(ctx, times*size) }
		}
		one := h.judge(ctx, &a, view, took, err)
		f.Along, captured = append(f.Along, one), one.Capture != nil
	}
	return f
}

// judge says what a view means for a source, or that there was none.
func (h *Hand) judge(ctx context.Context, o *Order, view browser.View, took time.Duration, err error) Finding {
	resp := view.Response
	f := Finding{Took: took, Status: resp.Status, Listed: -1, picture: view.Picture}
	f.Moved = o.whereabouts(resp, err)
	if err != nil {
		return f.failed(err)
	}
	f.Sums, f.Validators = o.Head.Sums, resp.Validators
	f.Modified = o.plausible(resp.Modified, f.Took)
	f.FreshFor = max(resp.FreshFor, f.Sums.Fresh)
	f.Suspect, f.Landed = o.steady(resp)
	if resp.NotModified {
		return f
	}
	if err := h.compare(ctx, o, resp, &f); err != nil {
		return f.failed(err)
	}
	if o.Voice != nil && f.Capture != nil && f.Result.Seen() && f.Suspect == "" {
		f.speak(ctx, o, resp.Body, resp.URL)
	}
	return f
}

// compare reads a response and completes the finding by whether it differs from
// the head.
func (h *Hand) compare(ctx context.Context, o *Order, resp freshet.Response, f *Finding) error {
	head, recipe := o.Head, o.Source.Key()
	same := head.Number > 0 && head.Recipe == recipe
	sums := freshet.Sums{Known: true, Fresh: head.Sums.Fresh, Body: xxhash.Sum64(resp.Body)}
	if same && head.Sums.Known && sums.Body == head.Sums.Body {
		return nil
	}
	if o.Room != nil {
		if err := o.Room(ctx, int64(len(resp.Body))); err != nil {
			return err
		}
	}
	reading, err := h.read(ctx, o.Source.Recipe, resp)
	if err != nil {
		return err
	}
	if f.Modified.IsZero() {
		f.Modified = o.plausible(reading.Modified, f.Took)
	}
	f.kind, f.Dates = reading.Kind, o.plausibleDates(reading.Dates, f.Took)
	sums.Fresh, f.FreshFor = reading.FreshFor, max(resp.FreshFor, reading.FreshFor)
	sums.Text = sumOf(reading)
	f.Sums = sums
	if same && head.Sums.Known && sums.Text == head.Sums.Text {
		return nil
	}
	f.Foretold = o.foretold(reading, f.Took)
	hash := freshet.HashOf(reading.Text)
	fields := o.fieldChanges(ctx, reading.Fields)
	if same && hash == head.Hash && len(fields) == 0 {
		return nil
	}
	seen := wrongpage.Page{Kind: reading.Kind, Title: reading.Title, Text: reading.Text, Body: resp.Body}
	f.Result = freshet.First
	f.Capture = &freshet.Capture{
		Recipe: recipe, Text: reading.Text, Hash: hash, Title: reading.Title,
		Raw:     freshet.Raw{Status: resp.Status, URL: resp.URL, Header: resp.Header, Body: resp.Body},
		Picture: f.picture,
		Fields:  reading.Fields,
	}
	if same {
		f.Result = freshet.Changed
		s := o.step(ctx, reading.Text)
		f.Capture.Summary = s.summary()
		f.Suspect, f.Landed = o.suspicion(resp, seen, o.past(ctx, s))
		if f.Suspect == "" && o.Source.Suspect != freshet.IgnoreSuspects && o.Source.Noise != freshet.NoiseAuto && o.flapping(ctx, hash) {
			f.Suspect = freshet.SuspectFlapping
		}
		settled := o.doubt(ctx, f, seen)
		if f.Result != freshet.Changed {
			return nil
		}
		f.tellDetails(ctx, o, reading, fields)
		f.Capture.Details.Text = s.delta.TextChange()
		f.Capture.Summary = f.Capture.Details.Summary(f.Capture.Summary)
		if settled {
			return nil
		}
		return f.hear(ctx, o, s)
	}
	f.Suspect, f.Landed = o.suspicion(resp, seen, nil)
	f.remember(reading)
	return nil
}
