package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
)

// A DaysQuery selects days and the sources that count.
type DaysQuery struct {
	In   freshet.Between // both bounds are set
	Zone *time.Location  // whose days they are
	Tag  string          // only sources with this tag; "" means all
	Host string          // only sources of this host; "" means all
}

// Days are what became of polls, by the day.
type Days struct {
	List  []Day         // the oldest first, also those without a poll
	From  time.Time     // nothing before this was read, because there was too much; zero if all was
	Share outlook.Range // of the changes that were captured, of all these sources of late
}

// A Day is what became of the polls that began on it.
type Day struct {
	Begins   time.Time
	Requests int
	Polls    int
	Failed   int
	Changes  int     // polls that found a change
	Captured float64 // changes that polls are thought to have seen
	Happened float64 // changes that are thought to have happened before these polls and after the ones before
}

// ShareOf returns the share of the changes of a day that was captured. How far off it may
// be is taken from all that is known of these sources.
func (days Days) ShareOf(d Day) outlook.Range {
	missed := d.Happened - d.Captured
	if d.Captured <= 0 || missed <= 0 {
		return outlook.Range{Mean: 1, Low: 1, High: 1}
	}
	of := func(share float64) float64 { // with as many times as many missed as there would be on the whole
		times := 1.0
		if odds := 1/days.Share.Mean - 1; share > 0 && odds > 0 {
			times = (1/share - 1) / odds
		}
		return d.Captured / (d.Captured + times*missed)
	}
	return outlook.Range{Mean: of(days.Share.Mean), Low: of(days.Share.Low), High: of(days.Share.High)}
}

const (
	daysRead = 1000      // outcomes at once
	daysMost = 2_000_000 // outcomes that are read at most
)

// dailyStats reads the log of outcomes backwards to count what became of polls by the day.
type dailyStats struct {
	store   freshet.OutcomeLog
	loop    *loop
	learner *learn.Learner // may be nil
	mu      sync.Mutex     // held for a pass over the log
}

// Days goes through the log of outcomes once, from its end back. How many changes came
// between two polls goes by how often the source changes as far as is known now.
func (d *dailyStats) Days(ctx context.Context, q DaysQuery) (Days, error) {
	known, share, err := d.paces(ctx, q)
	if err != nil {
		return Days{}, err
	}
	days := newDays(q)
	days.Share = share
	d.mu.Lock()
	defer d.mu.Unlock()
	var before freshet.Cursor
	for read := 0; ; {
		found, err := d.store.Outcomes(ctx, freshet.OutcomeQuery{Newest: true, After: before, Limit: daysRead})
		if err != nil {
			return Days{}, fmt.Errorf("outcomes before %d: %w", before, err)
		}
		early := len(found) > 0
		for _, o := range found {
			before = o.Cursor
			early = early && o.Began.Before(q.In.Since)
			if pace, ok := known[o.Source]; ok {
				days.count(q.Zone, o, pace, d.learner.Tick())
			}
		}
		// Polls end in another order than they begin, but not a thousand polls apart.
		if len(found) == 0 || early {
			return days.Days, nil
		}
		if read += len(found); read >= daysMost {
			days.From = found[len(found)-1].Began
			return days.Days, nil
		}
	}
}

// A pace is what is known of a source that says how many changes lie between two polls.
type pace struct {
	rate float64 // changes a second, on average over its rhythm
	life objective.Visibility
}

// paces returns that of every source that was asked for, and the share of their changes
// that is captured.
func (d *dailyStats) paces(ctx context.Context, q DaysQuery) (map[freshet.SourceID]pace, outlook.Range, error) {
	switch {
	case !d.loop.running.Load():
		return nil, outlook.Range{}, notRunning()
	case d.learner == nil:
		return nil, outlook.Range{}, freshet.WithHint(ErrNoNumbers, "run the daemon with the policy auto")
	}
	known := map[freshet.SourceID]pace{}
	var all outlook.Tally
	for from, slots := 0, 1; from < slots; from += countAtOnce {
		err := d.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
			slots = s.Slots()
			for slot := freshet.Slot(from); int(slot) < min(from+countAtOnce, slots); slot++ {
				source, ok := s.Source(slot)
				if !ok || q.Tag != "" && !slices.Contains(source.Tags, q.Tag) || q.Host != "" && s.HostName(slot) != q.Host {
					continue
				}
				tally, p := d.learner.Tally(slot), pace{life: source.Life}
				if tally.Watched > 0 {
					p.rate = tally.Happened / tally.Watched
				}
				known[source.ID] = p
				all = all.Add(tally)
			}
		})
		if err != nil {
			return nil, outlook.Range{}, fmt.Errorf("look at the sources: %w", err)
		}
	}
	return known, learn.Share(all), nil
}

// A daily adds up days.
type daily struct {
	Days
	at map[string]int // place of a day by its date
}

// newDays returns the days of a query, without a poll.
func newDays(q DaysQuery) *daily {
	days := &daily{at: map[string]int{}}
	begins := q.In.Since.In(q.Zone)
	begins = time.Date(begins.Year(), begins.Month(), begins.Day(), 0, 0, 0, 0, q.Zone)
	for ; begins.Before(q.In.Until); begins = begins.AddDate(0, 0, 1) {
		days.at[begins.Format(time.DateOnly)] = len(days.List)
		days.List = append(days.List, Day{Begins: begins})
	}
	return days
}

// count adds an outcome to its day.
func (days *daily) count(zone *time.Location, o freshet.Outcome, p pace, tick time.Duration) {
	i, ok := days.at[o.Began.In(zone).Format(time.DateOnly)]
	if !ok {
		return
	}
	day := &days.List[i]
	day.Requests += o.Requests
	day.Polls++
	switch o.Result {
	case freshet.Failed:
		day.Failed++
	case freshet.Changed:
		happened, captured := learn.BetweenPolls(p.rate, o.Began.Sub(o.Since), tick, p.life)
		day.Changes++
		day.Happened += happened
		day.Captured += captured
	}
}
