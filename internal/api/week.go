package api

import (
	"context"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

const (
	weekDays     = 7
	weekPart     = 50_000 // places in the log of changes that are counted at a time
	weekPatience = time.Second
)

// A week counts the changes of each source on each of the last seven days of UTC. It is brought up to date
// when somebody looks, by the changes since: a list of any length costs no more for it.
type week struct {
	mu    sync.Mutex
	begun bool
	at    freshet.Cursor // everything up to here is counted
	today int64          // since 1970
	days  map[freshet.SourceID]*[weekDays]int32
}

// dayOf numbers the days since 1970.
func dayOf(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// read counts what came since the last look, and reports whether that is all there is by now.
func (w *week) read(ctx context.Context, log sourceStore, now time.Time) (all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, weekPatience)
	defer cancel()
	w.pass(dayOf(now))
	since := time.Unix(0, 0).AddDate(0, 0, int(w.today)-weekDays+1)
	end, err := log.LastChange(ctx)
	if err != nil {
		return false, err
	}
	if !w.begun || end < w.at {
		first, err := log.FirstChange(ctx, since)
		if err != nil {
			return false, err
		}
		w.begun, w.at, w.days = true, first, map[freshet.SourceID]*[weekDays]int32{}
	}
	for w.at < end {
		to := min(end, w.at+weekPart)
		counts, err := log.ChangesByDay(ctx, w.at, to, since)
		if err != nil {
			return false, err
		}
		for _, c := range counts {
			if w.days[c.Source] == nil {
				w.days[c.Source] = new([weekDays]int32)
			}
			if day := dayOf(c.Day); day <= w.today {
				w.days[c.Source][day%weekDays] += int32(c.Changes)
			}
		}
		w.at = to
	}
	return true, nil
}

// pass makes a day the last one, and forgets those that are a week ago by then.
func (w *week) pass(today int64) {
	for day := max(w.today+1, today-weekDays+1); day <= today; day++ {
		for id, counts := range w.days {
			if counts[day%weekDays] = 0; *counts == [weekDays]int32{} {
				delete(w.days, id)
			}
		}
	}
	w.today = max(w.today, today)
}

// addWeeks says how many changes sources had on each of the last days, once they are counted.
func (a *sourceAPI) addWeeks(ctx context.Context, sources []client.Source) error {
	a.week.mu.Lock()
	defer a.week.mu.Unlock()
	if all, err := a.week.read(ctx, a.store, a.Now()); err != nil || !all {
		return ctx.Err() // a list without them is better than none
	}
	for i := range sources {
		sources[i].Week = make([]int, weekDays)
		if counts := a.week.days[sources[i].ID]; counts != nil {
			for back := range weekDays {
				sources[i].Week[weekDays-1-back] = int(counts[(a.week.today-int64(back))%weekDays])
			}
		}
	}
	return nil
}
