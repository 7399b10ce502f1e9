package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sites"
)

// stateKey is the key of the state of a site and, without a site, of the place in the log.
const stateKey = "site"

// trapStateKey is the key of the state of traps: where a site is endless. That is large, and
// saved every drawEvery.
const (
	trapStateKey = "site-traps"
	drawEvery    = 10 * time.Minute
)

// A survey is what is known of one site.
type survey struct {
	site  freshet.Source
	scope *sites.Scope
	notes notes
	dirty bool // the notes are newer than what is on disk

	fresh   map[freshet.SourceID]bool // pages that were taken and have not been polled yet; nil if that is not known
	indexes map[string]bool           // URLs of indexes that are watched
	traps   sites.Traps
	drawn   time.Time       // when the traps were last put on disk
	judged  map[uint64]bool // links that need not be looked at again, by the hash of their URLs
}

// notes are what is kept of a survey.
type notes struct {
	Begun    time.Time `json:"begun"`             // when the site was first explored
	Bounds   string    `json:"bounds"`            // what was said of it when all that is stored was last read
	Settled  time.Time `json:"settled,omitzero"`  // when all of its pages had been fetched once
	Searched time.Time `json:"searched,omitzero"` // when its indexes were last looked for
	Again    bool      `json:"again,omitempty"`   // it was watched before, and so may have been pages that are found now

	Downloads float64   `json:"downloads"` // of pages that had been seen before, of late
	Changed   float64   `json:"changed"`   // of those, that brought a change
	Over      int       `json:"over"`      // pages that were left out because of the limit, at the last look that found some
	Problems  []Problem `json:"problems,omitempty"`

	Traps []sites.Trap `json:"traps,omitempty"`
}

// A Problem is something that is wrong with a site, as far as one can tell.
type Problem struct {
	At   time.Time `json:"at"` // when it was last seen
	URL  string    `json:"url"`
	Text string    `json:"text"`
}

// mostProblems is how many problems are kept of a site.
const mostProblems = 20

// surveyOf returns the survey of the site that a source may belong to, or nil.
func (e *Explorer) surveyOf(id freshet.SourceID) *survey {
	if s := e.surveys[id]; s != nil {
		return s
	}
	if i := strings.LastIndexByte(string(id), '.'); i > 0 {
		return e.surveys[id[:i]]
	}
	return nil
}

// inOrder returns the surveys in the order of the names of their sites.
func (e *Explorer) inOrder() []*survey {
	return slices.SortedFunc(maps.Values(e.surveys), func(a, b *survey) int { return cmp.Compare(a.site.ID, b.site.ID) })
}

// meet brings the surveys up to date with the sites that are watched.
func (e *Explorer) meet(ctx context.Context) error {
	watched := map[freshet.SourceID]bool{}
	for _, w := range e.cfg.Daemon.Sites() {
		watched[w.ID] = true
		err := e.meetSite(ctx, w)
		if err != nil && !e.outdated(ctx, &survey{site: w}) {
			return err
		}
	}
	for id := range e.surveys {
		if !watched[id] {
			delete(e.surveys, id)
		}
	}
	return nil
}

// meetSite brings the survey of a site up to date.
func (e *Explorer) meetSite(ctx context.Context, w freshet.Source) error {
	s := e.surveys[w.ID]
	if s != nil && s.site.Revision != w.Revision {
		counts, err := e.cfg.Frontier.CountPages(ctx, w.ID)
		if err != nil {
			return err
		}
		if counts.Known() == 0 { // it may have been removed, and added again since
			s = nil
		}
	}
	if s == nil {
		s = &survey{}
		if err := e.recall(ctx, s, w); err != nil {
			return err
		}
		if s.notes.Again && s.notes.Settled.IsZero() { // a crash may have come before they were read
			s.notes.Bounds = ""
		}
		e.surveys[w.ID] = s
	}
	if s.scope == nil || s.site.Revision != w.Revision {
		scope, err := daemon.ScopeOf(w)
		if err != nil {
			s.blame(e.cfg.Now(), w.URL, err.Error())
		}
		s.site, s.scope = w, scope
	}
	if s.notes.Bounds == boundsOf(w) {
		return nil
	}
	if err := e.readAgain(ctx, s); err != nil {
		return err
	}
	s.notes.Bounds, s.dirty = boundsOf(w), true
	return nil
}

// outdated reports whether a site has been edited or removed since it was last met. Its
// failures need no report: the site is met again before anything else.
func (e *Explorer) outdated(ctx context.Context, s *survey) bool {
	if s == nil {
		return false
	}
	now, err := e.cfg.Store.Source(ctx, s.site.ID)
	return errors.Is(err, freshet.ErrNotFound) || err == nil && now.Revision != s.site.Revision
}

// boundsOf returns what says which pages a site has.
func boundsOf(w freshet.Source) string {
	site, err := json.Marshal(w.Site)
	if err != nil {
		panic(err) // of texts and numbers
	}
	return w.URL + " " + string(site)
}

// recall takes up what is on disk of a site.
func (e *Explorer) recall(ctx context.Context, s *survey, w freshet.Source) error {
	id, fresh := w.ID, notes{Begun: e.cfg.Now(), Again: hadBefore(w)}
	kept, err := e.cfg.Store.State(ctx, stateKey, id)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	if err != nil || json.Unmarshal(kept.Value, &s.notes) != nil { // what is damaged is found out again
		s.notes, s.dirty = fresh, true
	}
	counts, err := e.cfg.Frontier.CountPages(ctx, id)
	if err != nil {
		return err
	}
	if counts.Known() == 0 { // it was no site for a while
		s.notes, s.dirty = fresh, true
	}
	s.drawn = e.cfg.Now()
	drawn, err := e.cfg.Store.State(ctx, trapStateKey, id)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	if err != nil || counts.Known() == 0 || s.traps.UnmarshalBinary(drawn.Value) != nil {
		s.traps = sites.Traps{}
	}
	return nil
}

// draw puts on disk where sites are endless, if that is due or the end.
func (e *Explorer) draw(ctx context.Context, end bool) error {
	now := e.cfg.Now()
	for _, s := range e.inOrder() {
		if s.judged == nil || !end && now.Sub(s.drawn) < drawEvery { // nothing was judged since the start
			continue
		}
		memory, err := s.traps.MarshalBinary()
		if err != nil {
			return err
		}
		if err := e.cfg.Store.SaveState(ctx, []freshet.State{{Key: trapStateKey, Source: s.site.ID, Upto: e.place, Value: memory}}); err != nil {
			return err
		}
		s.drawn = now
	}
	return nil
}

// readAgainAtMost is how many outcomes may be read again after a start where there are no
// sites: none of them says anything, and to write the place down with every few of them
// takes longer than to pass over them.
const readAgainAtMost = 10_000

// keep puts on disk what is news. The place comes last: what was read up to there is
// known by then.
func (e *Explorer) keep(ctx context.Context) error {
	var news []freshet.State
	for _, s := range e.inOrder() {
		if !s.dirty {
			continue
		}
		memory, err := json.Marshal(s.notes)
		if err != nil {
			return err
		}
		news = append(news, freshet.State{Key: stateKey, Source: s.site.ID, Upto: e.place, Value: memory})
	}
	if len(news) > 0 {
		if err := e.cfg.Store.SaveState(ctx, news); err != nil {
			return err
		}
	}
	if e.place != e.kept && (len(e.surveys) > 0 || e.place-e.kept >= readAgainAtMost) {
		if err := e.keepPlace(ctx); err != nil {
			return err
		}
		e.kept = e.place
	}
	for _, s := range e.surveys {
		s.dirty = false
	}
	return nil
}

// lately is how many downloads the share of those that brought a change goes by.
const lately = 500

// count takes down what a poll of a page found.
func (s *survey) count(src freshet.Source, o freshet.Outcome) {
	delete(s.fresh, o.Source)
	if !o.Result.Seen() || src.Index || o.Since.IsZero() {
		return
	}
	fade := 1 - 1./lately
	s.notes.Downloads = s.notes.Downloads*fade + 1
	s.notes.Changed *= fade
	if o.Result == freshet.Changed {
		s.notes.Changed++
	}
	s.dirty = true
}

// ratio returns the share of downloads that brought a change, with a range that it lies
// in nine times out of ten (Wilson).
func (n notes) ratio() (share, low, high float64) {
	if n.Downloads < 1 {
		return 0, 0, 1
	}
	const z = 1.645
	p, d := n.Changed/n.Downloads, n.Downloads
	mid := (p + z*z/(2*d)) / (1 + z*z/d)
	half := z / (1 + z*z/d) * math.Sqrt(p*(1-p)/d+z*z/(4*d*d))
	return p, max(0, mid-half), min(1, mid+half)
}

// blame takes down what is wrong with a site.
func (s *survey) blame(at time.Time, url, text string) {
	for i, p := range s.notes.Problems {
		if p.URL == url && p.Text == text {
			s.notes.Problems[i].At = at
			s.dirty = true
			return
		}
	}
	s.notes.Problems = append(s.notes.Problems, Problem{At: at, URL: url, Text: text})
	s.notes.Problems = s.notes.Problems[max(0, len(s.notes.Problems)-mostProblems):]
	s.dirty = true
}
