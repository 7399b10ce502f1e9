package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/search"
)

const (
	mostIndexed = 1 << 20 // bytes of a text that are indexed; no person reads more
	indexBytes  = 8 << 20 // of texts in one transaction
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
	x := indexing{searcher: s, IndexTx: tx, most: most, room: indexBytes}
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
	most int   // versions
	room int64 // bytes of texts
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
	p := presence{}
	if err := p.read(at.Present); err != nil {
		return 0, err
	}
	versions, err := x.unindexed(ctx, e, upto)
	if err != nil {
		return 0, err
	}
	for _, v := range versions {
		if x.most <= 0 || x.room <= 0 || ctx.Err() != nil {
			break
		}
		if err := x.version(ctx, e, v, p); err != nil {
			return 0, err
		}
		upto = v.number
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
	err = eachRow(ctx, x.reader, `SELECT v.number, v.text, v.seen, coalesce(n.title, '') FROM versions v LEFT JOIN envelopes n ON n.id = v.envelope
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
	text, err := x.textToIndex(ctx, v.text)
	if err != nil {
		x.log.WarnContext(ctx, "a version cannot be searched: its text cannot be read", "source", e.id, "version", v.number, "err", err)
		return ctx.Err()
	}
	x.most--
	x.room -= int64(len(text)) + 4096
	seen := int64(v.seen)
	here := make(map[uint64]bool, len(p))
	for passage := range passagesOf(v.title, text) {
		sum := xxhash.Sum64String(passage)
		if here[sum] {
			continue
		}
		here[sum] = true
		if _, ok := p[sum]; ok {
			continue
		}
		if p[sum], err = x.Add(Passage{Source: e.key, Sum: sum, Run: search.Run{From: v.number, Since: seen}}, search.Folded(passage)); err != nil {
			return err
		}
	}
	for sum, id := range p {
		if here[sum] {
			continue
		}
		delete(p, sum)
		if err := x.End(id, v.number, seen); err != nil {
			return err
		}
	}
	return nil
}

// textToIndex returns the text of a version. Old ones do not take the place of those that
// polls compare with in the cache.
func (s *bodies) textToIndex(ctx context.Context, id int64) (string, error) {
	b, ok := s.cache.get(id)
	if !ok {
		chain, err := s.chain(ctx, id)
		if err != nil {
			return "", err
		}
		if b, err = s.unchain(id, chain); err != nil {
			return "", err
		}
	}
	return string(b.body[:min(len(b.body), mostIndexed)]), nil
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
// their hashes.
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

// read adds what write returned.
func (p presence) read(text []byte) error {
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
