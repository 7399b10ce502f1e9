package torture

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// A chronicle is all that the daemon ever told anybody: what it said once must
// stay so.
type chronicle struct {
	mu       sync.Mutex
	changes  map[freshet.Place]told
	versions map[freshet.SourceID]map[int]shown
	ids      map[string]told           // of events; never forgotten, whatever is restored
	highest  map[freshet.SourceID]int  // numbers ever shown, of versions purged since
	purges   map[freshet.SourceID]int  // how often a source was purged
	gaps     map[freshet.SourceID]bool // its numbers have gaps
	problems []string
}

// A told is what never changes about a change, however often it is told.
type told struct {
	source        freshet.SourceID
	seq, number   int
	from, to      string
	after, before time.Time
	summary       string
}

// A shown is a version that the API has shown.
type shown struct {
	hash    string
	edition int // of its page, once its bytes were compared with it
}

func newChronicle() *chronicle {
	return &chronicle{
		changes: map[freshet.Place]told{}, versions: map[freshet.SourceID]map[int]shown{}, ids: map[string]told{},
		highest: map[freshet.SourceID]int{}, purges: map[freshet.SourceID]int{}, gaps: map[freshet.SourceID]bool{},
	}
}

func toldOf(c client.Change) told {
	return told{c.Source, c.Seq, c.Number, c.From, c.To, c.After, c.Before, c.Summary}
}

// change notes a change of the log, and complains if it was another one before.
func (c *chronicle) change(ch client.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := toldOf(ch)
	if before, ok := c.changes[ch.Cursor]; ok && before != now {
		c.problems = append(c.problems, fmt.Sprintf("the change at cursor %v was %+v and is now %+v", ch.Cursor, before, now))
	}
	c.changes[ch.Cursor] = now
}

// event notes an event, and complains if its id meant another change before.
func (c *chronicle) event(e client.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := toldOf(e.Data)
	if before, ok := c.ids[e.ID]; ok && before != now {
		c.problems = append(c.problems, fmt.Sprintf("the event %s told of %+v and now tells of %+v", e.ID, before, now))
	}
	c.ids[e.ID] = now
}

// purgesOf returns how often a source was purged. Whoever reads versions asks
// before and hands it in with them: what was read before a purge is not noted
// after it.
func (c *chronicle) purgesOf(id freshet.SourceID) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.purges[id]
}

// show notes versions that the API has shown.
func (c *chronicle) show(id freshet.SourceID, purges int, versions []client.Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if purges != c.purges[id] {
		return
	}
	if c.versions[id] == nil {
		c.versions[id] = map[int]shown{}
	}
	for _, v := range versions {
		if v.Quiet == freshet.QuietSuspect {
			continue // only the newest of these are kept
		}
		known, ok := c.versions[id][v.Number]
		if ok && known.hash != v.Hash {
			c.problems = append(c.problems, fmt.Sprintf("version %d of %s was shown as %s and is now %s", v.Number, id, known.hash, v.Hash))
		}
		if v.Number <= c.highest[id] {
			c.problems = append(c.problems, fmt.Sprintf("version %d of %s was purged, and its number is given again", v.Number, id))
		}
		known.hash = v.Hash
		c.versions[id][v.Number] = known
	}
}

// edition notes which edition of its page a version was found to be, and returns
// false if an older version was a newer one, with that.
func (c *chronicle) edition(id freshet.SourceID, number, edition int) (before int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, known := c.versions[id][number]; known {
		v.edition = edition
		c.versions[id][number] = v
	}
	for n, v := range c.versions[id] {
		if n < number && v.edition >= edition {
			return v.edition, false
		}
	}
	return 0, true
}

// held notes whether suspect versions of a source have been shown. Of those only the
// newest few are kept, so its numbers have gaps from then on.
func (c *chronicle) held(id freshet.SourceID, versions []client.Version) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(versions, func(v client.Version) bool { return v.Quiet == freshet.QuietSuspect }) {
		c.gaps[id] = true
	}
	return c.gaps[id]
}

// purge forgets a source's history.
func (c *chronicle) purge(id freshet.SourceID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.versions[id] {
		c.highest[id] = max(c.highest[id], n)
	}
	c.purges[id]++
	delete(c.versions, id)
	maps.DeleteFunc(c.changes, func(_ freshet.Place, t told) bool { return t.source == id })
}

// known returns the versions of a source that were shown.
func (c *chronicle) known(id freshet.SourceID) map[int]shown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.versions[id])
}

// log returns the changes that were told.
func (c *chronicle) log() map[freshet.Place]told {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.changes)
}

// take returns what was told in two ways since it was last called.
func (c *chronicle) take() (problems []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems, c.problems = c.problems, nil
	return problems
}

// copy returns what the chronicle knows, to go back to when a backup is
// restored. What ids meant is not gone back on.
func (c *chronicle) copy() *chronicle {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := newChronicle()
	to.changes = maps.Clone(c.changes)
	to.highest = maps.Clone(c.highest)
	for id, versions := range c.versions {
		to.versions[id] = maps.Clone(versions)
	}
	return to
}

// restore goes back to a copy.
func (c *chronicle) restore(from *chronicle) {
	from = from.copy()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes, c.versions, c.highest = from.changes, from.versions, from.highest
}
