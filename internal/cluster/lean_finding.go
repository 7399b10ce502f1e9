package cluster

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// A findingRest is what few findings have. It is JSON also where all else is lean.
type findingRest struct {
	Away     map[string]time.Duration `json:"away,omitempty"`
	Capture  *freshet.Capture         `json:"capture,omitempty"`
	Judged   *noise.Judgement         `json:"judged,omitempty"`
	Word     *freshet.Word            `json:"word,omitempty"`
	Foretold *freshet.Foretelling     `json:"foretold,omitempty"`
}

// appendFinding appends a finding without what is large.
func appendFinding(b []byte, f *worker.Finding) ([]byte, error) {
	b = append(b, byte(f.Result))
	for _, n := range [...]int64{
		int64(f.Took), int64(f.Status), int64(f.Requests), f.Bytes, int64(f.RetryAfter), int64(f.FreshFor), int64(f.LookAgain), int64(f.Listed),
	} {
		b = binary.AppendVarint(b, n)
	}
	b = appendTime(b, f.Modified)
	b = binary.AppendUvarint(b, uint64(len(f.Dates)))
	for _, at := range f.Dates {
		b = appendTime(b, at)
	}
	b = appendSums(appendValidators(appendMoved(b, f.Moved), f.Validators), &f.Sums)
	b = appendText(appendText(appendHeld(b, &f.Held), f.Suspect), f.Landed)
	b = appendText(appendText(b, f.Failure), f.Err)
	b, err := appendRest(b, f)
	b = binary.AppendUvarint(b, uint64(len(f.Along)))
	for i := range f.Along {
		if err == nil {
			b, err = appendFinding(b, &f.Along[i])
		}
	}
	return b, err
}

// appendRest appends what few findings have.
func appendRest(b []byte, f *worker.Finding) ([]byte, error) {
	rest := findingRest{Away: f.Away, Capture: f.Capture, Word: f.Word, Foretold: f.Foretold}
	if j := &f.Judged; j.Verdict != "" || j.Flapping || j.Where != nil {
		rest.Judged = j
	}
	if len(rest.Away) == 0 && rest.Capture == nil && rest.Judged == nil && rest.Word == nil && rest.Foretold == nil {
		return append(b, 0), nil
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return b, fmt.Errorf("%s: %w", done, err)
	}
	return appendText(b, text), nil
}

// finding reads a finding.
func (r *lean) finding(depth int) (f worker.Finding) {
	if result := r.bytes(1); result != nil {
		if f.Result = freshet.Result(result[0]); f.Result > freshet.Doubted {
			r.fail()
		}
	}
	f.Took, f.Status, f.Requests, f.Bytes = r.duration(), int(r.int()), int(r.int()), r.int()
	f.RetryAfter, f.FreshFor, f.LookAgain, f.Listed = r.duration(), r.duration(), r.duration(), int(r.int())
	f.Modified = r.time()
	for range r.count(mostBlobs) {
		f.Dates = append(f.Dates, r.time())
	}
	f.Moved, f.Validators, f.Sums = r.moved(), r.validators(), r.sums()
	f.Held, f.Suspect, f.Landed = r.held(), freshet.Suspect(r.text()), r.text()
	f.Failure, f.Err = freshet.Failure(r.text()), r.text()
	r.findingRest(&f)
	for range r.nested(depth) {
		if r.err == nil {
			f.Along = append(f.Along, r.finding(depth+1))
		}
	}
	return f
}

// findingRest reads what few findings have.
func (r *lean) findingRest(f *worker.Finding) {
	text := r.bytes(r.uint())
	if len(text) == 0 {
		return
	}
	var rest findingRest
	if json.Unmarshal(text, &rest) != nil {
		r.fail()
		return
	}
	f.Away, f.Capture, f.Word, f.Foretold = rest.Away, rest.Capture, rest.Word, rest.Foretold
	if rest.Judged != nil {
		f.Judged = *rest.Judged
	}
}
