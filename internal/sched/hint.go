package sched

import (
	"time"

	"freshet/internal/freshet"
)

// A hint is what a server says about how long a source stays as it is. The policy
// does not have the source polled before that, up to the longest that the limits
// allow. A hint holds back nothing else: a poll that somebody asked for and one that
// a MaxGap or a doubt makes due are made. A source with a MinGap goes by that, and one that was
// seen to change before the time that a hint named goes by no hint any more.

// hintUntil returns until when a hint keeps the policy from polling a source; zero if
// none does.
func (s *Scheduler) hintUntil(e *entry) time.Time {
	if s.limits.Hints <= 0 || e.belied || e.source.MinGap > 0 || e.fresh == 0 || e.seen == 0 {
		return time.Time{}
	}
	return earlier(e.fresh.time(), e.seen.time().Add(s.limits.Hints))
}

// heed takes over what a poll that saw a source says about how long it stays so.
func (s *Scheduler) heed(e *entry, o freshet.Outcome) {
	e.belied = e.belied || o.Belies(e.fresh.time())
	e.fresh = stampOf(o.FreshUntil())
}
