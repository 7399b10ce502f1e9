package freshet

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
)

// Conditions are the states that a source is in, one bit each.
type Conditions uint8

// The states of a source. One that is paused is in no other: it needs nobody's attention.
const (
	IsFailing Conditions = 1 << iota // the last poll failed
	IsNoisy                          // it differs at nearly every poll
	IsPaused                         // it is not polled
	IsUnseen                         // no poll has seen it
	IsSuspect                        // it probably returns the wrong page
	IsWell                           // none of these
	IsMoved                          // its server says that it has moved; it may be well otherwise
)

// Conditions returns the states that the source is in.
func (w SourceWithStatus) Conditions() (c Conditions) {
	if w.Paused {
		return IsPaused
	}
	st := &w.Status
	if st.Failures > 0 {
		c |= IsFailing
	}
	if w.Noisy() {
		c |= IsNoisy
	}
	if st.Seen.IsZero() {
		c |= IsUnseen
	}
	if st.Suspect != "" {
		c |= IsSuspect
	}
	if c == 0 {
		c = IsWell
	}
	if st.Moved.URL != "" {
		c |= IsMoved
	}
	return c
}

// A SourceFilter says which sources a list has. What is empty lets all through.
type SourceFilter struct {
	Tag     string
	Host    string
	Text    string     // in the ID, URL, name or title, in any case
	In      Conditions // in one of these states
	Of      SourceID   // pages of this site
	Named   bool       // no pages of sites
	Removed bool       // those that were removed, and not those that are watched
}

// Has reports whether the list has a source. Whether it was removed is not asked.
func (f SourceFilter) Has(w SourceWithStatus) bool {
	switch {
	case f.Named && w.Of != "", f.Of != "" && w.Of != f.Of:
		return false
	case f.Tag != "" && !slices.Contains(w.Tags, f.Tag), f.Host != "" && w.Host() != f.Host:
		return false
	case f.In != 0 && w.Conditions()&f.In == 0:
		return false
	case f.Text == "":
		return true
	}
	text := strings.ToLower(f.Text)
	return slices.ContainsFunc([]string{string(w.ID), w.URL, w.Name, w.Status.Head.Title}, func(field string) bool {
		return strings.Contains(strings.ToLower(field), text)
	})
}

// A SourceOrder is what a list is sorted by; sources that are alike in it by their IDs.
type SourceOrder string

// The orders of a list.
const (
	ByID      SourceOrder = ""        // by the ID alone
	ByChanged SourceOrder = "changed" // the latest change first
	BySeen    SourceOrder = "seen"    // last seen longest ago first, those never seen before all
	ByPolls   SourceOrder = "polls"   // most polls first
	ByChanges SourceOrder = "changes" // most changes first
)

// A SourceRank is the place of a source in an order.
type SourceRank struct {
	Key int64 // what it is sorted by
	ID  SourceID
}

// FirstRank comes before all others.
var FirstRank = SourceRank{Key: math.MinInt64}

// Compare orders ranks.
func (r SourceRank) Compare(o SourceRank) int {
	return cmp.Or(cmp.Compare(r.Key, o.Key), cmp.Compare(r.ID, o.ID))
}

// Rank returns the place of a source.
func (by SourceOrder) Rank(w SourceWithStatus) SourceRank {
	st := &w.Status
	return SourceRank{by.Key(st.Seen, st.ChangedAt, st.Polls, st.Changes), w.ID}
}

// Key returns what a source is sorted by of which these are known.
func (by SourceOrder) Key(seen, changed time.Time, polls int64, changes int) int64 {
	nanos := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixNano()
	}
	switch by {
	case ByChanged:
		return -nanos(changed)
	case BySeen:
		return nanos(seen)
	case ByPolls:
		return -polls
	case ByChanges:
		return -int64(changes)
	}
	return 0
}

// A SourceQuery asks for a part of a list of sources.
type SourceQuery struct {
	SourceFilter
	By      SourceOrder
	Reverse bool
	After   *SourceRank // only what comes after it in this order; nil means all
	Offset  int         // leave out so many of them first
	Limit   int         // at most so many; 0 means all
}

// A SourceList is a part of a list.
type SourceList struct {
	Sources []SourceWithStatus
	More    bool // there are more after them
	Total   int  // sources that the filter lets through, wherever in the order

	// End is the place of the last of them when the list was made: the next part comes
	// after it, wherever that source is by now.
	End SourceRank
}

// Compare orders ranks as the query asks for them.
func (q SourceQuery) Compare(a, b SourceRank) int {
	if q.Reverse {
		return b.Compare(a)
	}
	return a.Compare(b)
}

// List returns the part of a list that the query asks for, of all sources that it may
// have: those that are watched, or those that were removed. It goes through all, and holds
// those that the filter lets through.
func (q SourceQuery) List(all iter.Seq2[SourceWithStatus, error]) (list SourceList, err error) {
	for w, err := range all {
		if err != nil {
			return SourceList{}, err
		}
		if !q.Has(w) {
			continue
		}
		list.Total++
		if q.After == nil || q.Compare(q.By.Rank(w), *q.After) > 0 {
			list.Sources = append(list.Sources, w)
		}
	}
	slices.SortFunc(list.Sources, func(a, b SourceWithStatus) int { return q.Compare(q.By.Rank(a), q.By.Rank(b)) })
	list.Sources = list.Sources[min(q.Offset, len(list.Sources)):]
	if q.Limit > 0 && len(list.Sources) > q.Limit {
		list.Sources, list.More = list.Sources[:q.Limit], true
	}
	if n := len(list.Sources); n > 0 {
		list.End = q.By.Rank(list.Sources[n-1])
	}
	return list, nil
}

// SourceCounts are how many sources are watched.
type SourceCounts struct {
	All   StateCounts
	Named StateCounts // without the pages of sites
	Tags  map[string]int
	Hosts map[string]int // of those that are named, as the tags
}

// StateCounts are how many sources there are, and how many in each state.
type StateCounts struct {
	Total int
	In    map[Conditions]int // by single states; those without sources may be left out
}

// Count counts sources.
func Count(all iter.Seq2[SourceWithStatus, error]) (SourceCounts, error) {
	n := SourceCounts{
		All: StateCounts{In: map[Conditions]int{}}, Named: StateCounts{In: map[Conditions]int{}},
		Tags: map[string]int{}, Hosts: map[string]int{},
	}
	for w, err := range all {
		if err != nil {
			return SourceCounts{}, err
		}
		n.All.Add(w.Conditions(), 1)
		if w.Of != "" {
			continue
		}
		n.Named.Add(w.Conditions(), 1)
		for _, t := range w.Tags {
			n.Tags[t]++
		}
		n.Hosts[w.Host()]++
	}
	return n, nil
}

// Add counts so many sources that are in the same states.
func (n *StateCounts) Add(in Conditions, sources int) {
	n.Total += sources
	for state := IsFailing; state <= IsMoved; state <<= 1 {
		if in&state != 0 {
			n.In[state] += sources
		}
	}
}
