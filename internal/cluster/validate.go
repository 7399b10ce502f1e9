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

// What a worker says is held against what the leader knows: a worker runs elsewhere, and reads
// whatever servers send it. What it found is its word, but when a poll ended, how many requests it
// made and which hosts it may speak for is not.
const (
	longestAway  = units.Day       // that a host can ask to be left alone
	longestFresh = 370 * units.Day // that a source can be said to stay as it is
	mostBytes    = 1 << 40         // of one look
	mostText     = 4 << 10         // bytes of what is said for people
	clockSlack   = 5 * time.Minute // as in package worker
)

// classes are what classes of failures look like: they become labels of metrics.
var classes = lazyregexp.New(`^[a-z][a-z0-9_]{0,30}(\.[a-z0-9_]{1,30}){0,2}$`)

// validate holds a result that took so long against its assignment, and mends what only the leader can
// know. The error says what cannot be true of it.
func (e *assignment) validate(f *worker.Result, took time.Duration) error {
	f.Requests = e.made(f.Requests)
	f.HostBackoffs = e.hostBackoffs(f.HostBackoffs)
	if err := validate(f, e.task, e.task.At.Add(took)); err != nil {
		return err
	}
	e.boundHosts(f)
	f.Took, f.Moved = took, e.moved(f.Moved, e.task)
	for i := range f.Shared {
		one, o := &f.Shared[i], &e.task.Shared[i]
		if err := validate(one, o, e.task.At.Add(took)); err != nil {
			return err
		}
		one.Took, one.Requests, one.Bytes, one.RetryAfter, one.HostBackoffs, one.Shared = took, 0, 0, 0, nil, nil
		one.Moved = e.moved(one.Moved, o)
	}
	return nil
}

// made returns how many requests a worker made by its own word: none that was not permitted.
func (e *assignment) made(said int) int { return min(max(0, said), e.granted()) }

// hostBackoffs returns how long hosts want to be left alone: only those that were asked.
func (e *assignment) hostBackoffs(said map[string]time.Duration) map[string]time.Duration {
	var heard map[string]time.Duration
	for host, wait := range said {
		if !e.reached(host) {
			continue
		}
		if heard == nil {
			heard = map[string]time.Duration{}
		}
		heard[host] = within(wait, longestAway)
	}
	return heard
}

// moved returns where a source is now: where it was, or at a host that was asked. Else a worker
// could have a file of the leader's machine read.
func (e *assignment) moved(said freshet.Moved, o *worker.Task) freshet.Moved {
	switch {
	case said.URL == "":
		return freshet.Moved{}
	case said.URL == o.Head.Moved.URL && said.At.Equal(o.Head.Moved.At):
		return o.Head.Moved
	case freshet.MediumOf(said.URL) != freshet.OnWeb || !e.reached(freshet.HostOf(said.URL)):
		return o.Head.Moved
	case said.At.Equal(o.Head.Moved.At): // from where it has moved to, it has moved on
		return freshet.Moved{URL: said.URL, At: o.Head.Moved.At}
	}
	return freshet.Moved{URL: said.URL, At: e.task.At}
}

// reached reports whether a request to a host was permitted.
func (e *assignment) reached(host string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.hosts, host)
}

// validateRobots mends what a worker says of a robots.txt.
func (e *assignment) validateRobots(m *robotsMessage) {
	m.Requests, m.Bytes = e.made(m.Requests), min(max(0, m.Bytes), mostBytes)
	m.RetryAfter, m.Answer.FreshFor = within(m.RetryAfter, longestAway), within(m.Answer.FreshFor, longestFresh)
	if !e.atOwnHost() {
		m.RetryAfter = 0
	}
}

// validate returns what cannot be true of a result that was in at a moment, and mends what is off.
func validate(f *worker.Result, o *worker.Task, in time.Time) error {
	switch {
	case f.Result > freshet.Doubted:
		return fmt.Errorf("there is no result %d", f.Result)
	case (f.Result == freshet.Failed) != (f.Failure != ""), f.Failure != "" && !classes.MatchString(string(f.Failure)):
		return fmt.Errorf("a look that is %s does not fail as %.40q", f.Result, f.Failure)
	case f.Capture == nil && f.Result.Captured(), f.Capture != nil && f.Result == freshet.Failed:
		return fmt.Errorf("a look that is %s brings a version, or is none", f.Result)
	case f.Capture != nil && f.Capture.Recipe != o.Source.Key():
		return errors.New("it was not read as the source is to be read")
	case f.Suspect != "" && f.Suspect.Reason() == string(f.Suspect):
		return fmt.Errorf("%.40q is nothing to suspect", f.Suspect)
	case f.Status != 0 && (f.Status < 100 || f.Status > 999):
		return fmt.Errorf("there is no status %d", f.Status)
	}
	if err := validateHints(f); err != nil {
		return err
	}
	f.Bytes = min(max(0, f.Bytes), mostBytes)
	f.RetryAfter = within(f.RetryAfter, longestAway)
	f.FreshFor, f.LookAgain = within(f.FreshFor, longestFresh), within(f.LookAgain, longestFresh)
	f.Sums.Fresh = within(f.Sums.Fresh, longestFresh)
	late := func(at time.Time) bool { return at.After(in.Add(clockSlack)) }
	if late(f.Modified) {
		f.Modified = time.Time{}
	}
	if f.Dates = slices.DeleteFunc(f.Dates, late); len(f.Dates) > evidence.MaxDates {
		f.Dates = f.Dates[:evidence.MaxDates]
	}
	f.Err, f.Landed = cut(f.Err), cut(f.Landed)
	return nil
}

// validateHints returns what cannot be true of what a source says of itself and of others.
func validateHints(f *worker.Result) error {
	if w := f.Word; w != nil {
		if w.Kind >= evidence.IndexKinds {
			return fmt.Errorf("there is no index of kind %d", w.Kind)
		}
		for _, c := range w.Claims {
			if c.Freq >= evidence.ChangeFreqs {
				return fmt.Errorf("a page cannot change %d", c.Freq)
			}
		}
	}
	if f.Foretold == nil {
		return nil
	}
	for i, n := range f.Foretold.Next {
		if n.By >= evidence.NextKinds || n.Every < 0 || i >= evidence.NextKinds {
			return fmt.Errorf("there is no word of kind %d", n.By)
		}
	}
	return nil
}

// within returns a duration that is not below zero and not above most.
func within(d, most time.Duration) time.Duration { return min(max(0, d), most) }

// cut returns the beginning of a text that is too long.
func cut(text string) string {
	if len(text) > mostText {
		return text[:mostText]
	}
	return text
}
