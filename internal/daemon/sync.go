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

// A Synced counts the results of a Sync.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync replaces the sources of the configuration file by the listed ones. A source that is no
// longer listed is removed, but its history stays. A listed source that was added by other means
// becomes the file's.
//
// Sources can be edited concurrently. An edit or a removal after the start of Sync takes
// precedence.
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
		st := step{kind: toAlter, place: i, id: id, created: is.created, revision: is.revision, noise: is.noise}
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

// A stepKind is the action of a step.
type stepKind int

const (
	toAdd    stepKind = iota
	toAlter           // update it to the listed source
	toRemove          // no longer listed
)

// A step adds, updates or removes one source.
type step struct {
	kind     stepKind
	place    int              // index in the list, unless it is removed
	id       freshet.SourceID // ID of the stored source, or else of the listed one
	created  time.Time
	revision int64
	noise    freshet.NoiseSetting // of the stored source
}

// from returns the listed source with the identity of the step.
func (st *step) from(listed freshet.PackedSources) freshet.Source {
	if st.kind == toRemove {
		return freshet.Source{ID: st.id}
	}
	return st.source(listed.At(st.place))
}

// source returns a listed source with the identity of the step.
func (st *step) source(s freshet.Source) freshet.Source {
	s.Origin, s.ID = freshet.FromFile, st.id
	if st.kind == toAlter {
		s.Created, s.Revision = st.created, st.revision
		if st.noise != freshet.NoiseUnset { // else it was listed before it was the default, and stays as it is
			s.Noise = cmp.Or(s.Noise, freshet.NoiseAuto)
		}
	}
	return s
}

// perform carries out steps, many in a transaction. Steps can conflict, because one takes the URL
// that another gives up; perform retries those one by one while that makes progress.
func (e *editor) perform(ctx context.Context, listed freshet.PackedSources, steps []step, taken map[freshet.SourceID]bool) (done Synced, err error) {
	failed := map[int]error{} // conflicts by place
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

// settleAll retries steps that conflict with another source.
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

// name returns the name of a step's source for messages.
func (st *step) name(listed freshet.PackedSources) string {
	return cmp.Or(st.from(listed).URL, string(st.id))
}

// together carries out steps of one kind, except those about sites, in one transaction. It returns
// the error of each; that of a source that was removed before it was added is errDropped.
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

// alone makes one edit.
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

// errDropped reports that a source was removed before it was added.
var errDropped = errors.New("removed before it was added")

// outcome returns the result of a step. A source that was edited or removed concurrently counts as
// kept.
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

// settle retries a step that conflicts with another source. If the step adds a source and the other
// one is not listed, the other one was added concurrently and becomes the file's.
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
	st = step{kind: toAlter, place: st.place, id: have.ID, created: have.Created, revision: have.Revision, noise: have.Noise}
	return e.outcome(&st, e.alone(ctx, toAlter, st.from(listed)))
}

// add adds the counts of other.
func (s *Synced) add(other Synced) {
	s.Added += other.Added
	s.Changed += other.Changed
	s.Removed += other.Removed
	s.Kept += other.Kept
}

// A digest is a short hash, because a million full texts would need too much memory.
type digest [16]byte

func digestOf(parts ...string) (d digest) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// A storedSource is what Sync remembers of a stored source.
type storedSource struct {
	state    digest
	created  time.Time
	revision int64
	noise    freshet.NoiseSetting
	fromFile bool
}

// storedSources are the stored sources, by ID and by what they watch.
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
		all.byID[w.ID] = storedSource{stateOf(w.Source), w.Created, w.Revision, w.Noise, w.Origin == freshet.FromFile}
		all.byKey[sourceKey(w.Source)] = w.ID
	}
	return all, nil
}

// sourceKey returns a key that is equal for sources the store treats as duplicates.
func sourceKey(s freshet.Source) digest { return digestOf(s.URL, s.Key()) }

// stateOf returns a digest that is equal for sources with equal configuration.
func stateOf(s freshet.Source) digest { return digestOf(string(s.Origin), string(s.Definition())) }

// A loading is the progress of a Sync. It lets pending sources be removed before they are added.
type loading struct {
	mu      sync.Mutex
	done    int
	of      int                                // zero if no Sync runs
	pending map[freshet.SourceID]chan struct{} // sources to add; the channel is nil until a source is being added and closed afterwards
	log     *slog.Logger
	said    time.Time
}

// begin records the steps to carry out, and how many sources need none.
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

// end records the end of a Sync.
func (l *loading) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.pending = 0, 0, nil
}

// step records that n more sources are done, and logs the progress from time to time.
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

// progress returns how many of the listed sources are done; both numbers are zero if no Sync runs.
func (l *loading) progress() (done, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.of
}

// claim reports whether a source is still to be added. If so, a removal waits until that is done.
func (l *loading) claim(id freshet.SourceID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, waits := l.pending[id]
	if waits && done == nil {
		l.pending[id] = make(chan struct{})
	}
	return waits || id == ""
}

// added records that a claimed source was added or could not be.
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

// drop cancels the addition of a source and reports whether it did. It waits for an addition that
// has begun.
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
