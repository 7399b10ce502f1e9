package queries

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"cel.dev/cel-go/common/types/ref"

	"freshet/internal/freshet"
)

// weigh holds a change against a query that remembers, and takes it into what the
// query remembers.
func (e *Engine) weigh(r *running, v *view, sure bool) (matches []Match) {
	c := v.event.Change
	plainFit := false
	var rec record
	var given, slots []ref.Val // arguments of the functions that look back, and the rest
	switch {
	case r.query.Window.Lasting > 0:
		return e.last(r, v, sure || r.fits(v))
	case len(r.backs) == 0:
		plainFit = sure || r.fits(v)
	default:
		r.tally.Tried++
		rec, given, slots = r.record(v)
	}
	for _, text := range r.groupsOf(v) {
		g := e.group(r, text)
		fits, at := plainFit, 0
		var with []named
		var on []int
		if len(r.backs) > 0 {
			one := rec
			one.args = slices.Clone(rec.args)
			at = g.insert(one)
			g.prime(v, at)
			with, on = r.lookBack(g, at, given)
			out, err := r.judge(v, with, slots)
			fits = r.truth(out, err)
		}
		switch {
		case r.query.Window.For > 0:
			matches = append(matches, e.hold(g, v, c.At(), c.Before, fits, with)...)
		case r.query.Window.Silent != (Silence{}):
			if fits {
				matches = append(matches, e.hear(g, v, c.At())...)
			}
		default:
			g.state.last = max(g.state.last, c.At().UnixNano())
			if fits {
				m := Match{Cause: MatchChange, At: c.At(), Known: c.Before, Source: c.Source, Changes: []freshet.ChangeRef{c.Ref()}, Group: r.groupName(g), Value: r.project(v, with)}
				if len(r.backs) > 0 {
					g.records[at].fired = true
					m.Changes = g.refs(on, at)
				}
				matches = append(matches, e.number(r, m))
			}
			matches = append(matches, e.rejudge(g, at, c.Before)...)
		}
		if len(g.records) > 0 {
			r.tally.Forgotten += int64(g.trim(r.keep))
		}
		e.touch(g)
	}
	return matches
}

// touch says that a group is to be saved.
func (e *Engine) touch(g *group) {
	g.changed = true
	g.of.changed[g] = true
}

// groupName returns the group for a match: nothing, if groups are sources.
func (r *running) groupName(g *group) string {
	if r.by.program == nil {
		return ""
	}
	return g.text
}

// record returns what is remembered of a change, with the arguments of the functions
// that look back and the other parts of the condition as they are now.
func (r *running) record(v *view) (rec record, given, slots []ref.Val) {
	c := v.event.Change
	rec = record{at: c.At().UnixNano(), ref: c.Ref()}
	for _, b := range r.backs {
		x := r.part(b.arg, v)
		given = append(given, x)
		rec.args = append(rec.args, remember(x))
	}
	for _, s := range r.slots {
		x := r.part(s, v)
		kept := remember(x)
		if kept.kind == 't' {
			x = kept.recall() // so that a long text equals one that is remembered
		}
		slots = append(slots, x)
		rec.slots = append(rec.slots, kept)
	}
	return rec, given, slots
}

// part evaluates a part of a condition.
func (r *running) part(x expression, v *view) ref.Val {
	if x.program == nil {
		return errUnknown
	}
	out, err := x.eval(v)
	if errors.Is(err, errCostly) {
		r.tally.Costly++
	}
	if err != nil {
		return errUnknown
	}
	return out
}

// lookBack returns what the functions that look back come to for a record, and on
// which other records that rests. Without arguments, what was seen is not looked at
// anew: it is as it was then.
func (r *running) lookBack(g *group, at int, given []ref.Val) (with []named, on []int) {
	for i, b := range r.backs {
		var result ref.Val
		switch {
		case b.recorded():
			var some []int
			result, some = b.look(g.records, at, i)
			on = append(on, some...)
		case given != nil:
			result = g.firstSeen(i, b, given[i], g.records[at].at, maxElements)
			g.records[at].args[i] = remember(result)
		default:
			result = g.records[at].args[i].recall()
		}
		with = append(with, named{standIn("back", i), result})
	}
	return with, on
}

// judge evaluates a condition that looks back.
func (r *running) judge(v *view, with []named, slots []ref.Val) (ref.Val, error) {
	all := append(slices.Clone(with), r.rest.with...)
	for i, x := range slots {
		all = append(all, named{standIn("slot", i), x})
	}
	return expression{r.rest.program, all}.eval(v)
}

// rejudge looks at changes again that happened after one that came late. It returns
// those that match now.
func (e *Engine) rejudge(g *group, late int, known time.Time) (matches []Match) {
	r := g.of
	nothing := &view{event: &Event{}}
	for i := late + 1; i < len(g.records); i++ {
		rec := &g.records[i]
		if r.keep > 0 && rec.at-g.records[late].at >= int64(r.keep) {
			break
		}
		if rec.fired {
			continue
		}
		with, on := r.lookBack(g, i, nil)
		var slots []ref.Val
		for _, kept := range rec.slots {
			slots = append(slots, kept.recall())
		}
		if out, err := r.judge(nothing, with, slots); !r.truth(out, err) {
			continue
		}
		rec.fired = true
		g.touch(rec.nth)
		matches = append(matches, e.number(r, Match{
			Cause: MatchChange, At: time.Unix(0, rec.at).UTC(), Known: known, Source: rec.ref.Source, Changes: g.refs(on, i), Group: r.groupName(g),
		}))
	}
	return matches
}

// refs returns the names of the changes that a match rests on, its own last.
func (g *group) refs(on []int, own int) (refs []freshet.ChangeRef) {
	slices.Sort(on)
	on = slices.DeleteFunc(slices.Compact(on), func(i int) bool { return i == own })
	for _, i := range on[max(0, len(on)-maxRefs):] {
		refs = append(refs, g.records[i].ref)
	}
	return append(refs, g.records[own].ref)
}

// hold takes in whether a condition holds that must do so for some time.
func (e *Engine) hold(g *group, v *view, at, known time.Time, fits bool, with []named) (matches []Match) {
	s, t := &g.state, at.UnixNano()
	if t < s.last {
		return nil // what came after it is known already
	}
	if s.due != 0 && s.due <= t {
		due := s.due
		e.schedule(g, 0)
		matches = append(matches, e.overdue(g, due, known))
	}
	s.last = t
	e.touch(g)
	if !fits {
		s.holds, s.fired, s.value = false, false, nil
		e.schedule(g, 0)
		return matches
	}
	if s.holds {
		return matches
	}
	s.holds, s.since, s.fired = true, t, false
	g.source, g.ref = v.event.Subject.ID, freshet.ChangeRef{}
	if v.event.Change != nil {
		g.ref = v.event.Change.Ref()
	}
	if x := g.of.project(v, with); x != nil {
		s.value, _ = json.Marshal(x)
	}
	e.schedule(g, t+int64(g.of.query.Window.For))
	return matches
}

// last takes in a change of a query about changes that last: it matches unless it is taken back before that. A
// group stands for a source with such a change.
func (e *Engine) last(r *running, v *view, fits bool) (matches []Match) {
	c := v.event.Change
	seen := c.Before.UnixNano()
	g := r.holding(v)
	if g != nil && g.state.due <= seen {
		matches, g = append(matches, e.overdue(g, g.state.due, c.Before)), nil
	}
	switch {
	case g != nil && (c.To.String() == g.was || g.values != "" && g.values == r.valuesOf(v.event.Content.Now)):
		e.dropGroup(r, g)
		return matches
	case !fits:
		return matches
	case g == nil:
		g = e.group(r, string(v.event.Subject.ID))
		g.was, g.values, g.source = c.From.String(), r.valuesOf(v.event.Content.Before), v.event.Subject.ID
		e.schedule(g, seen+int64(r.query.Window.Lasting))
	}
	g.ref, g.state.last, g.state.value = c.Ref(), seen, nil
	if x := r.project(v, nil); x != nil {
		g.state.value, _ = json.Marshal(x)
	}
	e.touch(g)
	return matches
}

// valuesOf returns the values that a change which has to last is about, as text; "" if it is about all of the page.
func (r *running) valuesOf(all freshet.Fields) string {
	if len(r.values) == 0 {
		return ""
	}
	some := map[string]any{}
	for _, name := range r.values {
		some[name] = all[name]
	}
	text, err := json.Marshal(some)
	if err != nil { // a number that JSON does not have
		return ""
	}
	return string(text)
}

// hear takes in a change that ends a silence.
func (e *Engine) hear(g *group, v *view, at time.Time) (matches []Match) {
	s, t := &g.state, at.UnixNano()
	if s.due != 0 && s.due <= t {
		due := s.due
		e.schedule(g, 0)
		matches = append(matches, e.overdue(g, due, at))
	}
	if t < s.last {
		return matches
	}
	if s.last != 0 && t > s.last && s.holds {
		s.gaps = append(s.gaps, t-s.last)
		s.gaps = s.gaps[max(0, len(s.gaps)-maxGaps):]
	}
	s.last, s.holds, s.fired = t, true, false
	g.source, g.ref = v.event.Subject.ID, v.event.Change.Ref()
	e.schedule(g, s.dueAfter(g.of.query.Window.Silent))
	return matches
}

// overdue returns the match of something that was due.
func (e *Engine) overdue(g *group, due int64, now time.Time) Match {
	g.state.fired = true
	e.touch(g)
	m := Match{Cause: MatchHeld, At: time.Unix(0, due).UTC(), Known: now, Source: g.source, Group: g.of.groupName(g)}
	if g.of.query.Window.Silent != (Silence{}) {
		m.Cause = MatchSilent
	}
	if g.ref != (freshet.ChangeRef{}) {
		m.Changes = []freshet.ChangeRef{g.ref}
	}
	if len(g.state.value) > 0 {
		if err := json.Unmarshal(g.state.value, &m.Value); err != nil {
			m.Value = nil // it has been checked when it was restored
		}
	}
	if g.of.query.Window.Lasting > 0 {
		e.dropGroup(g.of, g)
	}
	return e.number(g.of, m)
}

// tellPoll tells the queries that look at polls how one ended.
func (e *Engine) tellPoll(v *view) (matches []Match) {
	var found []*entry
	e.index.inScope(&v.event.Subject, func(s *scoped) {
		for _, x := range s.polls {
			if x.found != e.search {
				x.found = e.search
				found = append(found, x)
			}
		}
	})
	slices.SortFunc(found, func(a, b *entry) int {
		if a.query.ID < b.query.ID {
			return -1
		}
		return 1
	})
	for _, x := range found {
		r := e.queries[x.query.ID]
		switch {
		case r.polls:
			matches = append(matches, e.weighPoll(r, v)...)
		case r.looks:
			matches = append(matches, e.lookAtPoll(r, v)...)
		default:
			e.startSilence(r, v)
		}
	}
	return matches
}

// startSilence begins to listen for changes of a source that has had none so far.
func (e *Engine) startSilence(r *running, v *view) {
	if r.all || r.by.program != nil || !v.event.Outcome.Result.Seen() {
		return
	}
	g := e.group(r, string(v.event.Subject.ID))
	if g.state.last != 0 {
		return
	}
	g.state.last = v.event.Outcome.Ended.UnixNano()
	g.source = v.event.Subject.ID
	e.schedule(g, g.state.dueAfter(r.query.Window.Silent))
	e.touch(g)
}

// weighPoll holds a poll against a query. It matches when the condition becomes true.
func (e *Engine) weighPoll(r *running, v *view) (matches []Match) {
	o := v.event.Outcome
	g := e.group(r, string(v.event.Subject.ID))
	if o.Result == freshet.Failed {
		g.state.failures++
	} else {
		g.state.failures = 0
	}
	v.failures = int(g.state.failures)
	fits := r.fits(v)
	e.touch(g)
	if r.query.Window.For > 0 {
		return e.hold(g, v, o.Ended, o.Ended, fits, nil)
	}
	began := fits && (!g.state.holds || r.query.Trigger == Each || r.query.Trigger == Poll)
	g.state.holds, g.state.last = fits, o.Ended.UnixNano()
	if !began {
		return nil
	}
	return []Match{e.pollMatch(r, v)}
}
