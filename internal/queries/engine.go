package queries

import (
	"container/heap"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// An Engine runs queries. It is not for use by several goroutines at once.
type Engine struct {
	forge   *forge
	index   *index
	queries map[ID]*running
	numbers map[ID]int64 // of the last match of each query that ever was
	queue   queue
	search  uint64

	changes, outcomes freshet.Cursor // up to which it has read
	moved             bool           // since that was saved
	counted           map[ID]bool    // whose numbers are to be saved
	gone              []State        // to be deleted
}

// A running query is one with what it remembers.
type running struct {
	*entry
	tally   Tally
	changed map[*group]bool
}

// A Tally counts what became of a query since the engine began.
type Tally struct {
	Tried     int64 // changes and polls that it was held against one by one
	Matches   int64
	Missing   int64 // of those tried, where a value was not there or not of the type that was asked for
	Costly    int64 // where the condition cost too much
	Forgotten int64 // of what it should remember, because it was too much
}

// NewEngine returns an engine without queries.
func NewEngine() (*Engine, error) {
	f, err := newForge()
	return newEngine(f), err
}

func newEngine(f *forge) *Engine {
	return &Engine{forge: f, index: newIndex(), queries: map[ID]*running{}, numbers: map[ID]int64{}, counted: map[ID]bool{}}
}

// Put adds a query, or takes over an edit of it. The query has been through Check. An
// edit of what is looked for begins anew, but for the numbers of the matches. If the
// query cannot be run, the error says why, and the one before it stays.
func (e *Engine) Put(q Query) error {
	p, err := e.forge.plan(q)
	if err != nil {
		return err
	}
	e.install(p)
	return nil
}

// install puts a plan in the place of the one before.
func (e *Engine) install(p *plan) {
	q := p.query
	old := e.queries[q.ID]
	r := &running{entry: &entry{plan: p, groups: map[string]*group{}}, changed: map[*group]bool{}}
	if old != nil {
		if !old.query.Paused {
			e.index.remove(old.entry)
		}
		e.forge.release(old.plan)
		r.tally = old.tally
		if old.fingerprint() == p.fingerprint() && !(p.edge && q.Paused) { // what happens meanwhile is not seen
			r.groups, r.changed = old.groups, old.changed
			for _, g := range r.groups {
				g.of = r
			}
		} else {
			e.empty(old)
		}
	}
	e.queries[q.ID] = r
	e.numbers[q.ID] = max(e.numbers[q.ID], q.Last)
	if !q.Paused {
		e.index.put(r.entry)
	}
}

// Remove takes a query out. What it remembers is forgotten, except for the number of
// its last match: if it is put again, it goes on from there.
func (e *Engine) Remove(id ID) {
	r := e.queries[id]
	if r == nil {
		return
	}
	if !r.query.Paused {
		e.index.remove(r.entry)
	}
	e.forge.release(r.plan)
	e.empty(r)
	delete(e.queries, id)
}

// empty forgets all groups of a query.
func (e *Engine) empty(r *running) {
	for _, g := range r.groups {
		e.dropGroup(r, g)
	}
}

// Needs returns what must be loaded for an event of a source.
func (e *Engine) Needs(s Subject) (n Need) {
	e.index.inScope(&s, func(s *scoped) { n |= s.need() })
	return n
}

// looks returns what must be loaded of the version that a poll saw.
func (e *Engine) looks(event Event) (n Need) {
	if o := event.Outcome; o == nil || !o.Result.Seen() || o.Version == 0 || event.suspect() {
		return 0
	}
	v := &view{event: &event}
	e.index.inScope(&event.Subject, func(s *scoped) {
		for _, x := range s.polls {
			if x.looks && (!x.edge || x.holding(v) == nil) {
				n |= x.need
			}
		}
	})
	return n
}

// Upto returns the places in the log of changes and in the log of outcomes up to which the engine
// has read. It skips what it is given again.
func (e *Engine) Upto() (changes, outcomes freshet.Cursor) { return e.changes, e.outcomes }

// Tally returns what became of a query.
func (e *Engine) Tally(id ID) Tally {
	if r := e.queries[id]; r != nil {
		return r.tally
	}
	return Tally{}
}

// Observe evaluates the queries over an event and returns the matches, in the order of the queries' IDs.
func (e *Engine) Observe(event Event) (matches []Match) {
	v := &view{event: &event}
	e.search++
	if event.Outcome != nil {
		if event.Outcome.Cursor != 0 && event.Outcome.Cursor <= e.outcomes {
			return nil
		}
		e.outcomes, e.moved = max(e.outcomes, event.Outcome.Cursor), true
		return e.tellPoll(v)
	}
	if event.Change.Cursor != 0 && event.Change.Cursor <= e.changes {
		return nil
	}
	e.changes, e.moved = max(e.changes, event.Change.Cursor), true
	for _, c := range e.index.candidates(v, e.search) {
		r := e.queries[c.query.ID]
		if r.edge {
			matches = append(matches, e.become(r, v, c.sure)...)
		} else if r.remembers() {
			matches = append(matches, e.weigh(r, v, c.sure)...)
		} else if c.sure || r.fits(v) {
			matches = append(matches, e.plainMatch(r, v))
		}
	}
	return matches
}

// fits evaluates a condition that does not look back.
func (r *running) fits(v *view) bool {
	r.tally.Tried++
	if r.when.program == nil {
		return true
	}
	out, err := r.when.eval(v)
	return r.truth(out, err)
}

// truth returns what a condition came to. What has no value is not true.
func (r *running) truth(out ref.Val, err error) bool {
	if errors.Is(err, errCostly) {
		r.tally.Costly++
		return false
	}
	yes, ok := out.(types.Bool)
	if err != nil || !ok {
		r.tally.Missing++
		return false
	}
	return bool(yes)
}

// plainMatch returns the match of a change by itself.
func (e *Engine) plainMatch(r *running, v *view) Match {
	c := v.event.Change
	m := Match{Cause: MatchChange, At: c.At(), Known: c.Before, Source: c.Source, Changes: []freshet.ChangeRef{c.Ref()}, Value: r.project(v, nil)}
	return e.number(r, m)
}

// pollMatch returns the match of a poll.
func (e *Engine) pollMatch(r *running, v *view) Match {
	o := v.event.Outcome
	return e.number(r, Match{Cause: MatchPoll, At: o.Ended, Known: o.Ended, Source: v.event.Subject.ID, Value: r.project(v, nil)})
}

// project returns the value of a match.
func (r *running) project(v *view, with []named) any {
	if r.value.program == nil {
		return nil
	}
	out, err := expression{r.value.program, append(with, r.value.with...)}.eval(v)
	if err != nil {
		r.truth(nil, err)
		return nil
	}
	return plainOf(out, 0)
}

// number gives a match its number.
func (e *Engine) number(r *running, m Match) Match {
	id := r.query.ID
	e.numbers[id]++
	e.counted[id] = true
	r.tally.Matches++
	m.Query, m.Number = id, e.numbers[id]
	return m
}

// groupsOf returns what the event is counted under.
func (r *running) groupsOf(v *view) []string {
	if r.all {
		return []string{""}
	}
	if r.by.program == nil {
		return []string{string(v.event.Subject.ID)}
	}
	out, err := r.by.eval(v)
	if err != nil {
		r.truth(nil, err)
		return nil
	}
	if list, ok := out.(traits.Lister); ok {
		var texts []string
		size, _ := list.Size().(types.Int)
		for i := range min(size, 32) {
			texts = append(texts, groupText(list.Get(i)))
		}
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	return []string{groupText(out)}
}

func groupText(v ref.Val) string {
	text, ok := plainOf(v, 0).(string)
	if !ok {
		b, _ := json.Marshal(plainOf(v, 0))
		text = string(b)
	}
	return mask.Shorten(strings.ToValidUTF8(text, "\uFFFD"), 500)
}

// maxGroups is how many groups a query remembers.
const maxGroups = 10_000

// group returns the group with a text.
func (e *Engine) group(r *running, text string) *group {
	hash := groupHash(text)
	g := r.groups[hash]
	if g == nil {
		if len(r.groups) >= maxGroups {
			e.sweep(r)
		}
		g = newGroup(r, hash, text)
		r.groups[hash] = g
	}
	return g
}

func newGroup(r *running, hash, text string) *group {
	g := &group{of: r, text: text, hash: hash, pages: map[int64]bool{}, seen: map[int]*seen{}, position: -1}
	for i, b := range r.backs {
		if !b.recorded() {
			g.seen[i] = newSeen()
		}
	}
	return g
}

// sweep forgets the groups that have not been heard of for the longest time.
func (e *Engine) sweep(r *running) {
	all := make([]*group, 0, len(r.groups))
	for _, g := range r.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int {
		if a.state.last != b.state.last {
			return int(min(1, max(-1, a.state.last-b.state.last)))
		}
		return strings.Compare(a.hash, b.hash)
	})
	for _, g := range all[:maxGroups/10] {
		r.tally.Forgotten++
		e.dropGroup(r, g)
	}
}

// dropGroup forgets a group.
func (e *Engine) dropGroup(r *running, g *group) {
	if g.position >= 0 {
		heap.Remove(&e.queue, g.position)
	}
	delete(r.groups, g.hash)
	delete(r.changed, g)
	e.gone = append(e.gone, g.keys()...)
}

// schedule says when something is due in a group; zero means never.
func (e *Engine) schedule(g *group, due int64) {
	g.state.due = due
	switch {
	case due == 0 && g.position >= 0:
		heap.Remove(&e.queue, g.position)
	case due != 0 && g.position >= 0:
		heap.Fix(&e.queue, g.position)
	case due != 0:
		heap.Push(&e.queue, g)
	}
}

// Due returns when [Engine.Tick] is to be called, if no event comes before.
func (e *Engine) Due() (time.Time, bool) {
	if len(e.queue) == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, e.queue[0].state.due).UTC(), true
}

// Tick advances the time of the engine, which has read all events before it. It returns the
// matches that were due.
func (e *Engine) Tick(now time.Time) (matches []Match) {
	for len(e.queue) > 0 && e.queue[0].state.due <= now.UnixNano() {
		g := e.queue[0]
		due := g.state.due
		e.schedule(g, 0)
		matches = append(matches, e.overdue(g, due, now))
	}
	return matches
}

// Begin says that the engine goes on after these places in the logs.
func (e *Engine) Begin(changes, outcomes freshet.Cursor) {
	e.changes, e.outcomes, e.moved = changes, outcomes, true
}

// Skip moves to these places: no query looks at what lies before them. They need not be saved:
// events that are read again from an earlier place match nothing.
func (e *Engine) Skip(changes, outcomes freshet.Cursor) { e.changes, e.outcomes = changes, outcomes }

// Len returns how many queries there are.
func (e *Engine) Len() int { return len(e.queries) }

// NeedsPolls reports whether any query looks at polls.
func (e *Engine) NeedsPolls() bool {
	for _, r := range e.queries {
		if r.readsPolls() && !r.query.Paused {
			return true
		}
	}
	return false
}

// Adopt takes a query over from another engine, with its state there. Both must have read the same
// events.
func (e *Engine) Adopt(other *Engine, id ID) error {
	from := other.queries[id]
	if from == nil {
		return nil
	}
	if err := e.Put(from.query); err != nil {
		return err
	}
	r := e.queries[id]
	r.tally = from.tally
	e.numbers[id] = max(e.numbers[id], other.numbers[id])
	r.groups, r.changed = from.groups, from.changed
	from.groups = map[string]*group{}
	for _, g := range r.groups {
		g.of = r
		if g.position >= 0 {
			heap.Remove(&other.queue, g.position)
			heap.Push(&e.queue, g)
		}
	}
	other.Remove(id)
	return nil
}
