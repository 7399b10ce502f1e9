package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
)

// A Synced counts what a Sync did.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync makes the sources that come from the configuration file those listed.
// One that is no longer listed is removed, and its history kept. One that was
// added otherwise and is now listed becomes the file's.
//
// Sources can be edited meanwhile. An edit or a removal after Sync has
// begun takes precedence.
func (e *editor) Sync(ctx context.Context, listed freshet.PackedSources) (done Synced, err error) {
	e.syncing.Lock()
	defer e.syncing.Unlock()
	have, err := e.index(ctx)
	if err != nil {
		return done, err
	}
	var steps []step
	taken := make(map[freshet.SourceID]bool, listed.Len())
	for i, s := range listed.All() {
		id := s.ID
		is, ok := have.byID[id]
		if !ok || id == "" {
			if id, ok = have.byKey[sourceKey(s)]; ok {
				is = have.byID[id]
			}
		}
		if !ok {
			taken[s.ID] = true
			steps = append(steps, step{kind: toAdd, place: i, id: s.ID})
			continue
		}
		taken[id] = true
		st := step{kind: toAlter, place: i, id: id, created: is.created, revision: is.revision}
		if is.state == stateOf(st.source(s)) {
			done.Kept++
			continue
		}
		steps = append(steps, st)
	}
	e.loading.begin(steps, done.Kept, listed.Len(), e.log)
	defer e.loading.end()
	did, err := e.perform(ctx, listed, steps, taken)
	done.Added, done.Changed, done.Kept = did.Added, did.Changed, done.Kept+did.Kept
	if err != nil {
		return done, err
	}
	steps = nil
	for id, is := range have.byID {
		if is.fromFile && !taken[id] {
			steps = append(steps, step{kind: toRemove, id: id})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.id, b.id) })
	did, err = e.perform(ctx, listed, steps, taken)
	done.Removed = did.Removed
	return done, err
}

// A stepKind is what a step does to a source.
type stepKind int

const (
	toAdd    stepKind = iota
	toAlter           // make it what the list says
	toRemove          // it is no longer listed
)

// A step adds, alters or removes one source.
type step struct {
	kind     stepKind
	place    int              // in the list, unless it is removed
	id       freshet.SourceID // of the source that there is, or of the listed one
	created  time.Time
	revision int64
}

// from returns the source as the step leaves it.
func (st *step) from(listed freshet.PackedSources) freshet.Source {
	if st.kind == toRemove {
		return freshet.Source{ID: st.id}
	}
	return st.source(listed.At(st.place))
}

// source returns a listed source as the step leaves it.
func (st *step) source(s freshet.Source) freshet.Source {
	s.Origin, s.ID = freshet.FromFile, st.id
	if st.kind == toAlter {
		s.Created, s.Revision = st.created, st.revision
	}
	return s
}

// perform makes all steps, many in a transaction. Those that are in each other's
// way, because one takes the URL that another gives up, are tried again one by
// one for as long as that helps.
func (e *editor) perform(ctx context.Context, listed freshet.PackedSources, steps []step, taken map[freshet.SourceID]bool) (done Synced, err error) {
	failed := map[int]error{} // in conflict, by place
	for from := 0; from < len(steps); {
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		to := from + 1
		for to < len(steps) && to-from < MostAtOnce && steps[to].kind == steps[from].kind {
			to++
		}
		errs, err := e.together(ctx, listed, steps[from:to])
		if err != nil {
			return done, fmt.Errorf("sources %s to %s: %w", steps[from].name(listed), steps[to-1].name(listed), err)
		}
		for i, err := range errs {
			did, err := e.outcome(&steps[from+i], err)
			if done.add(did); err != nil {
				failed[from+i] = err
			}
		}
		from = to
	}
	return done, e.settleAll(ctx, listed, steps, failed, taken, &done)
}

// settleAll tries the failed steps again that are in conflict with another source.
func (e *editor) settleAll(ctx context.Context, listed freshet.PackedSources, steps []step, failed map[int]error, taken map[freshet.SourceID]bool, done *Synced) error {
	var left []int
	for i := range failed {
		left = append(left, i)
	}
	slices.Sort(left)
	for settled := true; settled; {
		settled = false
		left = slices.DeleteFunc(left, func(i int) bool {
			if !errors.Is(failed[i], freshet.ErrConflict) {
				return false
			}
			var did Synced
			if did, failed[i] = e.settle(ctx, listed, steps[i], taken); failed[i] != nil {
				return false
			}
			done.add(did)
			settled = true
			return true
		})
	}
	if len(left) > 0 {
		return fmt.Errorf("source %s: %w", steps[left[0]].name(listed), failed[left[0]])
	}
	return nil
}

// name returns what to call the source of a step in a message.
func (st *step) name(listed freshet.PackedSources) string {
	return cmp.Or(st.from(listed).URL, string(st.id))
}

// together makes steps of one kind in one transaction, as far as they are about no site, and
// returns the error of each. A source that was removed before it was there gets errDropped.
func (e *editor) together(ctx context.Context, listed freshet.PackedSources, steps []step) (errs []error, err error) {
	errs = make([]error, len(steps))
	var list []freshet.Source
	var places []int
	for i := range steps {
		st := &steps[i]
		s := st.from(listed)
		switch {
		case st.kind == toAdd && !e.loading.claim(s.ID):
			errs[i] = errDropped
		case st.kind != toAdd && (s.Site != nil || e.sites.has(s.ID)):
			errs[i] = e.alone(ctx, st.kind, s)
		default:
			list, places = append(list, s), append(places, i)
		}
	}
	refused, err := e.many(ctx, steps[0].kind, list)
	for i, place := range places {
		if err == nil {
			errs[place] = refused[i]
		}
		if steps[place].kind == toAdd {
			e.loading.added(list[i].ID, err == nil && refused[i] == nil)
		}
	}
	e.loading.step(len(steps))
	return errs, err
}

// many makes edits of one kind in one transaction.
func (e *editor) many(ctx context.Context, kind stepKind, list []freshet.Source) (refused []error, err error) {
	switch kind {
	case toAdd:
		_, refused, err = e.AddSources(ctx, list)
	case toAlter:
		refused, err = e.UpdateSources(ctx, list)
	case toRemove:
		ids := make([]freshet.SourceID, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		refused, err = e.RemoveSources(ctx, ids)
	}
	return refused, err
}

// alone makes one edit by itself.
func (e *editor) alone(ctx context.Context, kind stepKind, s freshet.Source) (err error) {
	switch kind {
	case toAdd:
		_, err = e.AddSource(ctx, s)
	case toAlter:
		_, err = e.UpdateSource(ctx, s)
	case toRemove:
		err = e.RemoveSource(ctx, s.ID, false)
	}
	return err
}

// errDropped says that a source was removed before it was added.
var errDropped = errors.New("removed before it was added")

// outcome returns what a step did, or its error. A source that was edited or removed since the
// list was compared with the store stays as it is.
func (e *editor) outcome(st *step, err error) (Synced, error) {
	switch {
	case st.kind == toAdd && errors.Is(err, errDropped):
		return Synced{}, nil
	case st.kind == toAlter && (errors.Is(err, freshet.ErrStale) || errors.Is(err, freshet.ErrNotFound)):
		e.log.Info("a source of the configuration file was edited just now and stays as edited", "source", st.id, "why", err)
		return Synced{Kept: 1}, nil
	case st.kind == toRemove && errors.Is(err, freshet.ErrNotFound):
		return Synced{Removed: 1}, nil
	case err != nil:
		return Synced{}, err
	}
	return [...]Synced{toAdd: {Added: 1}, toAlter: {Changed: 1}, toRemove: {Removed: 1}}[st.kind], nil
}

// settle makes a step once more that was in conflict with another source. If that
// one is not listed and the step was to add one, somebody else has added it
// meanwhile, and it becomes the file's.
func (e *editor) settle(ctx context.Context, listed freshet.PackedSources, st step, taken map[freshet.SourceID]bool) (Synced, error) {
	s := st.from(listed)
	if st.kind == toAdd && !e.loading.claim(s.ID) {
		return Synced{}, nil
	}
	again := e.alone(ctx, st.kind, s)
	if st.kind == toAdd {
		e.loading.added(s.ID, again == nil)
	}
	conflict, ok := errors.AsType[*freshet.ConflictError](again)
	if !ok || st.kind != toAdd || taken[conflict.Existing] && conflict.Existing != s.ID {
		return e.outcome(&st, again)
	}
	have, err := e.store.Source(ctx, conflict.Existing)
	if err != nil {
		return Synced{}, err
	}
	taken[have.ID] = true
	st = step{kind: toAlter, place: st.place, id: have.ID, created: have.Created, revision: have.Revision}
	return e.outcome(&st, e.alone(ctx, toAlter, st.from(listed)))
}

// add adds up.
func (s *Synced) add(other Synced) {
	s.Added += other.Added
	s.Changed += other.Changed
	s.Removed += other.Removed
	s.Kept += other.Kept
}

// A digest stands for a text that is too long to keep for a million sources.
type digest [16]byte

func digestOf(parts ...string) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// A storedSource is what a Sync keeps in mind of a source that there is.
type storedSource struct {
	state    digest
	created  time.Time
	revision int64
	fromFile bool
}

// storedSources are the sources that there are, by their IDs and by what they watch.
type storedSources struct {
	byID  map[freshet.SourceID]storedSource
	byKey map[digest]freshet.SourceID
}

func (e *editor) index(ctx context.Context) (all storedSources, err error) {
	all = storedSources{map[freshet.SourceID]storedSource{}, map[digest]freshet.SourceID{}}
	for w, err := range e.store.Sources(ctx) {
		if err != nil {
			return all, err
		}
		all.byID[w.ID] = storedSource{stateOf(w.Source), w.Created, w.Revision, w.Origin == freshet.FromFile}
		all.byKey[sourceKey(w.Source)] = w.ID
	}
	return all, nil
}

// sourceKey is equal for sources that the store would not hold twice.
func sourceKey(s freshet.Source) digest { return digestOf(s.URL, s.Key()) }

// stateOf is equal for sources that are configured alike.
func stateOf(s freshet.Source) digest { return digestOf(string(s.Origin), string(s.Definition())) }

// A loading is how far a Sync is with the sources of the file. Sources that are
// still to be added can be removed meanwhile: then they are not added.
type loading struct {
	mu      sync.Mutex
	done    int
	of      int                                // zero if no sources are being taken on
	pending map[freshet.SourceID]chan struct{} // sources to add; closed when one that is being added has been, nil before
	log     *slog.Logger
	said    time.Time
}

// begin notes what is to be done, and that so many sources are as they should be.
func (l *loading) begin(steps []step, kept, listed int, log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.log, l.said = kept, listed, log, time.Now()
	l.pending = map[freshet.SourceID]chan struct{}{}
	for _, s := range steps {
		if s.kind == toAdd && s.id != "" {
			l.pending[s.id] = nil
		}
	}
}

// end notes that nothing more is to be done.
func (l *loading) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.pending = 0, 0, nil
}

// step notes that n more sources have been dealt with, and now and then says how
// far it is.
func (l *loading) step(n int) {
	const everySoOften = 2 * time.Second
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = min(l.done+n, l.of)
	if now := time.Now(); now.Sub(l.said) > everySoOften {
		l.said = now
		l.log.Info("loading the sources of the configuration file", "done", l.done, "of", l.of)
	}
}

// progress returns how many sources have been taken on, of how many. Both are
// zero if none are being taken on.
func (l *loading) progress() (done, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.of
}

// claim reports whether a source is still to be added. From then on a removal
// waits until it has been.
func (l *loading) claim(id freshet.SourceID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, waits := l.pending[id]
	if waits && done == nil {
		l.pending[id] = make(chan struct{})
	}
	return waits || id == ""
}

// added notes that a source that was claimed has been added, or could not be.
func (l *loading) added(id freshet.SourceID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.pending[id]
	if done == nil {
		return
	}
	close(done)
	if ok {
		delete(l.pending, id)
	} else {
		l.pending[id] = nil
	}
}

// drop keeps a source from being added, if it is still to be, and reports whether
// it did. One that is being added is waited for.
func (l *loading) drop(id freshet.SourceID) bool {
	for {
		l.mu.Lock()
		done, waits := l.pending[id]
		if done == nil {
			delete(l.pending, id)
			l.mu.Unlock()
			return waits
		}
		l.mu.Unlock()
		<-done
	}
}
