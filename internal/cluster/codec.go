package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"freshet/internal/binenc"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
	"freshet/internal/worker"
)

// Tasks and results are most of what goes over the stream, so they are binary: numbers and texts
// one after the other, without names. All other frames are JSON. A binary header begins with one of
// these, and JSON with a brace.
const (
	binaryOrder = 1
	binaryDone  = 2
)

// mostNested is how deep tasks and results lie within each other.
const mostNested = 4

// isBinary reports whether a header begins like that of a binary frame.
func isBinary(head []byte) bool {
	return len(head) > 0 && (head[0] == binaryOrder || head[0] == binaryDone)
}

// appendBinary appends the header of a binary frame, up to what it says.
func (f frame) appendBinary(b []byte) []byte {
	w := binenc.Writer(b)
	if f.Kind == order {
		w.Byte(binaryOrder)
		w.Uvarint(f.ID)
		return w
	}
	w.Byte(binaryDone)
	w.Uvarint(f.ID)
	w.Uvarint(uint64(len(f.blobs)))
	for _, blob := range f.blobs {
		w.Varint(int64(sizeOf(blob)))
	}
	return w
}

// readBinary reads the header of a binary frame.
func (f *frame) readBinary(head []byte) error {
	r := newDecoder(head[1:])
	f.binary, f.Kind, f.ID = true, order, r.Uvarint()
	if head[0] == binaryDone {
		f.Kind = done
		for range r.count() {
			f.Blobs = append(f.Blobs, int(r.Varint()))
		}
	}
	f.Say = r.Rest()
	return r.Err()
}

// An encoder writes the values of tasks and results.
type encoder struct{ binenc.Writer }

// A decoder reads them.
type decoder struct {
	*binenc.Reader
	within int // tasks or results that lie within others
}

func newDecoder(b []byte) *decoder { return &decoder{Reader: binenc.NewReader(b)} }

func (r *decoder) text() string { return r.String(math.MaxInt) }

func (r *decoder) duration() time.Duration { return time.Duration(r.Varint()) }

// count returns how many values follow.
func (r *decoder) count() int { return r.Count(mostBlobs, 1) }

// nested returns how many tasks or results follow within one.
func (r *decoder) nested(depth int) int {
	n := r.count()
	if r.within += n; r.within > mostBlobs || n > 0 && depth >= mostNested {
		r.Fail()
		return 0
	}
	return n
}

func (w *encoder) time(t time.Time) {
	if t.IsZero() {
		w.Byte(0)
		return
	}
	w.Byte(1)
	w.Varint(t.Unix())
	w.Uvarint(uint64(t.Nanosecond()))
}

func (r *decoder) time() time.Time {
	if r.Uvarint() == 0 {
		return time.Time{}
	}
	return time.Unix(r.Varint(), int64(r.UvarintMax(uint64(time.Second)-1))).UTC()
}

func (w *encoder) hash(h freshet.Hash) {
	if h == (freshet.Hash{}) {
		w.Byte(0)
		return
	}
	w.Uvarint(uint64(len(h)))
	w.Raw(h[:])
}

func (r *decoder) hash() (h freshet.Hash) {
	copy(h[:], r.Bytes(r.Uvarint()))
	return h
}

func (w *encoder) validators(v freshet.Validators) {
	w.String(v.ETag)
	w.String(v.LastModified)
}

func (r *decoder) validators() freshet.Validators {
	return freshet.Validators{ETag: r.text(), LastModified: r.text()}
}

func (w *encoder) sums(s *freshet.Sums) {
	if w.Flags(*s != freshet.Sums{}, s.Known); *s == (freshet.Sums{}) {
		return
	}
	w.Uint64(s.Body)
	w.Uint64(s.Text)
	w.Varint(int64(s.Fresh))
}

func (r *decoder) sums() (s freshet.Sums) {
	var any bool
	if r.Flags(&any, &s.Known); !any {
		return freshet.Sums{}
	}
	s.Body, s.Text, s.Fresh = r.Uint64(), r.Uint64(), r.duration()
	return s
}

func (w *encoder) moved(m freshet.Moved) {
	w.String(m.URL)
	w.time(m.At)
}

func (r *decoder) moved() freshet.Moved { return freshet.Moved{URL: r.text(), At: r.time()} }

func (w *encoder) held(h *freshet.Held) {
	if w.Flags(*h != freshet.Held{}); *h == (freshet.Held{}) {
		return
	}
	w.Varint(int64(h.Number))
	w.hash(h.Hash)
	w.String(h.Recipe)
	w.String(string(h.Suspect))
	w.String(h.Landed)
	w.String(h.Summary)
	w.time(h.Seen)
	w.time(h.Since)
	w.Varint(int64(h.Looks))
	w.Varint(int64(h.Agreed))
	w.time(h.Again)
}

func (r *decoder) held() freshet.Held {
	var any bool
	if r.Flags(&any); !any {
		return freshet.Held{}
	}
	return freshet.Held{
		Number: int(r.Varint()), Hash: r.hash(), Recipe: r.text(), Suspect: suspect.Class(r.text()), Landed: r.text(), Summary: r.text(),
		Seen: r.time(), Since: r.time(), Looks: int(r.Varint()), Agreed: int(r.Varint()), Again: r.time(),
	}
}

func (w *encoder) head(h *freshet.Head) {
	w.Varint(int64(h.Number))
	w.hash(h.Hash)
	w.String(h.Recipe)
	w.validators(h.Validators)
	w.time(h.Asked)
	w.sums(&h.Sums)
	w.moved(h.Moved)
	w.String(string(h.Suspect))
	w.String(h.Landed)
	w.Varint(h.Polls)
	w.held(&h.Held)
}

func (r *decoder) head() freshet.Head {
	return freshet.Head{
		Number: int(r.Varint()), Hash: r.hash(), Recipe: r.text(), Validators: r.validators(), Asked: r.time(), Sums: r.sums(),
		Moved: r.moved(), Suspect: suspect.Class(r.text()), Landed: r.text(), Polls: r.Varint(), Held: r.held(),
	}
}

// appendTo appends a task. The sender has noted in known how its sources are read.
func (say *taskMessage) appendTo(b []byte, known *sentDefinitions) []byte {
	w := encoder{b}
	w.task(say, known)
	return w.Writer
}

func (w *encoder) task(say *taskMessage, known *sentDefinitions) {
	w.String(string(say.Source))
	w.String(say.URL)
	known.write(w, say.Definition)
	w.head(&say.Head)
	w.time(say.At)
	var hints worker.IndexHints
	if say.Hints != nil {
		hints = *say.Hints
	}
	granted := say.Granted == say.URL
	const asked = true // an older worker asks only for the history that these flags name
	w.Flags(asked, asked, asked, asked, asked, asked, asked, say.Hints != nil, hints.Index, hints.Anew, granted)
	if !granted {
		w.String(say.Granted)
	}
	w.String(say.Robots)
	w.Uvarint(uint64(len(say.Shared)))
	for i := range say.Shared {
		w.task(&say.Shared[i], known)
	}
}

func (r *decoder) task(known *definitions, depth int) (say taskMessage) {
	say.Source, say.URL = freshet.SourceID(r.text()), r.text()
	say.read = known.read(r)
	say.Head, say.At = r.head(), r.time()
	var hints worker.IndexHints
	var asked, any, granted bool
	r.Flags(&asked, &asked, &asked, &asked, &asked, &asked, &asked, &any, &hints.Index, &hints.Anew, &granted)
	if any {
		say.Hints = &hints
	}
	if say.Granted = say.URL; !granted {
		say.Granted = r.text()
	}
	say.Robots = r.text()
	for range r.nested(depth) {
		if r.Err() == nil {
			say.Shared = append(say.Shared, r.task(known, depth+1))
		}
	}
	return say
}

// A resultRest is what few results have. It is JSON within the binary form.
type resultRest struct {
	Away     map[string]time.Duration `json:"away,omitempty"`
	Capture  *freshet.Capture         `json:"capture,omitempty"`
	Judged   *noise.Judgement         `json:"judged,omitempty"`
	Word     *evidence.IndexHint      `json:"word,omitempty"`
	Foretold *evidence.Announcement   `json:"foretold,omitempty"`
}

// result writes a result without what is large.
func (w *encoder) result(f *worker.Result) error {
	w.Byte(byte(f.Result))
	for _, n := range [...]int64{
		int64(f.Took), int64(f.Status), int64(f.Requests), f.Bytes, int64(f.RetryAfter), int64(f.FreshFor), int64(f.LookAgain), int64(f.Listed),
	} {
		w.Varint(n)
	}
	w.time(f.Modified)
	w.Uvarint(uint64(len(f.Dates)))
	for _, at := range f.Dates {
		w.time(at)
	}
	w.moved(f.Moved)
	w.validators(f.Validators)
	w.sums(&f.Sums)
	w.held(&f.Held)
	for _, text := range [...]string{string(f.Suspect), f.Landed, string(f.Failure), f.Err} {
		w.String(text)
	}
	if err := w.resultRest(f); err != nil {
		return err
	}
	w.Uvarint(uint64(len(f.Shared)))
	for i := range f.Shared {
		if err := w.result(&f.Shared[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *encoder) resultRest(f *worker.Result) error {
	rest := resultRest{Away: f.HostBackoffs, Capture: f.Capture, Word: f.Word, Foretold: f.Foretold}
	if j := &f.Judged; j.Verdict != "" || j.Flapping || j.Where != nil {
		rest.Judged = j
	}
	if len(rest.Away) == 0 && rest.Capture == nil && rest.Judged == nil && rest.Word == nil && rest.Foretold == nil {
		w.Byte(0)
		return nil
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return fmt.Errorf("%s: %w", done, err)
	}
	w.Uvarint(uint64(len(text)))
	w.Raw(text)
	return nil
}

func (r *decoder) result(depth int) (f worker.Result) {
	f.Result = freshet.Result(r.Byte())
	r.Require(f.Result <= freshet.Doubted)
	f.Took, f.Status, f.Requests, f.Bytes = r.duration(), int(r.Varint()), int(r.Varint()), r.Varint()
	f.RetryAfter, f.FreshFor, f.LookAgain, f.Listed = r.duration(), r.duration(), r.duration(), int(r.Varint())
	f.Modified = r.time()
	for range r.count() {
		f.Dates = append(f.Dates, r.time())
	}
	f.Moved, f.Validators, f.Sums = r.moved(), r.validators(), r.sums()
	f.Held, f.Suspect, f.Landed = r.held(), suspect.Class(r.text()), r.text()
	f.Failure, f.Err = failure.Class(r.text()), r.text()
	r.resultRest(&f)
	for range r.nested(depth) {
		if r.Err() == nil {
			f.Shared = append(f.Shared, r.result(depth+1))
		}
	}
	return f
}

func (r *decoder) resultRest(f *worker.Result) {
	text := r.Bytes(r.Uvarint())
	if len(text) == 0 {
		return
	}
	var rest resultRest
	if json.Unmarshal(text, &rest) != nil {
		r.Fail()
		return
	}
	f.HostBackoffs, f.Capture, f.Word, f.Foretold = rest.Away, rest.Capture, rest.Word, rest.Foretold
	if rest.Judged != nil {
		f.Judged = *rest.Judged
	}
}
