package worker

import (
	"errors"
	"time"

	"freshet/internal/extract"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
)

// A Result is what a look found: the source as before, a capture, or a failure.
type Result struct {
	Took     time.Duration // until the answer was in
	Result   freshet.Result
	Status   int   // of the last HTTP response; zero if none came
	Requests int   // made in all, redirects included; none if it was read from a shared fetch
	Bytes    int64 // of body taken off the wire

	Modified   time.Time     // when the source says it last changed, if that can be true
	Dates      []time.Time   // when it says that it changed before, likewise, the newest first
	RetryAfter time.Duration // how long the server asked us to stay away
	FreshFor   time.Duration // for how long the source says that it stays as it is

	// Away says which hosts of parts of a rendered page asked to be left alone, and
	// for how long.
	HostBackoffs map[string]time.Duration

	Moved      freshet.Moved      // where the source is now, if permanent redirects lead away from its URL
	Validators freshet.Validators // as received
	Sums       freshet.Sums       // of what was seen
	Capture    *freshet.Capture   // set if the result is Captured, or stores a version quietly

	Judged noise.Judgement // whether what differs from the head is only noise, if that was judged
	Items  []byte          // which items the source has had by now; nil if that is what was known before
	Noise  []byte          // what is known of the noise of the source by now; nil if that is what was known before

	Suspect suspect.Class // why what was seen is probably not the page that is wanted
	Landed  string        // the URL that answered, if it names another page than the source's

	Held      freshet.Held  // what is held from now on, if Doubted
	LookAgain time.Duration // how soon another look is wanted at it

	Word     *evidence.IndexHint    // what the source says of other pages, if that is news
	Foretold *evidence.Announcement // what it says of when it will change, if that was read again
	Listed   int                    // of the pages that it may speak for, how many it was seen to list; below zero if that is not known

	Failure failure.Class // the class of what went wrong, if Failed
	Err     string        // the same in words

	// Shared are the results for the shared tasks, in their order. There are none if the
	// look says nothing about them. Their results name
	// no requests and no bytes: none were made for them.
	Shared []Result

	picture []byte       // of a page that was rendered
	kind    reading.Kind // how the response was read
}

// Fail returns the result of a task that could not be carried out.
func (t *Task) Fail(err error) Result {
	return Result{Listed: -1, Moved: t.whereabouts(freshet.Response{}, err)}.failed(err)
}

// failed returns the result of a look that did not see its source. What the
// response brought beside that is not to be gone by.
func (f Result) failed(err error) Result {
	f.Result, f.Err, f.Failure = freshet.Failed, err.Error(), failure.Internal
	f.Validators, f.Sums, f.Capture = freshet.Validators{}, freshet.Sums{}, nil
	f.Suspect, f.Landed, f.FreshFor = "", "", 0
	f.Judged, f.Noise, f.Items = noise.Judgement{}, nil, nil
	f.Held, f.LookAgain = freshet.Held{}, 0
	f.Dates, f.Word, f.Foretold, f.Listed = nil, nil, nil, -1
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		f.Failure = e.Class
	} else if e, ok := errors.AsType[*extract.Error](err); ok {
		f.Failure = e.Class
	}
	return f
}

// Record returns what a poll that began at a moment leaves behind.
func (f Result) Record(p freshet.Poll, began time.Time) freshet.Record {
	o := freshet.Outcome{
		Source: p.Source.ID, Cause: p.Cause, Since: p.Since, Pushed: p.Pushed, Began: began, Ended: began.Add(f.Took),
		Result: f.Result, Status: f.Status, Requests: f.Requests, Bytes: f.Bytes,
		Modified: f.Modified, Dates: f.Dates, Word: f.Word, Foretold: f.Foretold, FreshFor: f.FreshFor, LookAgain: f.LookAgain, Suspect: f.Suspect, Landed: f.Landed, Failure: f.Failure, Err: f.Err,
	}
	if f.RetryAfter > 0 {
		o.NotBefore = o.Ended.Add(f.RetryAfter)
	}
	return freshet.Record{Outcome: o, URL: p.Source.URL, Validators: f.Validators, Sums: f.Sums, Moved: f.Moved, Capture: f.Capture, Noise: f.Noise, Items: f.Items, Held: f.Held}
}
