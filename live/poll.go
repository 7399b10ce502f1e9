package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet"
	"freshet/content"
	"freshet/sched"
)

// A validator can lie: a server that answers 304 to everything would hide all
// changes for ever. So every source is asked without validators once a day.
const trustValidators = 24 * time.Hour

// A date that lies this far ahead of our clock says nothing about when.
const clockSlack = 5 * time.Minute

// poll makes one poll, from the record of its beginning to the telling of its
// end. It returns without telling only when the run is ending.
func (d *Daemon) poll(ctx context.Context, p freshet.Poll) {
	err := d.persist(ctx, "begin a poll", func() error { return d.cfg.Store.Begin(ctx, p) })
	if err != nil {
		now := time.Now()
		d.unrecorded(ctx, p, freshet.Outcome{Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Began: now, Ended: now}, err)
		return
	}
	h := d.heads.get(p.Source.ID)
	rec := d.look(ctx, p, h)
	if ctx.Err() != nil && rec.Outcome.Result == freshet.Failed {
		return // cut off by us, which says nothing about the source
	}
	turn := d.order.begin()
	stored, change, err := d.commit(ctx, rec)
	if err != nil {
		d.order.end(turn, nil, d.tell)
		d.unrecorded(ctx, p, rec.Outcome, err)
		return
	}
	h.committed(rec, stored)
	d.report(p, stored, change)
	d.order.end(turn, &stored, d.tell)
}

// commit puts a finished poll on record. If the store refuses what was captured
// for another reason than that it cannot write, the poll is recorded as failed.
func (d *Daemon) commit(ctx context.Context, rec freshet.Record) (o freshet.Outcome, c freshet.Change, err error) {
	write := func() (err error) {
		o, c, err = d.cfg.Store.Commit(ctx, rec)
		return err
	}
	err = d.persist(ctx, "commit a poll", write)
	if err == nil || errors.Is(err, freshet.ErrNotFound) || ctx.Err() != nil {
		return o, c, err
	}
	fail(&rec.Outcome, fmt.Errorf("commit: %w", err))
	rec.Capture = nil
	err = d.persist(ctx, "commit a failed poll", write)
	return o, c, err
}

// unrecorded ends a poll of which nothing could be put on record: its source
// was removed in the meantime, or the store is beyond mending and the run ends.
func (d *Daemon) unrecorded(ctx context.Context, p freshet.Poll, o freshet.Outcome, err error) {
	if ctx.Err() != nil {
		return
	}
	fail(&o, err)
	d.tell(o)
	if !errors.Is(err, freshet.ErrNotFound) {
		select {
		case d.fatal <- fmt.Errorf("poll %s: %w", p.Source.URL, err):
		default:
		}
	}
}

// tell lets everybody who waits for an outcome know of it.
func (d *Daemon) tell(o freshet.Outcome) {
	d.inbox.post(sched.Event{Outcome: &o})
	d.asks.answer(o)
}

// report counts and logs a committed outcome.
func (d *Daemon) report(p freshet.Poll, o freshet.Outcome, c freshet.Change) {
	d.gauges.count(o)
	if d.cfg.Observe != nil {
		d.cfg.Observe(o)
	}
	switch o.Result {
	case freshet.Changed:
		d.cfg.Log.Info("captured", "source", o.Source, "url", p.Source.URL, "version", o.Version, "seq", c.Seq, "cursor", c.Cursor, "summary", c.Summary)
	case freshet.First:
		d.cfg.Log.Info("captured", "source", o.Source, "url", p.Source.URL, "version", o.Version)
	case freshet.Failed:
		d.cfg.Log.Warn("poll failed", "source", o.Source, "url", p.Source.URL, "class", o.Failure, "err", o.Err)
	default:
		d.cfg.Log.Debug("unchanged", "source", o.Source)
	}
}

// persist writes to the store, again and again for as long as the store cannot
// write for a reason that can pass and ctx is not done.
func (d *Daemon) persist(ctx context.Context, what string, write func() error) error {
	const first, most = 250 * time.Millisecond, 5 * time.Second
	for wait := first; ; wait = min(2*wait, most) {
		err := write()
		if err == nil && d.trouble.Load() != nil && d.trouble.Swap(nil) != nil {
			d.cfg.Log.Info("the store can be written again")
		}
		if !errors.Is(err, freshet.ErrStorage) || errors.Is(err, freshet.ErrStoreFailed) {
			return err
		}
		why := err.Error()
		if d.trouble.Swap(&why) == nil {
			d.cfg.Log.Error("the store cannot be written; no polls until it can", "doing", what, "err", err, "hint", freshet.HintOf(err))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// look fetches a source, reads it and compares it with its head.
func (d *Daemon) look(ctx context.Context, p freshet.Poll, h *head) freshet.Record {
	rec := freshet.Record{Outcome: freshet.Outcome{
		Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Began: time.Now(),
	}}
	o := &rec.Outcome
	resp, err := d.cfg.Fetcher.Fetch(ctx, h.request(p, o.Began))
	o.Ended = time.Now()
	o.Status, o.Requests, o.Bytes = resp.Status, max(1, resp.Requests), resp.WireBytes
	if resp.RetryAfter > 0 {
		o.NotBefore = o.Ended.Add(resp.RetryAfter)
	}
	if err != nil {
		fail(o, err)
		return rec
	}
	rec.Validators = resp.Validators
	o.Modified = plausible(resp.Modified, o.Ended)
	if resp.NotModified {
		o.Version = h.number
		return rec
	}
	if err := d.compare(ctx, p, h, resp, &rec); err != nil {
		rec.Validators = freshet.Validators{}
		fail(o, err)
	}
	return rec
}

// compare reads a response and completes the record by whether it differs from
// the head.
func (d *Daemon) compare(ctx context.Context, p freshet.Poll, h *head, resp freshet.Response, rec *freshet.Record) error {
	o, recipe := &rec.Outcome, p.Source.Recipe.Key()
	same := h.number > 0 && h.recipe == recipe
	bodySum := xxhash.Sum64(resp.Body)
	if same && h.known && bodySum == h.bodySum {
		o.Version = h.number
		return nil
	}
	reading, err := d.cfg.Read(ctx, p.Source.Recipe, resp)
	if err != nil {
		return err
	}
	if o.Modified.IsZero() {
		o.Modified = plausible(reading.Modified, o.Ended)
	}
	textSum := xxhash.Sum64(reading.Text)
	if same && h.known && textSum == h.textSum {
		h.bodySum, o.Version = bodySum, h.number
		return nil
	}
	hash := freshet.HashOf(reading.Text)
	h.known, h.bodySum, h.textSum = true, bodySum, textSum
	if same && hash == h.hash {
		o.Version = h.number
		return nil
	}
	o.Result = freshet.First
	rec.Capture = &freshet.Capture{
		Recipe: recipe, Text: reading.Text, Hash: hash, Title: reading.Title,
		Raw: freshet.Raw{Status: resp.Status, URL: resp.URL, Header: resp.Header, Body: resp.Body},
	}
	if same {
		o.Result = freshet.Changed
		rec.Capture.Summary = d.summary(ctx, p.Source.ID, h.number, reading.Text)
	}
	return nil
}

// summary says in a few words how text differs from a stored version.
func (d *Daemon) summary(ctx context.Context, id freshet.SourceID, number int, text []byte) string {
	old, err := d.cfg.Store.Text(ctx, id, number)
	if err != nil {
		d.cfg.Log.Error("read the version before", "source", id, "version", number, "err", err)
		return "changed; the version before could not be read"
	}
	return content.Diff(old, text).Summary()
}

// request asks after the head, unless the validators have been trusted for
// long enough or were given for another reading of the page.
func (h *head) request(p freshet.Poll, now time.Time) freshet.Request {
	req := freshet.Request{URL: p.Source.URL}
	if h.number > 0 && h.recipe == p.Source.Recipe.Key() && now.Sub(h.unconditionallyAt) < trustValidators {
		req.Validators = h.validators
	}
	return req
}

// committed brings the head up to date with what the store now holds.
func (h *head) committed(rec freshet.Record, stored freshet.Outcome) {
	if !stored.Result.Seen() {
		return
	}
	h.validators = rec.Validators
	if rec.Outcome.Status != 304 {
		h.unconditionallyAt = stored.Began
	}
	if c := rec.Capture; c != nil {
		h.number, h.hash, h.recipe = stored.Version, c.Hash, c.Recipe
	}
}

// fail completes the outcome of a poll that did not see its source.
func fail(o *freshet.Outcome, err error) {
	o.Result, o.Err, o.Failure = freshet.Failed, err.Error(), freshet.FailInternal
	if f, ok := errors.AsType[*freshet.FetchError](err); ok {
		o.Failure = f.Class
	} else if c, ok := errors.AsType[*content.Error](err); ok {
		o.Failure = c.Class
	}
}

// plausible returns at, or nothing if it lies in the future.
func plausible(at, now time.Time) time.Time {
	if at.After(now.Add(clockSlack)) {
		return time.Time{}
	}
	return at
}
