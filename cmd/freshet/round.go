package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// A round is one poll of many sources, followed until all have ended.
type round struct {
	*program
	c     *connection
	query client.RoundQuery
	limit time.Duration // that it may take; below zero means as long as it takes

	report func(sourceResult) error // prints the result of a source, as it comes

	names   map[freshet.SourceID]client.Source
	pending map[freshet.SourceID]*client.Hold
	after   freshet.Place
	sum     roundSum
	shown   bool // progress stands in the last line of the terminal
}

// A sourceResult is the result of one source in a round.
type sourceResult struct {
	Source  freshet.SourceID `json:"source"`
	Outcome *client.Outcome  `json:"outcome,omitempty"`
	Hold    *client.Hold     `json:"hold,omitempty"`    // what is in the way of a poll
	Skipped bool             `json:"skipped,omitempty"` // it was not to be polled in this round
}

// A roundSum counts the results of a round.
type roundSum struct {
	Sources   int `json:"sources"`
	Changed   int `json:"changed"`
	First     int `json:"first"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
	Suspect   int `json:"suspect"`
	Held      int `json:"held"`
	Skipped   int `json:"skipped"`
}

// polled returns how many polls were made.
func (s roundSum) polled() int { return s.Changed + s.First + s.Unchanged + s.Failed + s.Suspect }

// String is the sum in words.
func (s roundSum) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{s.Changed, "changed"}, {s.First, "seen for the first time"}, {s.Unchanged, "unchanged"}, {s.Failed, "failed"}, {s.Suspect, "held as suspect"},
		{s.Held, "not polled yet"}, {s.Skipped, "skipped"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	words := fmt.Sprintf("polled %d of %s", s.polled(), counted(s.Sources, "source"))
	if len(parts) > 0 {
		words += ": " + strings.Join(parts, ", ")
	}
	return words
}

// roundLook is after how long without an outcome it is looked what is in the way.
const roundLook = 3 * time.Second

// run makes the round.
func (r *round) run(ctx context.Context) error {
	defer r.clearProgress()
	all, err := r.c.Sources.List(ctx, client.SourceQuery{Tag: r.query.Tag})
	if err != nil {
		return err
	}
	if len(all) == 0 && r.query.Tag != "" {
		return noneTagged(r.query.Tag)
	}
	r.names, r.pending = map[freshet.SourceID]client.Source{}, map[freshet.SourceID]*client.Hold{}
	for _, s := range all {
		r.names[s.ID] = s
	}
	began, err := r.c.RequestPolls(ctx, r.query)
	if err != nil {
		return err
	}
	r.after, r.sum.Sources = began.After, len(began.Asked)+len(began.Skipped)
	for _, h := range began.Skipped {
		r.sum.Skipped++
		if err := r.say(sourceResult{Source: h.Source, Hold: h.Hold, Skipped: true}); err != nil {
			return err
		}
	}
	for _, h := range began.Asked {
		r.pending[h.Source] = h.Hold
	}
	return r.follow(ctx)
}

// follow waits for the polls to end.
func (r *round) follow(ctx context.Context) error {
	ends := time.Now().Add(r.limit)
	if err := r.giveUp(); err != nil {
		return err
	}
	for len(r.pending) > 0 {
		wait := roundLook
		if r.limit >= 0 {
			if wait = min(wait, time.Until(ends)); wait <= 0 {
				return r.leave(func(*client.Hold) bool { return true })
			}
		}
		n, err := r.read(ctx, wait)
		if err != nil {
			return err
		}
		if n == 0 {
			err = r.look(ctx)
		}
		if err != nil {
			return err
		}
		r.progress()
	}
	return nil
}

// read takes in the next outcomes.
func (r *round) read(ctx context.Context, wait time.Duration) (int, error) {
	page, err := r.c.Outcomes(ctx, client.OutcomeQuery{After: r.after, Limit: 1000, Wait: wait})
	if err != nil {
		return 0, err
	}
	r.after = page.Next
	for _, o := range page.Items {
		if _, wanted := r.pending[o.Source]; !wanted {
			continue
		}
		delete(r.pending, o.Source)
		switch o.Result {
		case freshet.Changed.String():
			r.sum.Changed++
		case freshet.First.String():
			r.sum.First++
		case freshet.Failed.String():
			r.sum.Failed++
		case freshet.Doubted.String():
			r.sum.Suspect++
		default:
			r.sum.Unchanged++
		}
		if err := r.say(sourceResult{Source: o.Source, Outcome: &o}); err != nil {
			return 0, err
		}
	}
	return len(page.Items), nil
}

// look finds out what is in the way of the polls that have not ended.
func (r *round) look(ctx context.Context) error {
	wanted, err := r.c.RequestedPolls(ctx)
	if err != nil {
		return err
	}
	if _, err := r.read(ctx, 0); err != nil { // of those that have just ended
		return err
	}
	still := map[freshet.SourceID]*client.Hold{}
	for _, h := range wanted {
		still[h.Source] = h.Hold
	}
	for id := range r.pending {
		r.pending[id] = still[id] // nil if it was removed meanwhile
	}
	return r.giveUp()
}

// giveUp leaves polls that something other than the turns of others keeps back for
// long, and those that no daemon is there to make.
func (r *round) giveUp() error {
	patience := pollPatience
	if r.limit >= 0 {
		patience = r.limit
	}
	late := time.Now().Add(patience)
	return r.leave(func(h *client.Hold) bool {
		if h == nil {
			return true
		}
		switch h.Kind {
		case "min_gap", "host_away", "host_failing":
			return h.Until.After(late)
		}
		return false
	})
}

// leave ends the waiting for some of the polls.
func (r *round) leave(which func(*client.Hold) bool) error {
	for _, id := range slices.Sorted(maps.Keys(r.pending)) {
		h := r.pending[id]
		if !which(h) {
			continue
		}
		delete(r.pending, id)
		r.sum.Held++
		if err := r.say(sourceResult{Source: id, Hold: h}); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) say(t sourceResult) error {
	r.clearProgress()
	return r.report(t)
}

// progress says on a terminal how far the round is and what it waits for.
func (r *round) progress() {
	if !isTerminal(r.err) || r.env("TERM") == "dumb" || len(r.pending) == 0 {
		return
	}
	words := fmt.Sprintf("%d of %d polled", r.sum.polled(), r.sum.Sources)
	if first := r.nextUp(); first != nil && first.Kind != "none" && first.Kind != "under_way" {
		words += "; waiting: " + first.Reason
		if !first.Until.IsZero() {
			words += ", until " + first.Until.Local().Format(time.TimeOnly)
		}
	}
	fmt.Fprintf(r.err, "\r\x1b[K%s", display.Shorten(words, max(20, r.columnsOf(r.err)-1)))
	r.shown = true
}

// nextUp returns what keeps back the poll that can be made first.
func (r *round) nextUp() (first *client.Hold) {
	for _, h := range r.pending {
		if h != nil && !h.Until.IsZero() && (first == nil || h.Until.Before(first.Until)) {
			first = h
		}
	}
	return first
}

func (r *round) clearProgress() {
	if r.shown {
		fmt.Fprint(r.err, "\r\x1b[K")
		r.shown = false
	}
}

// labelOf names a source of the round for people.
func (r *round) labelOf(id freshet.SourceID) string {
	if s, ok := r.names[id]; ok {
		return label(s)
	}
	return string(id)
}
