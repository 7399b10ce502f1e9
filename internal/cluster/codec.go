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

// Tasks and results are most of the traffic, so they have a binary encoding. All other frames are
// JSON. The first byte of a binary header is one of these; that of a JSON header is a brace.
const (
	binaryTask   = 1
	binaryResult = 2
)

// maxNested is how deep tasks and results can be nested.
const maxNested = 4

// isBinary reports whether head begins a binary header.
func isBinary(head []byte) bool {
	return len(head) > 0 && (head[0] == binaryTask || head[0] == binaryResult)
}

// appendBinary appends the header of a binary frame without its payload.
func (f frame) appendBinary(b []byte) []byte {
	w := binenc.Writer(b)
	if f.Kind == assign {
		w.Byte(binaryTask)
		w.Uvarint(f.ID)
		return w
	}
	w.Byte(binaryResult)
	w.Uvarint(f.ID)
	w.Uvarint(uint64(len(f.blobs)))
	for _, blob := range f.blobs {
		w.Varint(int64(blobSize(blob)))
	}
	return w
}

// readBinary parses the header of a binary frame.
func (f *frame) readBinary(head []byte) error {
	r := newDecoder(head[1:])
	f.binary, f.Kind, f.ID = true, assign, r.Uvarint()
	if head[0] == binaryResult {
		f.Kind = done
		for range r.count() {
			f.Blobs = append(f.Blobs, int(r.Varint()))
		}
	}
	f.Payload = r.Rest()
	return r.Err()
}

// An encoder encodes tasks and results.
type encoder struct{ binenc.Writer }

// A decoder decodes tasks and results.
type decoder struct {
	*binenc.Reader
	within int // tasks or results nested so far
}

func newDecoder(b []byte) *decoder { return &decoder{Reader: binenc.NewReader(b)} }

func (r *decoder) text() string { return r.String(math.MaxInt) }

func (r *decoder) duration() time.Duration { return time.Duration(r.Varint()) }

// count reads a number of values.
func (r *decoder) count() int { return r.Count(maxBlobs, 1) }

// nested reads a number of nested tasks or results.
func (r *decoder) nested(depth int) int {
	n := r.count()
	if r.within += n; r.within > maxBlobs || n > 0 && depth >= maxNested {
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

// appendTo appends a task. It records in known which definitions the receiver has.
func (m *taskMessage) appendTo(b []byte, known *sentDefinitions) []byte {
	w := encoder{b}
	w.task(m, known)
	return w.Writer
}

func (w *encoder) task(m *taskMessage, known *sentDefinitions) {
	w.String(string(m.Source))
	w.String(m.URL)
	known.write(w, m.Definition)
	w.head(&m.Head)
	w.time(m.At)
	var hints worker.IndexHints
	if m.Hints != nil {
		hints = *m.Hints
	}
	granted := m.Granted == m.URL
	const asked = true // an older worker asks only for the history that these flags name
	w.Flags(asked, asked, asked, asked, asked, asked, asked, m.Hints != nil, hints.Index, hints.Anew, granted)
	if !granted {
		w.String(m.Granted)
	}
	w.String(m.Robots)
	w.Uvarint(uint64(len(m.Shared)))
	for i := range m.Shared {
		w.task(&m.Shared[i], known)
	}
}

func (r *decoder) task(known *definitions, depth int) (m taskMessage) {
	m.Source, m.URL = freshet.SourceID(r.text()), r.text()
	m.parsed = known.decode(r)
	m.Head, m.At = r.head(), r.time()
	var hints worker.IndexHints
	var asked, any, granted bool
	r.Flags(&asked, &asked, &asked, &asked, &asked, &asked, &asked, &any, &hints.Index, &hints.Anew, &granted)
	if any {
		m.Hints = &hints
	}
	if m.Granted = m.URL; !granted {
		m.Granted = r.text()
	}
	m.Robots = r.text()
	for range r.nested(depth) {
		if r.Err() == nil {
			m.Shared = append(m.Shared, r.task(known, depth+1))
		}
	}
	return m
}

// A resultRest is the fields that few results have. It is JSON within the binary encoding.
type resultRest struct {
	Away     map[string]time.Duration `json:"away,omitempty"`
	Capture  *freshet.Capture         `json:"capture,omitempty"`
	Judged   *noise.Judgement         `json:"judged,omitempty"`
	Word     *evidence.IndexHint      `json:"word,omitempty"`
	Foretold *evidence.Announcement   `json:"foretold,omitempty"`
}

// result encodes a result without its blobs.
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
