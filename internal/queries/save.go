package queries

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
)

// noteVersion is the first byte of every note. It goes up by one whenever what is
// remembered, or how a condition is split, is other than before: queries then begin anew.
const noteVersion = 1

// fingerprint tells apart what queries remember: notes of another condition mean
// nothing to this one.
func (p *plan) fingerprint() uint64 {
	q := p.query
	text, err := json.Marshal(struct {
		Scope       Scope
		When, Value string
		Window      Window
		Edge        bool `json:",omitempty"` // which no earlier version had
		Looks       bool `json:",omitempty"` // likewise
	}{q.Scope, q.When, q.Value, q.Window, p.edge, p.looks})
	if err != nil {
		panic(err) // of texts and lengths of time
	}
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

func (q *running) note(key string) (State, *binenc.Writer) {
	w := &binenc.Writer{noteVersion}
	w.Uint64(q.fingerprint())
	return State{Query: q.query.ID, Name: key}, w
}

// Save returns the notes that are other than at the last Save, each of at most some ten
// kilobytes. One without a body says that there is no such note any more. They are to be written
// in one transaction, together with the matches since then.
func (e *Engine) Save() (notes []State) {
	notes, e.gone = e.gone, nil
	if e.moved {
		w := &binenc.Writer{noteVersion}
		w.Varint(int64(e.changes))
		w.Varint(int64(e.outcomes))
		notes = append(notes, State{Name: "upto", Body: *w})
		e.moved = false
	}
	for id := range e.counted {
		w := &binenc.Writer{noteVersion}
		w.Varint(e.numbers[id])
		notes = append(notes, State{Query: id, Name: "number", Body: *w})
	}
	clear(e.counted)
	for _, r := range e.queries {
		for g := range r.changed {
			notes = append(notes, g.save()...)
		}
		clear(r.changed)
	}
	// A group that was forgotten and came back is deleted first.
	slices.SortStableFunc(notes, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Query, b.Query), cmp.Compare(a.Name, b.Name))
	})
	return lastOf(notes)
}

// lastOf returns the last of notes with the same name.
func lastOf(notes []State) (last []State) {
	for i, n := range notes {
		if i+1 == len(notes) || notes[i+1].Query != n.Query || notes[i+1].Name != n.Name {
			last = append(last, n)
		}
	}
	return last
}

// save returns the notes of a group that are other than at the last time.
func (g *group) save() (notes []State) {
	n, w := g.of.note("g:" + g.hash)
	writeText(w, g.text)
	w.Varint(g.next)
	writeText(w, string(g.source))
	g.writeRef(w, g.ref)
	s := &g.state
	for _, v := range []int64{s.last, s.since, s.failures, s.due} {
		w.Varint(v)
	}
	w.Bool(s.holds)
	w.Bool(s.fired)
	writeText(w, string(s.value))
	w.Varint(int64(len(s.gaps)))
	for _, gap := range s.gaps {
		w.Varint(gap)
	}
	if g.was != "" {
		writeText(w, g.was)
		writeText(w, g.values)
	}
	n.Body = *w
	notes = append(notes, n)
	for page := range g.pages {
		notes = append(notes, g.savePage(page))
	}
	clear(g.pages)
	for i, s := range g.seen {
		for chunk := range s.dirty {
			notes = append(notes, g.saveSeen(i, s, chunk))
		}
		clear(s.dirty)
	}
	g.changed = false
	return notes
}

func (g *group) writeRef(w *binenc.Writer, r freshet.ChangeRef) {
	writeText(w, string(r.Source))
	w.Varint(int64(r.Seq))
	w.Varint(int64(r.Cursor))
}

func readRef(r *binenc.Reader) freshet.ChangeRef {
	return freshet.ChangeRef{Source: freshet.SourceID(readText(r)), Seq: int(r.Varint()), Cursor: freshet.Cursor(r.Varint())}
}

// writeText appends the length of a text as a signed varint, and the text.
func writeText(w *binenc.Writer, s string) {
	w.Varint(int64(len(s)))
	*w = append(*w, s...)
}

func readText(r *binenc.Reader) string {
	return string(r.Bytes(uint64(r.Varint()))) // a negative length is out of bounds, too
}

// readNumber reads a number that is neither infinite nor NaN.
func readNumber(r *binenc.Reader) float64 {
	v := r.Float64()
	r.Require(!math.IsNaN(v) && !math.IsInf(v, 0))
	return v
}

// readCount reads how many elements follow, each of at least one byte.
func readCount(r *binenc.Reader, most int) int {
	n := r.Varint()
	if n < 0 || n > int64(min(most, r.Len())) {
		r.Fail()
		return 0
	}
	return int(n)
}

// savePage returns the note of some records; one without data if none are left.
func (g *group) savePage(page int64) State {
	n, w := g.of.note(fmt.Sprintf("w:%s:%d", g.hash, page))
	found := false
	for i := range g.records {
		r := &g.records[i]
		if r.nth/recordPage != page {
			continue
		}
		found = true
		w.Varint(r.nth)
		w.Varint(r.at)
		g.writeRef(w, r.ref)
		w.Bool(r.fired)
		for _, list := range [][]value{r.args, r.slots} {
			w.Varint(int64(len(list)))
			for _, v := range list {
				w.Varint(int64(v.kind))
				switch v.kind {
				case 'n', 'b':
					w.Float64(v.number)
				case 't':
					writeText(w, v.text)
				}
			}
		}
	}
	if found {
		n.Body = *w
	}
	return n
}

// saveSeen returns the note of some values that were seen.
func (g *group) saveSeen(i int, s *seen, chunk int64) State {
	n, w := g.of.note(fmt.Sprintf("s:%s:%d:%d", g.hash, i, chunk))
	from, to := max(chunk*seenChunk-s.base, 0), min((chunk+1)*seenChunk-s.base, int64(len(s.order)))
	if from >= to {
		return n
	}
	w.Varint(s.base + from)
	for _, x := range s.order[from:to] {
		w.Uint64(x.hash)
		w.Varint(x.at)
	}
	n.Body = *w
	return n
}

// keys returns notes without data for all that is saved of a group.
func (g *group) keys() (notes []State) {
	add := func(key string) { notes = append(notes, State{Query: g.of.query.ID, Name: key}) }
	add("g:" + g.hash)
	pages := map[int64]bool{}
	for i := range g.records {
		pages[g.records[i].nth/recordPage] = true
	}
	for page := range g.pages {
		pages[page] = true
	}
	for page := range pages {
		add(fmt.Sprintf("w:%s:%d", g.hash, page))
	}
	for i, s := range g.seen {
		for chunk := s.base / seenChunk; chunk <= (s.base+int64(len(s.order)))/seenChunk; chunk++ {
			add(fmt.Sprintf("s:%s:%d:%d", g.hash, i, chunk))
		}
		for chunk := range s.dirty {
			add(fmt.Sprintf("s:%s:%d:%d", g.hash, i, chunk))
		}
	}
	return notes
}

// Restore takes over all notes of an engine, after its queries have been put. Notes of
// queries that are not there, or whose conditions are others by now, are passed over
// and deleted by the next Save, but for the numbers of matches. It returns ErrDamaged if notes are not what Save
// returned; the engine is of no use then.
func (e *Engine) Restore(notes []State) error {
	// Groups come before what belongs to them.
	notes = slices.Clone(notes)
	slices.SortFunc(notes, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Query, b.Query), cmp.Compare(a.Name, b.Name))
	})
	for _, n := range notes {
		if err := e.restore(n); err != nil {
			return fmt.Errorf("note %q of query %q: %w: %w", n.Name, n.Query, freshet.ErrDamaged, err)
		}
	}
	for _, r := range e.queries {
		for _, g := range r.groups {
			slices.SortFunc(g.records, func(a, b record) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.nth, b.nth)) })
			if g.state.due != 0 && g.position < 0 {
				heap.Push(&e.queue, g)
			}
			for i, s := range g.seen {
				if err := s.join(); err != nil {
					return fmt.Errorf("what query %q has seen in %q (%d): %w: %w", r.query.ID, g.text, i, freshet.ErrDamaged, err)
				}
			}
		}
	}
	return nil
}

func (e *Engine) restore(n State) error {
	if n.Body == nil {
		return nil
	}
	if len(n.Body) == 0 {
		return binenc.ErrMalformed
	}
	in := binenc.NewReader(n.Body[1:])
	switch {
	case n.Query == "":
		e.changes, e.outcomes = freshet.Cursor(in.Varint()), freshet.Cursor(in.Varint())
		return in.Close()
	case n.Name == "number":
		e.numbers[n.Query] = in.Varint()
		if e.numbers[n.Query] < 0 {
			return binenc.ErrMalformed
		}
		return in.Close()
	}
	r := e.queries[n.Query]
	if r == nil || n.Body[0] != noteVersion || in.Uint64() != r.fingerprint() {
		e.gone = append(e.gone, State{Query: n.Query, Name: n.Name})
		return in.Err()
	}
	parts := strings.Split(n.Name, ":")
	switch {
	case parts[0] == "g" && len(parts) == 2:
		return r.restoreGroup(parts[1], in)
	case parts[0] == "w" && len(parts) == 3:
		return r.restorePage(parts[1], in)
	case parts[0] == "s" && len(parts) == 4:
		return r.restoreSeen(parts[1], parts[2], in)
	}
	return binenc.ErrMalformed
}

func (r *running) restoreGroup(hash string, in *binenc.Reader) error {
	g := newGroup(r, hash, readText(in))
	g.next = in.Varint()
	g.source = freshet.SourceID(readText(in))
	g.ref = readRef(in)
	s := &g.state
	for _, to := range []*int64{&s.last, &s.since, &s.failures, &s.due} {
		*to = in.Varint()
	}
	s.holds, s.fired = in.Bool(), in.Bool()
	s.value = []byte(readText(in))
	for range readCount(in, maxGaps) {
		s.gaps = append(s.gaps, in.Varint())
	}
	if in.Len() > 0 { // which no earlier version had
		g.was, g.values = readText(in), readText(in)
	}
	if err := in.Close(); err != nil {
		return err
	}
	if len(s.value) > 0 && !json.Valid(s.value) || g.next < 0 || s.due < 0 || r.groups[hash] != nil {
		return binenc.ErrMalformed
	}
	r.groups[hash] = g
	return nil
}

func (r *running) restorePage(hash string, in *binenc.Reader) error {
	g := r.groups[hash]
	if g == nil {
		return binenc.ErrMalformed
	}
	for in.Len() > 0 {
		rec := record{nth: in.Varint(), at: in.Varint(), ref: readRef(in), fired: in.Bool()}
		for _, list := range []struct {
			to   *[]value
			want int
		}{{&rec.args, len(r.backs)}, {&rec.slots, len(r.slots)}} {
			if n := readCount(in, maxLifted); n != list.want {
				return binenc.ErrMalformed
			}
			for range list.want {
				v := value{kind: byte(in.Varint())}
				switch v.kind {
				case 0:
				case 'n', 'b':
					v.number = readNumber(in)
				case 't':
					v.text = readText(in)
				default:
					return binenc.ErrMalformed
				}
				*list.to = append(*list.to, v)
			}
		}
		if rec.nth < 0 || rec.nth >= g.next || len(g.records) > 2*maxRecords {
			return binenc.ErrMalformed
		}
		g.records = append(g.records, rec)
	}
	return in.Close()
}

func (r *running) restoreSeen(hash, which string, in *binenc.Reader) error {
	g := r.groups[hash]
	i, err := strconv.Atoi(which)
	if g == nil || err != nil || g.seen[i] == nil {
		return binenc.ErrMalformed
	}
	s := g.seen[i]
	from := in.Varint()
	if from < 0 {
		return binenc.ErrMalformed
	}
	part := seenPart{from: from}
	for in.Len() > 0 {
		part.sights = append(part.sights, sight{in.Uint64(), in.Varint()})
	}
	if len(part.sights) > seenChunk {
		return binenc.ErrMalformed
	}
	s.parts = append(s.parts, part)
	return in.Close()
}
