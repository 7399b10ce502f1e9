package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

func (a *statusAPI) routeOverview() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-overview", Method: http.MethodGet, Path: "/api/v1/overview", Tags: []string{"program"},
		Summary:     "Show an overview",
		Description: "The status, the number of sources in each state, what the budget achieves, what needs attention, and the latest changes.",
	}, a.getOverview)
}

// latestChanges is how many changes an overview has.
const latestChanges = 5

func (a *statusAPI) getOverview(ctx context.Context, _ *struct{}) (*rest.Body[client.Overview], error) {
	status, err := a.getStatus(ctx, nil)
	if err != nil {
		return nil, err
	}
	o := client.Overview{At: a.Now().UTC(), Status: status.Body, Attention: []client.Attention{}, Changes: []client.Change{}}
	brief, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	if n, err := a.daemon.Overall(brief); err == nil && n.All.Sources > 0 {
		captured := capturedOf(n.All)
		o.Captured = &captured
		o.Spending = &client.Spending{Budget: o.Status.Budget, Used: n.Used, Most: n.Most}
	}
	latest, err := a.latest(ctx, latestChanges)
	if err := without(&o.Status, err); err != nil {
		return nil, err
	}
	o.Changes = append(o.Changes, latest...)
	seen, err := a.survey(ctx)
	if err := without(&o.Status, err); err != nil {
		return nil, err
	}
	o.Sources = seen.StateCounts
	o.Attention = append(o.Attention, programAttention(o.Status)...)
	o.Attention = append(o.Attention, seen.attention()...)
	if l := o.Status.Levels; l != nil && l.Unmet > 0 {
		o.Attention = append(o.Attention, client.Attention{
			Kind: "levels", Text: fmt.Sprintf("%d of %d service levels are not expected to be met", l.Unmet, l.Set), Command: "freshet budget --levels",
		})
	}
	return rest.Reply(o), nil
}

// latest returns the newest changes, the newest first.
func (a *statusAPI) latest(ctx context.Context, n int) ([]client.Change, error) {
	log, err := a.store.Changes(ctx, freshet.ChangeQuery{Newest: true, Limit: n})
	if err != nil {
		return nil, fmt.Errorf("the latest changes: %w", err)
	}
	return titled(ctx, a.store, log)
}

// A survey is what a look at all sources finds.
type survey struct {
	client.StateCounts
	failing []string // the first few, with why
	suspect []string // likewise
	moved   []client.Source
	noisy   []string          // the first few
	helps   map[string]string // the command that may help the only source of a kind
}

// named is how many sources of a kind are named; the others are counted.
const named = 3

// survey counts all sources, and looks at the first few that need attention.
func (a *statusAPI) survey(ctx context.Context) (found survey, err error) {
	n, err := a.store.CountSources(ctx)
	if err != nil {
		return found, err
	}
	in := n.All.In
	found.StateCounts = client.StateCounts{
		All: n.All.Total, Failing: in[freshet.IsFailing], Noisy: in[freshet.IsNoisy], Paused: in[freshet.IsPaused],
		Unseen: in[freshet.IsUnseen], Suspect: in[freshet.IsSuspect],
	}
	found.helps = map[string]string{}
	look := func(state freshet.Conditions, kind string, note func(client.Source)) {
		if err != nil || in[state] == 0 {
			return
		}
		var list freshet.SourceList
		list, err = a.store.ListSources(ctx, freshet.SourceQuery{SourceFilter: freshet.SourceFilter{In: state}, Limit: named})
		for _, w := range list.Sources {
			s := client.Source{NewSource: client.NewSource{ID: w.ID, Name: w.Name, URL: mask.URL(w.URL)}, Standing: standingOf(w)}
			if in[state] == 1 && len(s.Standing.Remedies) > 0 && s.Standing.Remedies[0].What != "poll" {
				found.helps[kind] = s.Standing.Remedies[0].Command
			}
			note(s)
		}
	}
	look(freshet.IsFailing, "failing", func(s client.Source) {
		if s.Standing.LastError != nil {
			found.failing = append(found.failing, fmt.Sprintf("%s (%s)", s.DisplayName(), s.Standing.LastError.Class))
		}
	})
	look(freshet.IsSuspect, "suspect", func(s client.Source) {
		if s.Standing.Suspect != nil {
			found.suspect = append(found.suspect, fmt.Sprintf("%s (%s)", s.DisplayName(), s.Standing.Suspect.Class))
		}
	})
	look(freshet.IsNoisy, "noisy", func(s client.Source) { found.noisy = append(found.noisy, s.DisplayName()) })
	look(freshet.IsMoved, "moved", func(s client.Source) { found.moved = append(found.moved, s) })
	return found, err
}

// attention returns the problems of sources.
func (s survey) attention() (all []client.Attention) {
	if s.Failing > 0 {
		all = append(all, client.Attention{Kind: "failing", Text: listed(s.Failing, "source is failing", "sources are failing", s.failing), Command: cmp.Or(s.helps["failing"], "freshet list --failing")})
	}
	if s.Suspect > 0 {
		all = append(all, client.Attention{Kind: "suspect", Text: listed(s.Suspect, "source probably returns the wrong page", "sources probably return the wrong page", s.suspect), Command: cmp.Or(s.helps["suspect"], "freshet list --suspect")})
	}
	for _, m := range s.moved {
		text, command := fmt.Sprintf("%s has moved to %s", m.DisplayName(), m.Standing.MovedTo), fmt.Sprintf("freshet edit %s --url %s", m.ID, m.Standing.MovedTo)
		all = append(all, client.Attention{Kind: "moved", Source: m.ID, Text: text, Command: command})
	}
	if s.Noisy > 0 {
		all = append(all, client.Attention{
			Kind: "noisy", Text: listed(s.Noisy, "source changes at almost every poll", "sources change at almost every poll", s.noisy), Command: cmp.Or(s.helps["noisy"], "freshet list --noisy"),
		})
	}
	return all
}

// listed counts things, and names the first of them.
func listed(n int, one, many string, first []string) string {
	what := many
	if n == 1 {
		what = one
	}
	more := ""
	if n > len(first) {
		more = fmt.Sprintf(" and %d more", n-len(first))
	}
	return fmt.Sprintf("%d %s: %s%s", n, what, strings.Join(first, ", "), more)
}

// soonFull is how many days before the disk is full the overview says so.
const soonFull = 14

// programAttention returns the problems of the program itself.
func programAttention(s client.Status) (all []client.Attention) {
	switch {
	case !s.Running && s.Loading == nil:
		all = append(all, client.Attention{Kind: "stopped", Text: "nothing is polled because no daemon is running", Command: "freshet serve"})
	case s.Trouble != "":
		all = append(all, client.Attention{Kind: "trouble", Text: "no changes can be captured: " + s.Trouble})
	}
	if d := s.Disk; d != nil && !d.Low && d.DaysLeft != nil && *d.DaysLeft < soonFull {
		all = append(all, client.Attention{
			Kind: "disk", Text: fmt.Sprintf("the disk will be full in about %.0f days, and polling will stop; keep less history with keep.age, keep.versions or keep.total", *d.DaysLeft), Command: "freshet check",
		})
	}
	for _, w := range s.Sinks {
		all = append(all, sinkAttention(w)...)
	}
	return all
}

// sinkAttention returns the problems of a sink.
func sinkAttention(w client.Sink) (all []client.Attention) {
	tell := func(command, format string, args ...any) {
		all = append(all, client.Attention{Kind: "webhook", Text: fmt.Sprintf(format, args...), Command: command})
	}
	show := "freshet sink show " + w.Name
	switch {
	case w.State == client.SinkBroken:
		tell(show, "sink %s cannot be used: %s", w.Name, w.Error)
	case w.State == client.SinkGone:
		tell(show, "sink %s answered 410 Gone; nothing is delivered to it", w.Name)
	case w.State == client.SinkHeld:
		tell(show, "sink %s has accepted nothing since %s and is held: %s", w.Name, w.Failing.Format(time.DateTime), w.Error)
	case w.Open > manyOwed && w.State != client.SinkPaused:
		tell(show, "%[2]d deliveries to sink %[1]s are waiting; its receiver may be down", w.Name, w.Open)
	}
	if w.Dead == 1 {
		tell("freshet sink letters "+w.Name, "1 delivery to sink %s was given up", w.Name)
	} else if w.Dead > 1 {
		tell("freshet sink letters "+w.Name, "%d deliveries to sink %s were given up", w.Dead, w.Name)
	}
	return all
}

// manyOwed is how many deliveries may be pending for a sink before the overview says so.
const manyOwed = 10

func (a *statusAPI) routeFlow() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-flow", Method: http.MethodGet, Path: "/api/v1/flow", Tags: []string{"program"},
		Summary:     "Show changes and polls over the last hours",
		Description: "In intervals of ten minutes, oldest first. Missed changes are estimated from the overall share that is captured.",
	}, a.getFlow)
}

type flowInput struct {
	Hours int `query:"hours" default:"24" minimum:"1" maximum:"24" doc:"How far back"`
}

const (
	flowStep = 10 * time.Minute
	flowSpan = 24 * time.Hour
	flowMost = 200_000 // outcomes that are counted for one look at most
)

func (a *statusAPI) getFlow(ctx context.Context, in *flowInput) (*rest.Body[client.Flow], error) {
	now := a.Now().UTC()
	known, err := a.flow.read(ctx, a.store, now)
	if err != nil {
		return nil, err
	}
	lost := 0.0 // changes that are missed for each that is captured
	brief, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	if n, err := a.daemon.Overall(brief); err == nil {
		if c := capturedOf(n.All); c.TooEarly == "" && c.Share.Mean > 0 {
			lost = 1/c.Share.Mean - 1
		}
	}
	f := client.Flow{Step: client.Duration(flowStep), Items: []client.Stretch{}}
	for at := now.Add(-time.Duration(in.Hours) * time.Hour).Truncate(flowStep).Add(flowStep); !at.After(now); at = at.Add(flowStep) {
		s := known[at]
		s.At, s.Missed = at, lost*float64(s.Changes)
		f.Items = append(f.Items, s)
	}
	return rest.Reply(f), nil
}

// A flow counts the outcomes of the last day. It is updated when it is read, so it costs nothing in
// between.
type flow struct {
	mu      sync.Mutex
	begun   bool
	at      freshet.Cursor // everything up to here is counted
	buckets map[time.Time]client.Stretch
}

// read counts what came since the last look, and returns a copy of the counts.
func (f *flow) read(ctx context.Context, log statusStore, now time.Time) (map[time.Time]client.Stretch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest := now.Add(-flowSpan)
	end, err := log.LastOutcome(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the log of outcomes: %w", err)
	}
	if !f.begun || end-f.at > flowMost { // nobody looked for long: only the last of it is counted
		f.begun, f.at, f.buckets = true, max(0, end-flowMost), map[time.Time]client.Stretch{}
	}
	counts, upto, err := log.CountOutcomes(ctx, f.at, oldest.Add(-flowStep), flowStep)
	if err != nil {
		return nil, fmt.Errorf("counting outcomes after %d: %w", f.at, err)
	}
	f.at = upto
	for _, c := range counts {
		s := f.buckets[c.At]
		s.Polls, s.Changes, s.Failed = s.Polls+c.Polls, s.Changes+c.Changed, s.Failed+c.Failed
		f.buckets[c.At] = s
	}
	recent := map[time.Time]client.Stretch{}
	for at, s := range f.buckets {
		if at.Before(oldest.Add(-flowStep)) {
			delete(f.buckets, at)
			continue
		}
		recent[at] = s
	}
	return recent, nil
}
