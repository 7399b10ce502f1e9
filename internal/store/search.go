package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/search"
)

const (
	usualHits    = 20
	mostMatches  = 200_000 // passages that are looked at for a word or phrase
	mostPassages = 3       // shown of a hit
	snippetBytes = 240
)

// A searcher indexes what versions say, and searches it.
type searcher struct {
	*mirror
	*bodies
	index   *searchIndex
	catalog *sourceReader
}

// Search returns the hits of the index, which follows the log at its own pace. Quarantined versions
// are not searched. The error is an *InvalidError with the field "words" if they cannot be parsed.
func (s *searcher) Search(ctx context.Context, q search.Request) (r search.Result, err error) {
	asked, err := search.Parse(q.Words)
	if err != nil {
		return r, &invalid.Error{Field: "words", Reason: err.Error()}
	}
	release, err := s.index.Use(ctx)
	if err != nil {
		return r, s.fault("searching", err)
	}
	defer release()
	f := finder{searcher: s, q: q, asked: asked, sources: map[int64]*matched{}, known: map[int64]*freshet.SourceWithStatus{}}
	if r.Waiting, err = s.behind(ctx); err != nil {
		return r, s.fault("searching", err)
	}
	if err := f.match(ctx, &r); err != nil {
		return r, s.fault("searching", err)
	}
	runs, err := f.runs(ctx)
	if err != nil {
		return r, err
	}
	r.Total = len(runs)
	return r, f.tell(ctx, runs, &r)
}

// Unindexed returns about how many versions are not in the index yet.
func (s *searcher) Unindexed(ctx context.Context) (int, error) {
	release, err := s.index.Use(ctx)
	if err != nil {
		return 0, s.fault("looking at the index of versions", err)
	}
	defer release()
	n, err := s.behind(ctx)
	return n, s.fault("looking at the index of versions", err)
}

// behind returns about how many versions are not in the index yet. Who writes knows it; who
// only reads has to look.
func (s *searcher) behind(ctx context.Context) (n int, err error) {
	s.index.mu.Lock()
	known := s.index.known
	s.index.mu.Unlock()
	if known {
		return s.waitingVersions(), nil
	}
	found, err := s.index.Indexed(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.upToDate(ctx); err != nil {
		return 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.entries {
		n += int(max(0, e.head-max(found[e.key].Upto, e.first-1)))
	}
	return n, nil
}

// A finder answers one query.
type finder struct {
	*searcher
	q       search.Request
	asked   search.Query
	sources map[int64]*matched
	known   map[int64]*freshet.SourceWithStatus // sources by key; nil if they are not wanted or not there
}

// matched are the passages of a source that have one of the words and phrases.
type matched struct{ by [][]Passage }

// match finds the passages that have the words and phrases, each by itself: that they
// stand in one version can only be said when all are known.
func (f *finder) match(ctx context.Context, r *search.Result) error {
	only := int64(0)
	if f.q.Source != "" {
		e, err := f.remembered(ctx, f.q.Source)
		if err != nil {
			return err
		}
		if only = e.key; only == 0 {
			return unknown(f.q.Source)
		}
	}
	phrases := f.asked.Phrases()
	for i, p := range phrases {
		n := 0
		err := f.index.Match(ctx, p, only, mostMatches, func(m Passage) error {
			source := f.sources[m.Source]
			if source == nil {
				source = &matched{by: make([][]Passage, len(phrases))}
				f.sources[m.Source] = source
			}
			source.by[i] = append(source.by[i], m)
			n++
			return nil
		})
		if err != nil {
			return err
		}
		r.Cut = r.Cut || n == mostMatches
	}
	return nil
}

// A found run of versions is a hit in the making.
type found struct {
	search.Run
	key   int64
	score float64
	shown []Passage
}

// runs returns the runs of versions that have what is asked for, in the order that is.
func (f *finder) runs(ctx context.Context) (all []found, err error) {
	seen := f.q.Seen
	since, until := bounds(seen)
	for key, m := range f.sources {
		of := make([][]search.Run, len(m.by))
		for i, list := range m.by {
			for _, p := range list {
				of[i] = append(of[i], p.Run)
			}
		}
		for _, run := range f.asked.Runs(of) {
			if run.Since >= until || run.Until <= since || f.q.Current && run.To != search.Open {
				continue
			}
			if f.q.Tag != "" || f.q.Site != "" {
				if w, err := f.source(ctx, key); err != nil {
					return nil, err
				} else if w == nil {
					continue
				}
			}
			hit := found{Run: run, key: key}
			hit.score, hit.shown = f.best(m, run)
			all = append(all, hit)
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		order := 0
		switch f.q.Order {
		case search.ByOldest:
			order = cmp.Compare(a.Since, b.Since)
		case search.ByNewest:
		default:
			order = cmp.Compare(b.score, a.score)
		}
		return cmp.Or(order, cmp.Compare(b.Since, a.Since), cmp.Compare(a.key, b.key), cmp.Compare(a.From, b.From))
	})
	return all, nil
}

// best returns how much the words stand out in a run of versions, and the passages in
// which they do most.
func (f *finder) best(m *matched, run search.Run) (score float64, shown []Passage) {
	wanted := f.asked.Wanted()
	i := 0
	for _, p := range wanted {
		list := m.by[f.place(p, &i)]
		var best *Passage
		for k := range list {
			if c := &list[k]; c.From < run.To && c.To > run.From && (best == nil || c.Rank < best.Rank) {
				best = c
			}
		}
		if best == nil {
			continue
		}
		score -= best.Rank
		told := func(s Passage) bool {
			return slices.ContainsFunc(list, func(c Passage) bool { return c.ID == s.ID })
		}
		if len(shown) < mostPassages && !slices.ContainsFunc(shown, told) {
			shown = append(shown, *best)
		}
	}
	return score, shown
}

// place returns which of all phrases a wanted one is, looking from a place on.
func (f *finder) place(p search.Query, from *int) int {
	all := f.asked.Phrases()
	for ; *from < len(all)-1; *from++ {
		if slices.Equal(all[*from].Words, p.Words) && all[*from].Prefix == p.Prefix {
			break
		}
	}
	*from++
	return *from - 1
}

// source returns a source if it is there and has the tag and the site that are asked for.
func (f *finder) source(ctx context.Context, key int64) (*freshet.SourceWithStatus, error) {
	if w, ok := f.known[key]; ok {
		return w, nil
	}
	var id freshet.SourceID
	var gone bool
	err := EachRow(ctx, f.reader, "SELECT id, removed FROM sources WHERE key = ?", []any{key}, func(scan func(...any) error) error { return scan(&id, &gone) })
	if err != nil {
		return nil, f.fault("reading a source", err)
	}
	f.known[key] = nil
	if id == "" {
		return nil, nil
	}
	w, err := f.catalog.source(ctx, freshet.Source{ID: id}, gone)
	if err != nil {
		return nil, err
	}
	if f.q.Tag != "" && !slices.Contains(w.Tags, f.q.Tag) || f.q.Site != "" && w.Of != f.q.Site && w.ID != f.q.Site {
		return nil, nil
	}
	f.known[key] = &w
	return &w, nil
}

// tell completes the hits of the page that is asked for. What has been pruned since it was
// indexed is left out.
func (f *finder) tell(ctx context.Context, runs []found, r *search.Result) error {
	for _, run := range runs[min(f.q.Offset, len(runs)):] {
		if len(r.Hits) == cmp.Or(f.q.Limit, usualHits) {
			return nil
		}
		w, err := f.source(ctx, run.key)
		if err != nil {
			return err
		}
		if w == nil {
			r.Total--
			continue
		}
		hit := search.Hit{
			Source: w.ID, Label: freshet.Label{URL: w.URL, Name: w.Name, Tags: w.Tags}, Title: w.Status.Head.Title,
			Since: Moment(run.Since).Time(), Score: run.score,
		}
		if run.To != search.Open {
			hit.Until = Moment(run.Until).Time()
		}
		e, err := f.remembered(ctx, w.ID)
		if err != nil {
			return err
		}
		hit.Removed = e.removed
		err = EachRow(ctx, f.reader, "SELECT coalesce(min(number), 0), coalesce(max(number), 0), count(*) FROM versions WHERE source = ? AND number >= ? AND number < ? AND coalesce(quiet, '') <> ?",
			[]any{run.key, run.From, run.To, string(freshet.QuietSuspect)}, func(scan func(...any) error) error { return scan(&hit.First, &hit.Last, &hit.Versions) })
		if err != nil {
			return f.fault("reading versions", err)
		}
		if hit.Versions == 0 {
			r.Total--
			continue
		}
		for _, p := range run.shown {
			passage, err := f.passage(ctx, run.key, p)
			if err != nil {
				return err
			}
			if passage.Text != "" {
				hit.Passages = append(hit.Passages, passage)
			}
		}
		r.Hits = append(r.Hits, hit)
	}
	return nil
}

// passage reads a passage from the newest version that has it, with what was looked for
// marked. There is none if the version cannot be read.
func (f *finder) passage(ctx context.Context, key int64, p Passage) (shown search.Passage, err error) {
	var body int64
	var title string
	err = EachRow(ctx, f.reader, `SELECT v.text, coalesce(n.title, '') FROM versions v LEFT JOIN envelopes n ON n.id = v.envelope
		WHERE v.source = ? AND v.number >= ? AND v.number < ? AND coalesce(v.quiet, '') <> ? ORDER BY v.number DESC LIMIT 1`,
		[]any{key, p.From, p.To, string(freshet.QuietSuspect)}, func(scan func(...any) error) error { return scan(&body, &title) })
	if err != nil || body == 0 {
		return shown, f.fault("reading a version", err)
	}
	text, err := f.textToIndex(ctx, body, cachedBody{})
	if err != nil {
		f.log.WarnContext(ctx, "what was found cannot be shown", "err", fmt.Errorf("body %d: %w", body, err))
		return shown, ctx.Err()
	}
	for passage := range passagesOf(title, string(text.body[:min(len(text.body), mostIndexed)])) {
		if xxhash.Sum64String(passage) == p.Sum {
			shown.Text, shown.Marks = search.Snippet(passage, f.asked.Marks(passage), snippetBytes)
			break
		}
	}
	return shown, nil
}
