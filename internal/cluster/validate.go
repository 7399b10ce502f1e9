package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/lazyregexp"
	"freshet/internal/units"
	"freshet/internal/worker"
)

// The leader checks the results of workers, which run elsewhere and parse whatever servers send
// them. It has to trust the captured content, but not the times, the number of requests or the
// hosts that a result names.
const (
	maxBackoff = units.Day       // longest back-off of a host
	maxFresh   = 370 * units.Day // longest freshness lifetime
	maxBytes   = 1 << 40         // of one poll
	maxText    = 4 << 10         // bytes of a message
	clockSlack = 5 * time.Minute // as in package worker
)

// classes matches failure classes, which become labels of metrics.
var classes = lazyregexp.New(`^[a-z][a-z0-9_]{0,30}(\.[a-z0-9_]{1,30}){0,2}$`)

// validate returns an error if the result of a poll that took so long is not possible. It replaces
// what the leader knows better.
func (e *assignment) validate(f *worker.Result, took time.Duration) error {
	f.Requests = e.requestsMade(f.Requests)
	f.HostBackoffs = e.hostBackoffs(f.HostBackoffs)
	if err := validate(f, e.task, e.task.At.Add(took)); err != nil {
		return err
	}
	e.confineToSourceHost(f)
	f.Took, f.Moved = took, e.checkMoved(f.Moved, e.task)
	for i := range f.Shared {
		one, o := &f.Shared[i], &e.task.Shared[i]
		if err := validate(one, o, e.task.At.Add(took)); err != nil {
			return err
		}
		one.Took, one.Requests, one.Bytes, one.RetryAfter, one.HostBackoffs, one.Shared = took, 0, 0, 0, nil, nil
		one.Moved = e.checkMoved(one.Moved, o)
	}
	return nil
}

// requestsMade returns the number of requests that a worker reports, at most the permitted ones.
func (e *assignment) requestsMade(reported int) int { return min(max(0, reported), e.permitted()) }

// hostBackoffs returns the reported back-offs of hosts to which a request was permitted.
func (e *assignment) hostBackoffs(reported map[string]time.Duration) map[string]time.Duration {
	var backoffs map[string]time.Duration
	for host, wait := range reported {
		if !e.reached(host) {
			continue
		}
		if backoffs == nil {
			backoffs = map[string]time.Duration{}
		}
		backoffs[host] = clamp(wait, maxBackoff)
	}
	return backoffs
}

// checkMoved returns the reported new location of a source if it is at a host to which a request
// was permitted, and the known location otherwise. Without this check, a worker could have the
// leader read a local file.
func (e *assignment) checkMoved(reported freshet.Moved, o *worker.Task) freshet.Moved {
	switch {
	case reported.URL == "":
		return freshet.Moved{}
	case reported.URL == o.Head.Moved.URL && reported.At.Equal(o.Head.Moved.At):
		return o.Head.Moved
	case freshet.MediumOf(reported.URL) != freshet.OnWeb || !e.reached(freshet.HostOf(reported.URL)):
		return o.Head.Moved
	case reported.At.Equal(o.Head.Moved.At): // it moved on from its new location
		return freshet.Moved{URL: reported.URL, At: o.Head.Moved.At}
	}
	return freshet.Moved{URL: reported.URL, At: e.task.At}
}

// reached reports whether a request to a host was permitted.
func (e *assignment) reached(host string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.hosts, host)
}

// validateRobots clamps the values of a robots.txt result.
func (e *assignment) validateRobots(m *robotsMessage) {
	m.Requests, m.Bytes = e.requestsMade(m.Requests), min(max(0, m.Bytes), maxBytes)
	m.RetryAfter, m.Answer.FreshFor = clamp(m.RetryAfter, maxBackoff), clamp(m.Answer.FreshFor, maxFresh)
	if !e.atSourceHost() {
		m.RetryAfter = 0
	}
}

// validate returns an error if a result that was received at the time in is not possible. It clamps
// values that are out of range.
func validate(f *worker.Result, o *worker.Task, in time.Time) error {
	switch {
	case f.Result > freshet.Doubted:
		return fmt.Errorf("unknown result %d", f.Result)
	case (f.Result == freshet.Failed) != (f.Failure != ""), f.Failure != "" && !classes.MatchString(string(f.Failure)):
		return fmt.Errorf("a poll with the result %s has the failure class %.40q", f.Result, f.Failure)
	case f.Capture == nil && f.Result.Captured(), f.Capture != nil && f.Result == freshet.Failed:
		return fmt.Errorf("a poll with the result %s has a capture where none belongs, or none where one belongs", f.Result)
	case f.Capture != nil && f.Capture.Recipe != o.Source.Key():
		return errors.New("the capture was extracted with another recipe")
	case f.Suspect != "" && f.Suspect.Reason() == string(f.Suspect):
		return fmt.Errorf("unknown class of suspect %.40q", f.Suspect)
	case f.Status != 0 && (f.Status < 100 || f.Status > 999):
		return fmt.Errorf("invalid HTTP status %d", f.Status)
	}
	if err := validateHints(f); err != nil {
		return err
	}
	f.Bytes = min(max(0, f.Bytes), maxBytes)
	f.RetryAfter = clamp(f.RetryAfter, maxBackoff)
	f.FreshFor, f.LookAgain = clamp(f.FreshFor, maxFresh), clamp(f.LookAgain, maxFresh)
	f.Sums.Fresh = clamp(f.Sums.Fresh, maxFresh)
	late := func(at time.Time) bool { return at.After(in.Add(clockSlack)) }
	if late(f.Modified) {
		f.Modified = time.Time{}
	}
	if f.Dates = slices.DeleteFunc(f.Dates, late); len(f.Dates) > evidence.MaxDates {
		f.Dates = f.Dates[:evidence.MaxDates]
	}
	f.Err, f.Landed = truncate(f.Err), truncate(f.Landed)
	return nil
}

// validateHints returns an error if the index hint or the announcements of a result are not
// possible.
func validateHints(f *worker.Result) error {
	if w := f.Word; w != nil {
		if w.Kind >= evidence.IndexKinds {
			return fmt.Errorf("unknown kind of index %d", w.Kind)
		}
		for _, c := range w.Claims {
			if c.Freq >= evidence.ChangeFreqs {
				return fmt.Errorf("unknown change frequency %d", c.Freq)
			}
		}
	}
	if f.Foretold == nil {
		return nil
	}
	for i, n := range f.Foretold.Next {
		if n.By >= evidence.NextKinds || n.Every < 0 || i >= evidence.NextKinds {
			return fmt.Errorf("invalid announcement of kind %d", n.By)
		}
	}
	return nil
}

// clamp returns d, but at least 0 and at most limit.
func clamp(d, limit time.Duration) time.Duration { return min(max(0, d), limit) }

// truncate returns the first maxText bytes of a message.
func truncate(text string) string {
	if len(text) > maxText {
		return text[:maxText]
	}
	return text
}
