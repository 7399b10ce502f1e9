package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// An editor adds, changes, pauses, removes, purges and adds again sources over
// the API, and remembers what it was told. An edit that was not answered, because
// the daemon died or could not write, may or may not have been made.
type editor struct {
	web       *web
	chronicle *chronicle
	chance    *rand.Rand // of the goroutine that edits
	ids       []freshet.SourceID
	pages     []freshet.SourceID

	mu       sync.Mutex // held during an edit, and by checks
	guests   map[freshet.SourceID]*guest
	problems []string
	edits    int
	done     bool // no more are to be made
}

// A guest is what is known of a source that comes and goes.
type guest struct {
	is       standing
	may      *standing // what it is if the last edit was made, which is not known
	mayPurge bool      // that edit was a purge
	pages    []freshet.SourceID
	changed  time.Time // when the last edit was answered
}

// A standing is what a guest is at a moment.
type standing struct {
	watched bool
	page    freshet.SourceID
	name    string
	paused  bool
}

func newEditor(w *web, c *chronicle, chance *rand.Rand) *editor {
	e := &editor{web: w, chronicle: c, chance: chance, guests: map[freshet.SourceID]*guest{}}
	e.ids, e.pages = addable()
	for _, id := range e.ids {
		e.guests[id] = &guest{}
	}
	return e
}

// run edits until ctx is done.
func (e *editor) run(ctx context.Context, api *client.Client) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(20+e.chance.IntN(80)) * time.Millisecond):
		}
		e.mu.Lock()
		if !e.done {
			e.edit(ctx, api)
		}
		e.mu.Unlock()
	}
}

// edit makes one edit.
func (e *editor) edit(ctx context.Context, api *client.Client) {
	id := e.ids[e.chance.IntN(len(e.ids))]
	page, name, dice := e.pages[e.chance.IntN(len(e.pages))], fmt.Sprintf("name %d", e.chance.IntN(1000)), e.chance.IntN(12)
	g := e.guests[id]
	if g.may != nil {
		return // not before it is known what it is
	}
	next, purge := g.is, false
	var act func() error
	url := e.web.pageURL(page, id)
	switch {
	case !g.is.watched:
		next = standing{watched: true, page: page, name: name}
		act = func() error {
			_, err := api.Sources.Add(ctx, client.NewSource{ID: id, URL: url, Name: name})
			return err
		}
	case dice < 4:
		next.name = name
		act = func() error { _, err := api.Sources.Edit(ctx, id, client.Patch{"name": name}, 0); return err }
	case dice < 6:
		next.page = page
		act = func() error { _, err := api.Sources.Edit(ctx, id, client.Patch{"url": url}, 0); return err }
	case dice < 9:
		next.paused = !next.paused
		act = func() error { _, err := api.Sources.Edit(ctx, id, client.Patch{"paused": next.paused}, 0); return err }
	default:
		purge = dice == 11
		next = standing{}
		act = func() error { return api.Sources.Remove(ctx, id, purge) }
	}
	if next.watched {
		g.pages = append(g.pages, next.page)
	}
	e.edits++
	e.conclude(id, g, next, purge, act())
}

// conclude notes what became of an edit.
func (e *editor) conclude(id freshet.SourceID, g *guest, next standing, purge bool, err error) {
	g.changed = time.Now()
	problem, refused := errors.AsType[*client.Problem](err)
	switch {
	case err == nil:
		g.is = next
		if purge {
			e.chronicle.purge(id)
		}
	case refused && problem.Status < 500:
		e.problems = append(e.problems, fmt.Sprintf("an edit of %s from %+v to %+v is refused: %d %v", id, g.is, next, problem.Status, err))
	default:
		g.may, g.mayPurge = &next, purge
	}
}

// take returns what was wrong with edits since it was last called.
func (e *editor) take() (problems []string) {
	problems, e.problems = e.problems, nil
	return problems
}
