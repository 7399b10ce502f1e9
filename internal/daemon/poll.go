package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"freshet/internal/daemon/membudget"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/mask"
	"freshet/internal/sched"
	"freshet/internal/units"
	"freshet/internal/worker"
)

// A poller makes polls.
type poller struct {
	store   freshet.Store
	loop    *loop
	gates   requestGates
	purges  *purges
	hints   *indexHints
	sites   *siteList
	waiting *waitList // for the outcomes of requested polls
	now     func() time.Time
	observe func(freshet.Source, freshet.Outcome) // may be nil
	log     *slog.Logger
}

// poll makes one poll: it is recorded, a worker looks, and the result is recorded. The
// scheduler learns of it from the log. When stop is closed the loop answers no more.
func (d *poller) poll(ctx context.Context, p freshet.Poll, stop <-chan struct{}) {
	id, begun := p.Source.ID, p.At
	slow := func(seen bool) {
		d.loop.post(sched.SlowPoll{Source: id, Begun: begun, Seen: seen})
	}
	p, now := d.loop.dates.begin(p)
	head, err := d.gates.recorder.begin(ctx, p)
	if err != nil {
		d.unrecorded(ctx, p, err)
		d.dropShared(p.Along)
		return
	}
	room := openRoom(d.gates.memory)
	defer room.close()
	way := &requestGate{
		requestGates: &d.gates, poll: p, stop: stop, now: now, obeys: p.Source.Obeys(d.gates.limits.Limits().Hosts.Obey), task: d.task(p.Source, head),
		patience: time.Now().Add(leaseWait),
	}
	task := &way.task // it is large
	task.Room, task.Permit, task.Slow = room.hold, way.permitPage, slow
	p.Along, task.Shared = d.sharedTasks(ctx, p.Along)
	found, began := way.look(ctx)
	found.Requests = max(1, found.Requests+way.robots)
	if found.Result == freshet.Failed {
		found.RetryAfter = max(found.RetryAfter, way.retry)
	}
	way.applyRobotsSource(&found)
	d.hints.observe(p.Source, found)
	if found.Result == freshet.Failed && found.RetryAfter == 0 && (ctx.Err() != nil || way.givenUp.Load()) {
		return // cut off by us, which says nothing about the source; but what its host asked for holds
	}
	if found.RetryAfter > 0 && len(way.hosts) > 0 && !found.Failure.Is(failure.RedirectTarget) {
		d.gates.backOffHost(way.hosts[len(way.hosts)-1], found.RetryAfter)
	}
	for host, wait := range found.HostBackoffs {
		d.gates.backOffHost(host, wait)
	}
	rec := found.Record(p, began)
	rec.Outcome.Route = way.route(rec.Outcome)
	d.end(ctx, p, rec, head)
	d.endShared(ctx, p, task, found, began)
}

// task returns a task to look at a source, but for when and how.
func (d *poller) task(s freshet.Source, head freshet.Head) worker.Task {
	hints, key := d.hints.of(s, head, d.sites.get)
	return worker.Task{Source: s, Head: head, Hints: hints, History: worker.StoredHistory(d.store, s.ID, head, key, d.log)}
}

// end records and logs what a poll leaves behind.
func (d *poller) end(ctx context.Context, p freshet.Poll, rec freshet.Record, head freshet.Head) {
	leave := d.purges.ending.pass(1)
	o, change, err := d.gates.recorder.end(ctx, rec)
	if err == nil && d.purges.has(p.Source.ID) {
		d.loop.post(sched.PollAbandoned{Source: p.Source.ID})
	}
	leave()
	if err != nil {
		d.unrecorded(ctx, p, err)
		return
	}
	if to := rec.Moved.URL; to != "" && to != head.Moved.URL {
		d.log.Warn("the source has moved permanently; change its URL with freshet edit SOURCE --url URL", "source", o.Source, "url", mask.URL(p.Source.URL), "moved_to", mask.URL(to))
	}
	d.logSuspect(p, rec, o, head)
	d.report(p, o, change)
	if o.Result == freshet.Changed && change.Cursor != 0 {
		d.warnOfNoise(p.Source, o, change, head)
	}
}

// warnOfNoise says that a source has begun to differ at nearly every poll. It says so
// once: what has been polled before tells whether that is new, also after a restart.
func (d *poller) warnOfNoise(s freshet.Source, o freshet.Outcome, c freshet.Change, head freshet.Head) {
	w := freshet.SourceWithStatus{Source: s, Status: freshet.Status{Polls: head.Polls + 1, Changes: c.Seq, Seen: o.Began, ChangedAt: c.Before}}
	if !w.BecameNoisy() {
		return
	}
	d.log.Warn("the source is noisy: it changes at almost every poll", "source", s.ID, "url", mask.URL(s.URL),
		"polls", w.Status.Polls, "changes", w.Status.Changes,
		"hint", "freshet show SOURCE says where; set noise: auto, watch only the part you need with a selector, or poll it less often with a larger min_gap")
}

// alarmAfter is how many looks in a row have to meet a wall before it is said again.
const alarmAfter = 3

// logSuspect logs that a source has become suspect, once, and once more if it shows nothing
// else; and that it is so no longer.
func (d *poller) logSuspect(p freshet.Poll, rec freshet.Record, o freshet.Outcome, head freshet.Head) {
	before, held := head.Suspect, rec.Held
	if head.Held.Number > 0 {
		before = head.Held.Suspect
	}
	if before == "" && o.Suspect == "" {
		return // nearly always
	}
	about := []any{"source", o.Source, "url", mask.URL(p.Source.URL)}
	switch {
	case o.Result == freshet.Failed:
	case o.Result == freshet.Doubted && held.Looks == alarmAfter && wrongpage.Hides(o.Suspect):
		d.log.Warn("the source has not been seen for some time: "+o.Suspect.Reason(), append(about, "suspect", o.Suspect, "since", held.Since, "looks", held.Looks)...)
	case o.Suspect == before && before != "":
	case o.Suspect != "":
		d.log.Warn("the source is suspect: "+o.Suspect.Reason(), append(about, "suspect", o.Suspect, "landed_on", mask.URL(o.Landed), "held", o.Result == freshet.Doubted)...)
	case before != "":
		d.log.Info("the source is no longer suspect", append(about, "confirmed", o.Result == freshet.Changed && o.Version == head.Held.Number)...)
	}
}

// unrecorded ends a poll of which nothing could be recorded: its source
// was removed in the meantime, or the store is beyond mending and the run ends.
func (d *poller) unrecorded(ctx context.Context, p freshet.Poll, err error) {
	if ctx.Err() != nil {
		return
	}
	d.loop.dates.forget(p.Source.ID)
	d.loop.post(sched.PollAbandoned{Source: p.Source.ID})
	now := d.now()
	d.waiting.answer(freshet.Outcome{
		Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Began: now, Ended: now,
		Result: freshet.Failed, Failure: failure.Internal, Err: err.Error(),
	})
	if !errors.Is(err, freshet.ErrNotFound) {
		d.loop.fail(fmt.Errorf("poll %s: %w", mask.URL(p.Source.URL), err))
	}
}

// report counts and logs a poll that is recorded.
func (d *poller) report(p freshet.Poll, o freshet.Outcome, c freshet.Change) {
	d.loop.gauges.count(o)
	if d.observe != nil {
		d.observe(p.Source, o)
	}
	if o.Result == freshet.Changed && c.Cursor == 0 { // it was reported before
		d.log.Info("saw the version that was confirmed", "source", o.Source, "url", mask.URL(p.Source.URL), "version", o.Version)
		return
	}
	switch o.Result {
	case freshet.Changed:
		d.log.Info("captured", "source", o.Source, "url", mask.URL(p.Source.URL), "version", o.Version, "seq", c.Seq, "cursor", c.Cursor, "summary", c.Summary)
	case freshet.First:
		d.log.Info("captured", "source", o.Source, "url", mask.URL(p.Source.URL), "version", o.Version)
	case freshet.Doubted:
		d.log.Info("held", "source", o.Source, "url", mask.URL(p.Source.URL), "version", o.Version, "suspect", o.Suspect, "look_again", o.LookAgain)
	case freshet.Failed:
		level := slog.LevelWarn
		if p.Source.Index && p.Since.IsZero() { // it was only looked for
			level = slog.LevelDebug
		}
		d.log.Log(context.Background(), level, "poll failed", "source", o.Source, "url", mask.URL(p.Source.URL), "class", o.Failure, "err", mask.Text(o.Err))
	default:
		if d.log.Enabled(context.Background(), slog.LevelDebug) { // mostly not
			d.log.Debug("unchanged", "source", o.Source)
		}
	}
}

// sharedTasks returns the tasks for sources that share the fetch of a poll, and those
// sources. One that is gone meanwhile is not among them.
func (d *poller) sharedTasks(ctx context.Context, along []freshet.Companion) (kept []freshet.Companion, tasks []worker.Task) {
	for _, c := range along {
		head, err := d.store.Head(ctx, c.Source.ID)
		if err != nil {
			if !errors.Is(err, freshet.ErrNotFound) {
				d.log.Error("cannot read a source from a shared fetch", "source", c.Source.ID, "err", err)
			}
			d.dropShared([]freshet.Companion{c})
			continue
		}
		kept, tasks = append(kept, c), append(tasks, d.task(c.Source, head))
	}
	return kept, tasks
}

// endShared records the results of sources that shared the fetch, each by itself, after the
// poll: one that a crash comes before is not seen, and polled again. A poll that says
// nothing about them leaves nothing to record.
func (d *poller) endShared(ctx context.Context, p freshet.Poll, task *worker.Task, found worker.Result, began time.Time) {
	if len(found.Shared) < len(p.Along) {
		d.dropShared(p.Along[len(found.Shared):])
	}
	for i, one := range found.Shared {
		if ctx.Err() != nil && one.Result == freshet.Failed {
			return
		}
		c := p.Along[i]
		d.hints.observe(c.Source, one)
		its := freshet.Poll{Source: c.Source, At: p.At, Since: c.Since, Cause: freshet.BySharing}
		d.end(ctx, its, one.Record(its, began), task.Shared[i].Head)
	}
}

// dropShared tells the scheduler that sources did not share the fetch after all.
func (d *poller) dropShared(along []freshet.Companion) {
	for _, c := range along {
		d.loop.dates.forget(c.Source.ID)
		d.loop.post(sched.PollAbandoned{Source: c.Source.ID})
	}
}

// Need returns how many bytes of memory a poll takes for a body of a size, from
// the first byte to the commit. It is what was measured on pages, plain text,
// feeds, JSON and binary data, with a little to spare: the body and its text are
// there twice while they grow and are stored, beside the version before and the
// tables of the compressor. Up to a few megabytes, a tree, or a list of lines to
// compare, can take much more than the body.
func Need(size int64) int64 {
	const times, tree, treeTimes = 6, 4 << 20, 14
	return times*size + treeTimes*min(size, tree)
}

// A room is what one poll holds of the memory for polls. Without a budget there
// is always room.
type room struct{ share *membudget.Share }

func openRoom(b *membudget.Budget) room {
	if b == nil {
		return room{}
	}
	return room{b.Share()}
}

// OpenRoom returns how a look makes room in a budget, as in [worker.Task], and how it gives
// it back.
func OpenRoom(b *membudget.Budget) (hold func(context.Context, int64) error, free func()) {
	r := openRoom(b)
	return r.hold, r.close
}

// hold makes room for a body of a size.
func (r room) hold(ctx context.Context, size int64) error {
	if r.share == nil {
		return nil
	}
	err := r.share.Hold(ctx, Need(size))
	if errors.Is(err, membudget.ErrFull) {
		return &freshet.FetchError{
			Class: failure.LocalMemory, Err: fmt.Errorf("a body of up to %s: %w", units.FormatSize(size), err),
			Hint: "allow polls more memory with --memory, or watch fewer large pages",
		}
	}
	return err
}

// close gives the room back.
func (r room) close() {
	if r.share != nil {
		r.share.Close()
	}
}
