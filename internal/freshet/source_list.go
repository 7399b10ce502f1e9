package freshet

import (
	"cmp"
	"freshet/internal/mask"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
)

// Conditions are the conditions of a source, one bit each.
type Conditions uint8

// The conditions of a source. A paused source has no other.
const (
	IsFailing Conditions = 1 << iota // the last poll failed
	IsNoisy                          // it differs at nearly every poll
	IsPaused                         // it is not polled
	IsUnseen                         // no poll has seen it, and none has failed
	IsSuspect                        // it probably returns the wrong page
	IsWell                           // none of these
	IsMoved                          // permanent redirects lead to another URL; it may be well otherwise
)

// Conditions returns the conditions of the source.
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
	if st.Seen.IsZero() && st.Failures == 0 {
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

// A SourceFilter selects sources. Empty fields select all.
type SourceFilter struct {
	Tag     string
	Host    string
	Text    string     // in the ID, masked URL, name or title, in any case
	In      Conditions // in one of these conditions
	Of      SourceID   // pages of this site
	Named   bool       // no pages of sites
	Removed bool       // removed sources instead of watched ones
}

// Has reports whether the filter selects a source. It ignores Removed.
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
	return slices.ContainsFunc([]string{string(w.ID), mask.URL(w.URL), w.Name, w.Status.Head.Title}, func(field string) bool {
		return strings.Contains(strings.ToLower(field), text)
	})
}

// A SourceOrder is a sort order of sources; ties are sorted by ID.
type SourceOrder string

// The orders of a list.
const (
	ByID      SourceOrder = ""        // by the ID alone
	ByChanged SourceOrder = "changed" // the latest change first
	BySeen    SourceOrder = "seen"    // last seen longest ago first, those never seen before all
	ByPolls   SourceOrder = "polls"   // most polls first
	ByChanges SourceOrder = "changes" // most changes first

	// ByAttention is by what needs a person: failing, suspect, noisy, not seen, moved, well,
	// paused; of those the latest change first.
	ByAttention SourceOrder = "attention"
)

// A SourceRank is the position of a source in an order.
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

// Rank returns the position of a source.
func (by SourceOrder) Rank(w SourceWithStatus) SourceRank {
	st := &w.Status
	return SourceRank{by.Key(w.Conditions(), st.Seen, st.ChangedAt, st.Polls, st.Changes), w.ID}
}

// Key returns the sort key of a source.
func (by SourceOrder) Key(in Conditions, seen, changed time.Time, polls int64, changes int) int64 {
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
	case ByAttention:
		const span = 1 << 40 // more seconds than there are
		latest := int64(0)
		if !changed.IsZero() {
			latest = changed.Unix()
		}
		return in.urgency()*span - latest
	}
	return 0
}

// urgency returns how late a source in these conditions comes among those that need attention.
func (c Conditions) urgency() int64 {
	for i, state := range []Conditions{IsFailing, IsSuspect, IsNoisy, IsUnseen, IsMoved, IsWell} {
		if c&state != 0 {
			return int64(i)
		}
	}
	return 6
}

// A SourceQuery selects a page of a list of sources.
type SourceQuery struct {
	SourceFilter
	By      SourceOrder
	Reverse bool
	After   *SourceRank // only sources after it in this order; nil means all
	Offset  int         // number of sources to skip
	Limit   int         // 0 means all
}

// A SourceList is a page of a list.
type SourceList struct {
	Sources []SourceWithStatus
	More    bool // more sources follow
	Total   int  // number of sources that the filter selects

	// End is the position of the last source when the list was made. The next page begins
	// after it, even if that source has moved since.
	End SourceRank
}

// Compare orders ranks in the order of the query.
func (q SourceQuery) Compare(a, b SourceRank) int {
	if q.Reverse {
		return b.Compare(a)
	}
	return a.Compare(b)
}

// List returns the page of a list of all watched, or all removed, sources. It reads all of
// them and holds those that the filter selects.
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

// SourceCounts are numbers of watched sources.
type SourceCounts struct {
	All   StateCounts
	Named StateCounts // without the pages of sites
	Tags  map[string]int
	Hosts map[string]int // of sources that are no pages of sites, as for Tags
}

// StateCounts are the number of sources, in all and by condition.
type StateCounts struct {
	Total int
	In    map[Conditions]int // by single condition; zero counts may be missing
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

// Add counts sources with the same conditions.
func (n *StateCounts) Add(in Conditions, sources int) {
	n.Total += sources
	for state := IsFailing; state <= IsMoved; state <<= 1 {
		if in&state != 0 {
			n.In[state] += sources
		}
	}
}
