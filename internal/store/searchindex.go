package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/search"
)

// An Index is where it is found by its words what versions say. It holds passages: lines
// and sentences that versions of a source have, one after the other, from one on until
// another, if that has come. So a text that stays is in the index once, however many
// versions have it. What the words of a passage are is in the store alone.
//
// Of each source the passages that are there now are known together, each by its hash and
// its ID: a new version is compared with them without reading any row of theirs.
type Index interface {
	// Use makes the index ready, and returns what to call when it is not used any more.
	// All other methods but Drop are called in between.
	Use(ctx context.Context) (release func(), err error)

	// Begin begins a transaction that changes the index. There is one at a time.
	Begin(ctx context.Context) (IndexTx, error)

	// Place returns the place in the log of outcomes that the index is of; "" if it is new.
	Place(ctx context.Context) (string, error)

	// Indexed returns how far the index is with all sources, by their keys. What is present
	// is left out.
	Indexed(ctx context.Context) (map[int64]Indexed, error)

	// Match yields up to so many passages that have a phrase, those of one source if its key
	// is not zero, the latest first.
	Match(ctx context.Context, phrase search.Query, source int64, most int, each func(Passage) error) error

	// Drop deletes the index. It is made anew when it is used.
	Drop() error
}

// An IndexTx is a transaction that changes an index.
type IndexTx interface {
	PutPlace(place string) error
	Source(key int64) (Indexed, error) // the zero Indexed if the source is not known
	PutSource(key int64, at Indexed) error
	Add(p Passage, text string) (id int64, err error)
	End(id, gone, until int64) error              // a version is without a passage that was open when it was added
	ForgetBefore(source int64, first int64) error // passages that no version from one on has
	Forget(source int64) error
	Commit() error
	Rollback() error
}

// An Indexed is how far an index is with a source.
type Indexed struct {
	Upto, First int64  // numbers of versions
	Present     []byte // passages of the newest
}

// A Passage is a passage in an index, and which versions have it.
type Passage struct {
	search.Run
	ID     int64
	Source int64 // its key
	Sum    uint64
	Rank   float64 // less is better
}

// EndOrNull returns the end of a run of versions as it is stored, that of one which goes on as NULL.
func EndOrNull(end int64) any {
	if end == search.Open {
		return nil
	}
	return end
}

// ErrStaleIndex means that an index cannot be used, or is of versions that are not those of
// the store.
var ErrStaleIndex = errors.New("the index is not that of this data")

// A searchIndex is the index of what versions say, and what is not in it yet.
type searchIndex struct {
	Index
	work sync.Mutex // held by who writes

	mu    sync.Mutex
	known bool              // what waits is known
	waits map[int64]waiting // sources that have something to index or to take out, by key
	queue []int64           // their keys, the next one first; also some that do not wait any more
	left  int               // about how many versions that is
}

const (
	mostIndexed = 1 << 20  // bytes of a text that are indexed; no person reads more
	indexBytes  = 16 << 20 // of texts in one transaction
)

// Index adds the texts of up to most versions to the index, and removes what is no longer stored. It
// returns how many versions are still missing. Its work survives a crash or is repeated. Only one
// call works at a time.
func (s *searcher) Index(ctx context.Context, most int) (int, error) {
	if s.cfg.ReadOnly {
		return 0, nil
	}
	s.index.work.Lock()
	defer s.index.work.Unlock()
	left, err := s.indexSome(ctx, most)
	if errors.Is(err, ErrStaleIndex) {
		s.log.WarnContext(ctx, "the index of versions is made anew", "err", err)
		if err := s.DropIndex(); err != nil {
			return 0, s.fault("deleting the index of versions", err)
		}
		left, err = s.indexSome(ctx, most)
	}
	return left, s.fault("indexing versions", err)
}

// DropIndex deletes the index of what versions say. It is made anew when it is wanted.
func (s *searcher) DropIndex() error {
	s.index.forget()
	return s.index.Drop()
}

func (s *searcher) indexSome(ctx context.Context, most int) (left int, err error) {
	release, err := s.index.Use(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	if err := s.findWaiting(ctx); err != nil {
		return 0, err
	}
	at, err := s.logEnd(ctx)
	if err != nil {
		return 0, err
	}
	tx, err := s.index.Begin(context.WithoutCancel(ctx))
	if err != nil {
		return 0, err
	}
	x := indexing{searcher: s, IndexTx: tx, most: most, room: indexBytes, present: presence{}, here: map[uint64]bool{}}
	done, err := x.work(ctx)
	if err == nil {
		err = tx.PutPlace(at.String())
	}
	if err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	s.finishWaiting(done, most-x.most)
	return s.waitingVersions(), ctx.Err()
}

// logEnd returns the end of the log of outcomes: what the index says of the store is of a
// place up to there.
func (s *searcher) logEnd(ctx context.Context) (freshet.Place, error) {
	end, err := s.LastOutcome(ctx)
	if err != nil {
		return freshet.Place{}, err
	}
	epochs, err := s.OutcomeEpochs(ctx)
	return epochs.Place(end), err
}

// fitsStore returns an error if the place that the index is of is not one of the store.
func (s *searcher) fitsStore(ctx context.Context) error {
	text, err := s.index.Place(ctx)
	if err != nil || text == "" {
		return err
	}
	place, err := freshet.ParsePlace(text)
	if err != nil {
		return ErrStaleIndex
	}
	end, err := s.LastOutcome(ctx)
	if err != nil {
		return err
	}
	epochs, err := s.OutcomeEpochs(ctx)
	if err != nil {
		return err
	}
	if _, err := epochs.Find(place, end); err != nil {
		return fmt.Errorf("%w: %w", ErrStaleIndex, err)
	}
	return nil
}

// An indexing is one transaction on the index.
type indexing struct {
	*searcher
	IndexTx
	most  int          // versions
	room  int64        // bytes of texts
	last  cachedBody   // the text of the version before
	fresh []newPassage // of the source, that are not written yet

	// Room for the work on one source, used again for the next.
	present presence
	here    map[uint64]bool // passages of the version at hand
}

// A newPassage is one that is not in the index yet. It is written when the last of the
// versions at hand has been seen: it may have ended by then.
type newPassage struct {
	Passage
	text string
}

// work brings sources up to date until it has done enough, and returns how far each is.
func (x *indexing) work(ctx context.Context) (done map[int64]Indexed, err error) {
	done = map[int64]Indexed{}
	keys, waits := x.index.first(x.most)
	for _, key := range keys {
		if ctx.Err() != nil || x.most <= 0 || x.room <= 0 {
			return done, nil
		}
		x.mu.RLock()
		var e entry
		if found := x.entries[waits[key].id]; found != nil && found.key == key {
			e = *found
		}
		x.mu.RUnlock()
		at := Indexed{First: e.first}
		if e.key == 0 {
			err = x.Forget(key)
		} else {
			at.Upto, err = x.source(ctx, &e)
		}
		done[key] = at
		if err != nil {
			return nil, err
		}
	}
	return done, nil
}

// source brings one source up to date, as far as there is room, and returns how far.
func (x *indexing) source(ctx context.Context, e *entry) (upto int64, err error) {
	at, err := x.IndexTx.Source(e.key)
	if err != nil {
		return 0, err
	}
	upto = at.Upto
	if e.first > at.First && upto > 0 { // older ones have been pruned
		if err := x.ForgetBefore(e.key, e.first); err != nil {
			return 0, err
		}
	}
	p := x.present
	if err := p.read(at.Present); err != nil {
		return 0, err
	}
	versions, err := x.unindexed(ctx, e, upto)
	if err != nil {
		return 0, err
	}
	x.last, x.fresh = cachedBody{}, x.fresh[:0]
	for _, v := range versions {
		if x.most <= 0 || x.room <= 0 || ctx.Err() != nil {
			break
		}
		if err := x.version(ctx, e, v, p); err != nil {
			return 0, err
		}
		upto = v.number
		if v.text != e.text {
			x.cache.drop(v.text)
		}
	}
	if err := x.addFresh(p); err != nil {
		return 0, err
	}
	if len(versions) == 0 || upto == versions[len(versions)-1].number {
		if len(versions) < versionsAtOnce {
			upto = max(upto, e.head)
		}
	}
	return upto, x.PutSource(e.key, Indexed{Upto: upto, First: e.first, Present: p.write()})
}

// versionsAtOnce is how many versions of a source are looked up at once.
const versionsAtOnce = 200

// An unindexed version is one that is not in the index yet.
type unindexed struct {
	number, text int64
	seen         Moment
	title        string
}

// unindexed returns versions of a source after one, up to its head, that are not held.
func (x *indexing) unindexed(ctx context.Context, e *entry, after int64) (found []unindexed, err error) {
	if e.head <= after {
		return nil, nil
	}
	err = EachRow(brief(ctx), x.reader, `SELECT v.number, v.text, v.seen, coalesce(n.title, '') FROM versions v LEFT JOIN envelopes n ON n.id = v.envelope
		WHERE v.source = ? AND v.number > ? AND v.number <= ? AND coalesce(v.quiet, '') <> ? ORDER BY v.number LIMIT ?`,
		[]any{e.key, after, e.head, string(freshet.QuietSuspect), versionsAtOnce}, func(scan func(...any) error) error {
			var v unindexed
			err := scan(&v.number, &v.text, &v.seen, &v.title)
			found = append(found, v)
			return err
		})
	return found, x.fault("reading versions", err)
}

// version brings one version into the index: what it has that the one before has not, and
// what it has no more. A text that cannot be read is passed over.
func (x *indexing) version(ctx context.Context, e *entry, v unindexed, p presence) error {
	b, err := x.textToIndex(ctx, v.text, x.last)
	if err != nil {
		x.log.WarnContext(ctx, "a version cannot be searched: its text cannot be read", "source", e.id, "version", v.number, "err", err)
		return ctx.Err()
	}
	x.last = b
	text := string(b.body[:min(len(b.body), mostIndexed)])
	x.most--
	x.room -= int64(len(text)) + 4096
	seen := int64(v.seen)
	here := x.here
	clear(here)
	for passage := range passagesOf(v.title, text) {
		sum := xxhash.Sum64String(passage)
		if here[sum] {
			continue
		}
		here[sum] = true
		if _, ok := p[sum]; ok {
			continue
		}
		open := search.Run{From: v.number, To: search.Open, Since: seen, Until: search.Open}
		x.fresh = append(x.fresh, newPassage{Passage{Source: e.key, Sum: sum, Run: open}, passage})
		p[sum] = int64(-len(x.fresh))
	}
	for sum, id := range p {
		if here[sum] {
			continue
		}
		delete(p, sum)
		if id < 0 {
			added := &x.fresh[-id-1]
			added.To, added.Until = v.number, seen
			continue
		}
		if err := x.End(id, v.number, seen); err != nil {
			return err
		}
	}
	return nil
}

// addFresh writes the passages that are new, and puts their IDs into the presence.
func (x *indexing) addFresh(p presence) error {
	for _, n := range x.fresh {
		id, err := x.Add(n.Passage, search.Folded(n.text))
		if err != nil {
			return err
		}
		if n.To == search.Open {
			p[n.Sum] = id
		}
	}
	clear(x.fresh)
	return nil
}

// textToIndex returns the text of a version, which may be encoded against one that is known. Old ones do not take
// the place of those that polls compare with in the cache.
func (s *bodies) textToIndex(ctx context.Context, id int64, known cachedBody) (cachedBody, error) {
	if b, ok := s.cache.get(id); ok {
		return b, nil
	}
	chain, err := s.chain(ctx, id, known.id)
	if err != nil {
		return cachedBody{}, err
	}
	return s.unchain(id, chain, known)
}

// passagesOf yields the passages of a version: of its title, and of its text.
func passagesOf(title, text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for p := range search.Passages(title) {
			if !yield(p) {
				return
			}
		}
		for p := range search.Passages(text) {
			if !yield(p) {
				return
			}
		}
	}
}

// A presence is which passages the newest indexed version of a source has: their IDs by
// their hashes. Those that are not written yet have their places among the new ones
// instead, counted down from -1.
type presence map[uint64]int64

// write returns the presence as it is stored.
func (p presence) write() []byte {
	room := make([]byte, 0, 12*len(p))
	for _, sum := range slices.Sorted(maps.Keys(p)) {
		room = binary.LittleEndian.AppendUint64(room, sum)
		room = binary.AppendUvarint(room, uint64(p[sum]))
	}
	return room
}

// read replaces the presence by what write returned.
func (p presence) read(text []byte) error {
	clear(p)
	for len(text) > 8 {
		sum := binary.LittleEndian.Uint64(text)
		id, n := binary.Uvarint(text[8:])
		if n <= 0 {
			return ErrStaleIndex
		}
		p[sum] = int64(id)
		text = text[8+n:]
	}
	if len(text) > 0 {
		return ErrStaleIndex
	}
	return nil
}

// A waiting source has versions that are not in the index yet, or is there no more.
type waiting struct {
	id   freshet.SourceID
	upto int64 // the last version that is in the index
}

// note notes what a batch did to a source, as far as it concerns the index.
func (x *searchIndex) note(old, now *entry) {
	same := old != nil && now != nil && old.key == now.key
	if same && old.head == now.head && old.first == now.first {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known {
		return // all will be looked at
	}
	if old != nil && old.head > 0 {
		x.add(old.key, waiting{old.id, old.head})
	}
	if now != nil && now.head > 0 && (old == nil || old.key != now.key || old.head == 0) {
		x.add(now.key, waiting{now.id, 0})
	}
}

// awaits reports whether the newest version of a source is to be indexed.
func (x *searchIndex) awaits(e *entry) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	w, waits := x.waits[e.key]
	return waits && w.upto < e.head
}

// add notes that a source has something to index.
func (x *searchIndex) add(key int64, w waiting) {
	if before, ok := x.waits[key]; ok {
		w.upto = min(w.upto, before.upto)
	} else {
		x.queue = append(x.queue, key)
	}
	x.waits[key] = w
	x.left++
}

// first returns some of the sources that wait, those first that are next, with their keys in that order.
func (x *searchIndex) first(most int) (keys []int64, waits map[int64]waiting) {
	x.mu.Lock()
	defer x.mu.Unlock()
	waits = map[int64]waiting{}
	for _, key := range x.queue {
		if len(keys) >= most {
			break
		}
		w, still := x.waits[key]
		if _, twice := waits[key]; still && !twice {
			keys, waits[key] = append(keys, key), w
		}
	}
	return keys, waits
}

// trim takes those from the head of the queue that do not wait any more.
func (x *searchIndex) trim() {
	for len(x.queue) > 0 {
		if _, still := x.waits[x.queue[0]]; still {
			return
		}
		x.queue = x.queue[1:]
	}
}

// forget forgets what waits: all will be looked at.
func (x *searchIndex) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known, x.waits, x.queue, x.left = false, nil, nil, 0
}

// findWaiting finds out which sources have something to index, once: from then on each
// batch says so. An index of a store that has been replaced by an older copy is refused.
func (s *searcher) findWaiting(ctx context.Context) error {
	x := s.index
	x.mu.Lock()
	known := x.known
	if !known {
		x.known, x.waits, x.queue, x.left = true, map[int64]waiting{}, nil, 0 // what comes from here on is noted
	}
	x.mu.Unlock()
	if known {
		return nil
	}
	err := s.lookAtAll(ctx)
	if err != nil {
		x.mu.Lock()
		x.known = false
		x.mu.Unlock()
	}
	return err
}

// lookAtAll notes which sources have something to index, by what is in the index.
func (s *searcher) lookAtAll(ctx context.Context) error {
	x := s.index
	if err := s.fitsStore(ctx); err != nil {
		return err
	}
	found, err := s.index.Indexed(ctx)
	if err != nil {
		return err
	}
	s.mu.RLock()
	r := s.sourceIndex
	s.mu.RUnlock()
	for from, more := 0, true; more; from += lookAtOnce {
		if more, err = s.lookAtSome(r, from, found); err != nil {
			return err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, at := range found { // purged
		x.add(key, waiting{"", at.Upto})
	}
	x.queue = slices.Sorted(maps.Keys(x.waits))
	x.left = s.countWaiting()
	return nil
}

// lookAtOnce is how many sources are looked at while nothing can be written.
const lookAtOnce = 1000

// lookAtSome looks at the sources of some lines of the index, and takes those from what is in the index.
// It reports whether there are more. What comes meanwhile each batch says.
func (s *searcher) lookAtSome(r *sourceIndex, from int, found map[int64]Indexed) (more bool, err error) {
	x := s.index
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	upto := min(len(r.lines), from+lookAtOnce)
	for _, l := range r.lines[from:upto] {
		e := s.entries[l.id]
		if l.row == nil || e == nil { // it is gone
			continue
		}
		at, ok := found[e.key]
		delete(found, e.key)
		if at.Upto > e.lastVersion() {
			return false, ErrStaleIndex
		}
		if e.head > at.Upto || ok && e.first > at.First {
			x.add(e.key, waiting{l.id, at.Upto})
		}
	}
	return upto < len(r.lines), nil
}

// finishWaiting notes how far sources have been indexed, by so many versions.
func (s *searcher) finishWaiting(done map[int64]Indexed, versions int) {
	x := s.index
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, at := range done {
		w := x.waits[key]
		if e := s.entries[w.id]; e != nil && e.key == key && (e.head > at.Upto || e.first > at.First) {
			w.upto = at.Upto
			x.waits[key] = w
			continue
		}
		delete(x.waits, key)
	}
	x.trim()
	x.left -= versions
}

// fewWaiting is how many sources are few enough to be counted each time.
const fewWaiting = 1000

// waitingVersions returns about how many versions are not in the index yet.
func (s *searcher) waitingVersions() int {
	x := s.index
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waits) <= fewWaiting {
		x.left = s.countWaiting()
	}
	return max(x.left, len(x.waits))
}

// countWaiting goes through all sources that wait.
func (s *searcher) countWaiting() (n int) {
	for key, w := range s.index.waits {
		n++
		if e := s.entries[w.id]; e != nil && e.key == key && e.head > w.upto {
			n += int(e.head-max(w.upto, e.first-1)) - 1
		}
	}
	return n
}
