package worker

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/extract"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/fetch"
	"freshet/internal/fetch/browser"
	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
	"freshet/internal/freshet/suspect"
)

// A Reader turns a response into the text that is compared.
type Reader func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error)

// A Worker looks at sources. It may make many looks at once.
type Worker struct {
	fetcher  freshet.Fetcher
	read     Reader
	renderer *browser.Renderer
}

// A Looker makes looks: a [Worker], or workers on other machines.
type Looker interface {
	Look(ctx context.Context, t Task) Result
	Robots(ctx context.Context, t Task, origin string) (RobotsResult, error)
}

// New returns a Worker. A nil Reader means extract.Extract.
func New(f freshet.Fetcher, read Reader) *Worker {
	if read == nil {
		read = func(_ context.Context, r reading.Recipe, resp freshet.Response) (extract.Reading, error) {
			return extract.Extract(r, resp)
		}
	}
	return &Worker{fetcher: f, read: read}
}

// Rendering returns a Worker that can render pages, too.
func (w *Worker) Rendering(r *browser.Renderer) *Worker {
	return &Worker{fetcher: w.fetcher, read: w.read, renderer: r}
}

// Look fetches a source, reads it and compares it with its head. Other sources of the
// same document are read from what it brought.
func (w *Worker) Look(ctx context.Context, task Task) Result {
	t := &task // it is large
	began := time.Now()
	view, err := w.fetch(ctx, t)
	took := time.Since(began)
	f := w.judge(ctx, t, view, took, err)
	f.Requests, f.Bytes = view.Requests, view.WireBytes
	f.RetryAfter, f.HostBackoffs = view.RetryAfter, view.Away
	if view.Own || !tells(err) {
		return f
	}
	captured := f.Capture != nil
	held := int64(1)
	for _, a := range t.Shared {
		if captured {
			held++
		}
		a = a.after(t)
		if room, times := t.Room, held; room != nil { // what was captured before is still there
			a.Room = func(ctx context.Context, size int64) error { return room(ctx, times*size) }
		}
		one := w.judge(ctx, &a, view, took, err)
		f.Shared, captured = append(f.Shared, one), one.Capture != nil
	}
	return f
}

// judge says what a view means for a source, or that there was none.
func (w *Worker) judge(ctx context.Context, t *Task, view browser.View, took time.Duration, err error) Result {
	resp := view.Response
	f := Result{Took: took, Status: resp.Status, Listed: -1, picture: view.Picture}
	f.Moved = t.whereabouts(resp, err)
	if err != nil {
		return f.failed(err)
	}
	f.Sums, f.Validators = t.Head.Sums, resp.Validators
	f.Modified = t.plausible(resp.Modified, f.Took)
	f.FreshFor = max(resp.FreshFor, f.Sums.Fresh)
	f.Suspect, f.Landed = t.stillSuspect(resp)
	if resp.NotModified {
		return f
	}
	if err := w.compare(ctx, t, resp, &f); err != nil {
		return f.failed(err)
	}
	if t.Hints != nil && f.Capture != nil && f.Result.Seen() && f.Suspect == "" {
		f.readHints(ctx, t, resp.Body, resp.URL)
	}
	return f
}

// compare reads a response and completes the result by whether it differs from
// the head.
func (w *Worker) compare(ctx context.Context, t *Task, resp freshet.Response, f *Result) error {
	head, recipe := t.Head, t.Source.Key()
	same := head.Number > 0 && head.Recipe == recipe
	visual := f.picture != nil && t.Source.Recipe.Render.Compare == rendering.ComparePicture
	sums := freshet.Sums{Known: true, Fresh: head.Sums.Fresh, Body: xxhash.Sum64(resp.Body)}
	if visual {
		sums.Body = xxhash.Sum64(f.picture) ^ math.Float64bits(t.Source.Recipe.Render.Threshold)
	}
	if same && head.Sums.Known && sums.Body == head.Sums.Body {
		return nil
	}
	if t.Room != nil {
		if err := t.Room(ctx, int64(len(resp.Body))); err != nil {
			return err
		}
	}
	var pictured *freshet.PictureChange
	if visual && same {
		change, changed, err := t.pictureChange(ctx, f.picture)
		if err != nil || !changed {
			f.Sums = sums
			return err
		}
		pictured = change
	}
	read, err := w.read(ctx, t.Source.Recipe, resp)
	if err != nil {
		return err
	}
	if f.Modified.IsZero() {
		f.Modified = t.plausible(read.Modified, f.Took)
	}
	f.kind, f.Dates = read.Kind, t.plausibleDates(read.Dates, f.Took)
	sums.Fresh, f.FreshFor = read.FreshFor, max(resp.FreshFor, read.FreshFor)
	sums.Text = sumOf(read)
	f.Sums = sums
	if same && !visual && head.Sums.Known && sums.Text == head.Sums.Text {
		return nil
	}
	f.Foretold = t.announced(read, f.Took)
	hash := freshet.HashOf(read.Text)
	fields := w.fieldChanges(ctx, t, read.Fields, resp)
	if same && !visual && hash == head.Hash && len(fields) == 0 {
		return nil
	}
	seen := wrongpage.Page{Kind: read.Kind, Title: read.Title, Text: read.Text, Body: resp.Body}
	f.Result = freshet.First
	f.Capture = &freshet.Capture{
		Recipe: recipe, Text: read.Text, Hash: hash, Title: read.Title,
		Raw:     freshet.Raw{Method: resp.Method, Status: resp.Status, URL: resp.URL, Header: fetch.KeptHeader(resp.Header), Body: resp.Body},
		Picture: f.picture,
		Fields:  read.Fields,
	}
	if same {
		f.Result = freshet.Changed
		s := t.step(ctx, read.Text)
		f.Capture.Summary = s.summary()
		f.Suspect, f.Landed = t.suspicion(resp, seen, t.past(ctx, s))
		if f.Suspect == "" && !visual && len(fields) == 0 && t.Source.Suspect != suspect.Ignore && t.Source.Noise != freshet.NoiseAuto && t.flapping(ctx, hash) {
			f.Suspect = suspect.Flapping
		}
		settled := t.quarantine(ctx, f, seen)
		if f.Result != freshet.Changed {
			return nil
		}
		f.addDetails(ctx, t, read, fields)
		f.Capture.Details.Text, f.Capture.Details.Picture = s.delta.TextChange(), pictured
		f.Capture.Summary = f.Capture.Details.Summary(f.Capture.Summary)
		if settled || visual {
			return nil
		}
		return f.judgeNoise(ctx, t, s)
	}
	f.Suspect, f.Landed = t.suspicion(resp, seen, nil)
	f.rememberItems(read)
	return nil
}

// fetch brings the present state of a source: as it is fetched or, if that is asked for,
// as a browser shows it. What is no page is taken as it is fetched all the same.
func (w *Worker) fetch(ctx context.Context, t *Task) (browser.View, error) {
	how := t.Source.Recipe.Render
	if !how.On {
		resp, err := w.fetcher.Fetch(ctx, t.request(ctx))
		return browser.View{Response: resp}, err
	}
	if w.renderer == nil {
		return browser.View{}, &freshet.FetchError{Class: failure.RenderMissing, Err: errors.New("pages cannot be rendered here")}
	}
	// The page is fetched when there is a browser for it, or it would be old by then.
	b, err := w.renderer.Open(ctx)
	if err != nil {
		return browser.View{}, err
	}
	defer b.Close()
	resp, err := w.fetcher.Fetch(ctx, t.request(ctx))
	if err != nil || !browser.Readable(resp) {
		return browser.View{Response: resp}, err
	}
	return b.Render(ctx, browser.Page{Settings: how, Document: resp, Source: t.Source.ID, Leave: t.Permit, Room: t.Room})
}

// tells reports whether the end of a fetch says something about the document, and so
// about every source that watches it: it came, or its server is at fault.
func tells(err error) bool {
	if err == nil {
		return true
	}
	e, ok := errors.AsType[*freshet.FetchError](err)
	return ok && !e.Class.Ours() && !e.Class.Is(failure.Deferred) && !e.Class.Is(failure.Canceled) && !e.Class.Is(failure.Internal) && !e.Class.Is(failure.Robots)
}

// A RobotsResult is how a read of the robots.txt of an origin ended.
type RobotsResult struct {
	Answer     robots.Answer
	RetryAfter time.Duration // how long the server asked us to stay away
	Requests   int           // made to read it
	Bytes      int64         // of body taken off the wire
}

// Robots reads the robots.txt of an origin on the way to a source. It returns an error if
// there is no answer to go by because nobody was asked: what the task needs was not to
// be had here, or the guard does not let the request out. A file that could not be read
// is an answer.
func (w *Worker) Robots(ctx context.Context, t Task, origin string) (RobotsResult, error) {
	resp, err := w.fetcher.Fetch(ctx, freshet.Request{
		URL: robots.URL(origin), Source: t.special(), Bare: true, Enough: robots.MaxBytes + 1,
		Room: t.Room, Leave: t.Permit, Slow: t.Slow,
	})
	m := RobotsResult{RetryAfter: resp.RetryAfter, Requests: resp.Requests, Bytes: resp.WireBytes}
	m.Answer, err = AnswerOf(resp, err)
	return m, err
}

// AnswerOf returns what a fetch of a robots.txt stands for, or why nobody was asked.
func AnswerOf(resp freshet.Response, err error) (robots.Answer, error) {
	if err == nil {
		return robots.Answer{Status: resp.Status, Body: resp.Body, FreshFor: resp.FreshFor}, nil
	}
	e, ok := errors.AsType[*freshet.FetchError](err)
	if !ok {
		return robots.Answer{}, err
	}
	switch c := e.Class; {
	case c.Is(failure.Deferred), c.Is(failure.Local), c.Is(failure.Canceled), c.Is(failure.Internal), c.Is(failure.Blocked),
		c.Is(failure.Secret), c.Is(failure.Token), c.Is(failure.Login), c.Is(failure.Proxy):
		return robots.Answer{}, err
	case c.Is(failure.RedirectLimit):
		return robots.Answer{Lost: true}, nil
	case c.Is(failure.NoContent):
		return robots.Answer{Status: http.StatusNoContent}, nil
	case c.Is(failure.HTTP), c.Is(failure.Gone), c.Is(failure.ServerError), c.Is(failure.RetryAfter):
		return robots.Answer{Status: resp.Status}, nil
	}
	return robots.Answer{}, nil
}
