package synth

import "time"

// UniformRival returns how a poller would have fared at to that began at from
// and has since polled page after page in the order of their IDs, one every so
// often, round and round, whatever the pages do. Its polls take no time and are
// polite to nobody; a page in trouble shows it nothing.
func (w *Web) UniformRival(every time.Duration, from, to time.Time) Score {
	var s Score
	every = max(every, time.Nanosecond)
	round := every * time.Duration(len(w.pages))
	for i, p := range w.pages {
		first := from.Add(time.Duration(i) * every)
		for _, c := range p.changes(from, to) {
			s.add(c, w.firstLook(p, c, pollAt(first, round, c.at), round, to), to)
		}
	}
	return s
}

// pollAt returns the first poll at or after t of a page that is polled at
// first and once every round from then on.
func pollAt(first time.Time, round time.Duration, t time.Time) time.Time {
	if !t.After(first) {
		return first
	}
	rounds := (t.Sub(first) + round - 1) / round
	return first.Add(rounds * round)
}

// firstLook returns the first of the polls from poll on that shows the change
// before the next one covers it, or zero if there is none up to a moment.
func (w *Web) firstLook(p *page, c change, poll time.Time, round time.Duration, to time.Time) time.Time {
	for ; !poll.After(to) && (c.next.IsZero() || poll.Before(c.next)); poll = poll.Add(round) {
		if !p.Trouble.at(poll.Sub(w.start)) {
			return poll
		}
	}
	return time.Time{}
}
