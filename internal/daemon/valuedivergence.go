package daemon

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// A DivergenceQuery asks how far the copies of a value were from their sources.
type DivergenceQuery struct {
	Field     string             // the extracted value
	Differ    outlook.Difference // how far apart two of them are
	In        freshet.Between    // both bounds are set
	Tag, Host string             // only sources with this tag, or of this host; "" means all
}

// A ValueDivergence says how far copies of a value were from their sources, on average over time.
type ValueDivergence struct {
	Source   freshet.SourceID // "" for all together
	Changes  int              // of the value that were seen
	Unknown  int              // changes from or to something that is no number, which do not count
	Watched  time.Duration
	behind   float64 // difference in seconds
	variance float64 // of that
}

// Mean returns the difference on average over time, with the range that holds it nine times in ten
// if each change seen was one.
func (d ValueDivergence) Mean() outlook.Range {
	if d.Watched <= 0 {
		return outlook.Range{}
	}
	seconds := d.Watched.Seconds()
	mean, off := d.behind/seconds, learn.NineInTen*math.Sqrt(d.variance)/seconds
	return outlook.Range{Mean: mean, Low: max(0, mean-off), High: mean + off}
}

// A valueDivergence reads the log of changes to say how far copies of values were from their
// sources.
type valueDivergence struct {
	store freshet.Store
}

// changesRead is how many changes are read at once.
const changesRead = 1000

// ValueDivergence returns how far the copies of a value were from their sources, of all sources that
// have the value together and of each, the farthest first. A change came at any moment between the
// two polls that saw it, each as likely, unless the source dates it. What came and went between two
// polls is not seen.
func (d *valueDivergence) ValueDivergence(ctx context.Context, q DivergenceQuery) (all ValueDivergence, each []ValueDivergence, err error) {
	places := map[freshet.SourceID]int{}
	for w, err := range d.store.Sources(ctx) {
		if err != nil {
			return all, nil, fmt.Errorf("read sources: %w", err)
		}
		if _, ok := w.Recipe.Extract[q.Field]; !ok || q.Tag != "" && !slices.Contains(w.Tags, q.Tag) || q.Host != "" && w.Host() != q.Host {
			continue
		}
		places[w.ID] = len(each)
		each = append(each, ValueDivergence{Source: w.ID, Watched: max(0, earliest(q.In.Until, w.Status.Seen).Sub(latest(q.In.Since, w.Created)))})
	}
	for after := freshet.Cursor(0); ; {
		list, err := d.store.Changes(ctx, freshet.ChangeQuery{After: after, Seen: q.In, Limit: changesRead})
		if err != nil {
			return all, nil, fmt.Errorf("changes after %d: %w", after, err)
		}
		for _, c := range list {
			if after = c.Cursor; c.Suspect != "" {
				continue
			}
			if i, ok := places[c.Source]; ok {
				each[i].add(q, &c)
			}
		}
		if len(list) < changesRead {
			break
		}
	}
	for _, v := range each {
		all.Changes, all.Unknown, all.Watched = all.Changes+v.Changes, all.Unknown+v.Unknown, all.Watched+v.Watched
		all.behind, all.variance = all.behind+v.behind, all.variance+v.variance
	}
	slices.SortStableFunc(each, func(a, b ValueDivergence) int { return cmp.Compare(b.Mean().Mean, a.Mean().Mean) })
	return all, each, nil
}

// add takes in a change.
func (d *ValueDivergence) add(q DivergenceQuery, c *freshet.Change) {
	for _, f := range c.Details.Fields {
		if f.Name != q.Field {
			continue
		}
		from, ok := f.From.(float64)
		to, both := f.To.(float64)
		if !ok || !both {
			d.Unknown++
			return
		}
		d.Changes++
		differ := q.Differ(from, to)
		if !c.Modified.IsZero() {
			d.behind += differ * c.Before.Sub(latest(c.Modified, q.In.Since)).Seconds()
			return
		}
		gap := c.Before.Sub(latest(c.After, q.In.Since)).Seconds()
		d.behind += differ * gap / 2
		d.variance += differ * gap * differ * gap / 12
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
