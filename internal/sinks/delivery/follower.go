package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/retry"
	"freshet/internal/sinks"
)

// FollowerConfig says what a Follower does. Name, Store, Render and Send are needed.
type FollowerConfig struct {
	Name  string // of the sink; its position and its deliveries are stored under it
	Store Store

	Stream sinks.Stream // what the sink follows

	// Render returns what is sent of a change, as [sinks.Outlet.Render] does. It is
	// called once for a change: what it returns is kept and sent on every attempt. A
	// change that cannot be rendered is given up, and tried again when it is replayed; one that
	// is not relevant, by [sinks.ErrIrrelevant], is passed over.
	// RenderBatch does the same for the matches of queries, and names their source.
	Render      func(context.Context, freshet.Change) ([]byte, error)
	RenderBatch func(context.Context, queries.Batch) (freshet.SourceID, []byte, error)

	// Send makes one attempt at a delivery, as [sinks.Outlet.Send] does, and returns which node
	// made it; "" if there is only one. It is called from several goroutines at once, never for two
	// changes of one source or two messages of one query.
	Send func(context.Context, sinks.Message) (node string, err error)

	// Wants and WantsBatch report whether a change, or what a query tells, is delivered;
	// nil means that all are.
	Wants      func(freshet.Change) bool
	WantsBatch func(queries.Batch) bool

	// Endpoint is where the sink sends to. A sink whose endpoint said that it
	// is gone stays silent until this becomes another.
	Endpoint string

	// OneByOne records each delivery before the next is rendered, because rendering takes long.
	OneByOne bool

	Workers int // attempts under way at once; 0 means 4

	// History has a new sink sent the whole stream. Otherwise it begins with the
	// first entry after NewFollower.
	History bool

	Now     func() time.Time // the wall clock; nil means time.Now
	Log     *slog.Logger     // nil means silence
	Observe func(Delivery)   // gets every attempt; may be nil

	// join has the board wake the sink for what it wants; nil has every entry do so.
	join func(at freshet.Cursor) *subscription
}

func (c FollowerConfig) withDefaults() FollowerConfig {
	c.Workers = cmp.Or(c.Workers, 4)
	if c.Wants == nil {
		c.Wants = func(freshet.Change) bool { return true }
	}
	if c.WantsBatch == nil {
		c.WantsBatch = func(queries.Batch) bool { return true }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With("sink", c.Name)
	return c
}

// A Delivery is one attempt at telling a sink of something.
type Delivery struct {
	Sink    string
	ID      string // of the event
	Node    string // that made the attempt; "" if there is only one
	Attempt int    // from 1
	Ended   time.Time
	Took    time.Duration
	Err     error // nil if it was accepted
	GivenUp bool  // there will be no further attempt
}

// A Follower follows a stream for one sink.
type Follower struct{ cfg FollowerConfig }

// NewFollower returns a Follower. It gives a sink that is new, or follows another stream
// than before, a place: every entry that is committed after NewFollower has returned will be
// delivered. There must not be two Runs at once under one name.
func NewFollower(ctx context.Context, cfg FollowerConfig) (*Follower, error) {
	f := &Follower{cfg: cfg.withDefaults()}
	_, err := f.place(ctx)
	return f, err
}

// place returns where the sink goes on, and begins a sink that is new.
func (f *Follower) place(ctx context.Context) (at freshet.Cursor, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("place of sink %s in the log: %w", f.cfg.Name, err)
		}
	}()
	end, err := f.end(ctx)
	if err != nil {
		return 0, err
	}
	was, err := f.cfg.Store.Place(ctx, f.cfg.Name)
	switch fresh := errors.Is(err, freshet.ErrNotFound); {
	case err != nil && !fresh:
		return 0, err
	case err == nil && was.Stream != f.cfg.Stream: // it followed the other
	case err == nil && was.Cursor > end:
		// Nothing would be delivered until the log has grown to there.
		f.cfg.Log.Warn("the sink had read past the end of the log, which was restored from an older backup; it continues from the end", "place", was.Cursor, "end", end)
	case err == nil:
		return was.Cursor, nil
	case f.cfg.History:
		end = 0
	}
	return end, f.advance(ctx, end, nil)
}

// advance moves the sink's place.
func (f *Follower) advance(ctx context.Context, to freshet.Cursor, more []sinks.NewDelivery) error {
	return f.cfg.Store.Advance(ctx, f.cfg.Name, sinks.Position{Stream: f.cfg.Stream, Cursor: to}, more)
}

// endpoint is the name under which the store knows where the sink sends to.
func (f *Follower) endpoint() sinks.EndpointID { return sinks.EndpointAt(f.cfg.Endpoint) }

// Run delivers until ctx is done. It returns nil when it was asked to stop or
// the endpoint wants no more deliveries, and otherwise why it could not go on.
// Attempts under way when ctx is done are cut off and made again by the next
// Run. A store that cannot be read for a while is waited for.
func (f *Follower) Run(ctx context.Context) error {
	err := retry.Run(ctx, func() error { return f.run(ctx) }, func(err error) {
		f.cfg.Log.Error("the data cannot be read; deliveries wait until it can", "err", err, "hint", freshet.HintOf(err))
	})
	if err != nil && !errors.Is(err, errGone) && ctx.Err() == nil {
		return err
	}
	return nil
}

func (f *Follower) run(ctx context.Context) error {
	gone, err := f.cfg.Store.Retired(ctx, f.cfg.Name, f.endpoint())
	if err != nil {
		return fmt.Errorf("look whether sink %s is gone: %w", f.cfg.Name, err)
	}
	if gone {
		f.cfg.Log.Warn("the sink answered 410 Gone earlier; nothing is delivered until its URL changes")
		return nil
	}
	at, err := f.place(ctx)
	if err != nil {
		return err
	}
	r := newRound(f, at)
	if r.until, err = f.end(ctx); err != nil {
		return fmt.Errorf("end of what sink %s follows: %w", f.cfg.Name, err)
	}
	if r.condition, err = f.condition(ctx); err != nil {
		return err
	}
	if f.cfg.join != nil {
		r.subscription = f.cfg.join(at)
		defer r.subscription.cancel()
	}
	err = r.run(ctx)
	r.drain(ctx)
	return err
}

// condition returns how it stood with the receiver.
func (f *Follower) condition(ctx context.Context) (sinks.Condition, error) {
	kept, err := f.cfg.Store.Sink(ctx, f.cfg.Name)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return sinks.Condition{}, fmt.Errorf("look how sink %s was: %w", f.cfg.Name, err)
	}
	return kept.Condition, nil
}

// persist writes to the store, again and again for as long as the store cannot
// write and ctx is not done. A store that has given up ends the run.
func (f *Follower) persist(ctx context.Context, what string, write func() error) error {
	err := retry.Write(ctx, write, func(times int, err error) {
		if times == 1 {
			f.cfg.Log.Error("the data cannot be written; deliveries wait until it can", "doing", what, "err", err, "hint", freshet.HintOf(err))
		}
	})
	if err != nil {
		return fmt.Errorf("%s of sink %s: %w", what, f.cfg.Name, err)
	}
	return nil
}

// end returns where the stream ends that the sink follows.
func (f *Follower) end(ctx context.Context) (freshet.Cursor, error) {
	if f.cfg.Stream == sinks.StreamBatches {
		return f.cfg.Store.Queries.LastBatch(ctx)
	}
	return f.cfg.Store.LastChange(ctx)
}

// wait returns when the stream goes on after a place.
func (f *Follower) wait(ctx context.Context, after freshet.Cursor) error {
	if f.cfg.Stream == sinks.StreamBatches {
		return f.cfg.Store.Queries.WaitBatch(ctx, after)
	}
	return f.cfg.Store.Wait(ctx, after)
}

// A page is part of the stream.
type page struct {
	to     freshet.Cursor          // its last entry; zero if there is none
	full   bool                    // there may be more
	wanted []sinks.PendingDelivery // with no message yet
}

// read returns what comes after a place, and what the sink wants of it.
func (f *Follower) read(ctx context.Context, after freshet.Cursor) (p page, err error) {
	if f.cfg.Stream == sinks.StreamBatches {
		batches, err := f.cfg.Store.Queries.Batches(ctx, queries.MatchQuery{After: after, Limit: readLimit})
		for _, one := range batches {
			p.to = one.Cursor
			if f.cfg.WantsBatch(one) {
				p.wanted = append(p.wanted, sinks.PendingDelivery{Batch: one, Event: one.ID()})
			}
		}
		p.full = len(batches) == readLimit
		return p, err
	}
	changes, err := f.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: after, Limit: readLimit})
	for _, c := range changes {
		p.to = c.Cursor
		if f.cfg.Wants(c) {
			p.wanted = append(p.wanted, sinks.PendingDelivery{Change: c, Source: c.Source})
		}
	}
	p.full = len(changes) == readLimit
	return p, err
}

// render fills in what is sent.
func (f *Follower) render(ctx context.Context, d *sinks.PendingDelivery) (err error) {
	if d.Batch.Cursor == 0 {
		d.Body, err = f.cfg.Render(ctx, d.Change)
		return err
	}
	if d.Batch.To == 0 { // it is known by its name only
		return fmt.Errorf("query %s was removed before the message could be made", d.Batch.Query)
	}
	source, body, err := f.cfg.RenderBatch(ctx, d.Batch)
	if errors.Is(err, freshet.ErrNotFound) {
		err = fmt.Errorf("query %s was removed before the message could be made", d.Batch.Query)
	}
	d.Source, d.Body = source, body
	return err
}

// Record records the deliveries of everything that the stream has by now, without sending them.
func (f *Follower) Record(ctx context.Context) error {
	at, err := f.place(ctx)
	if err != nil {
		return err
	}
	r := newRound(f, at)
	for more := true; more && err == nil; {
		more, err = r.read(ctx)
	}
	return err
}
