package store

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

// A storedVersion is what is verified of a version.
type storedVersion struct {
	number, text, raw, envelope int64
	picture                     int64 // 0 if there is none
	hash                        freshet.Hash
	header                      []byte
}

// versions verifies the versions of each source: their rows, the envelopes and
// bodies they have, and the hashes of their texts.
func (v *Verification) versions() error {
	for _, what := range []string{"versions", "bodies", "envelopes"} {
		err := v.Query("SELECT source, count(*) FROM "+what+" WHERE source NOT IN (SELECT key FROM sources) GROUP BY source", nil, func(row []driver.Value) error {
			v.Found(Damage{Table: what, What: fmt.Sprintf("%v %s are of a source that is not there", row[1], what)})
			return nil
		})
		if err != nil {
			return err
		}
	}
	for done := 0; done < len(v.order); {
		keys := v.together(v.order[done:])
		for i := range keys {
			if err := v.progress("versions of sources", int64(done+i), int64(len(v.order))); err != nil {
				return err
			}
		}
		if err := v.versionsOfAll(keys); err != nil {
			return err
		}
		done += len(keys)
	}
	return nil
}

// versionsOfAll verifies the versions of some sources together. If they cannot be read, each
// source is read alone, to find the one at which that fails.
func (v *Verification) versionsOfAll(keys []int64) error {
	before := v.report
	err := v.versionsTogether(keys)
	if v.database.Judge(err) != InDoubt || v.ctx.Err() != nil {
		return err
	}
	v.report = before
	for _, key := range keys {
		before := v.report
		err := v.versionsTogether([]int64{key})
		switch {
		case v.database.Judge(err) == InDoubt && v.ctx.Err() == nil:
			v.report = before
			id := v.nameOf(key)
			v.Found(Damage{Table: "versions", Source: id, What: fmt.Sprintf("reading the versions of source %s: %v", id, err)})
		case err != nil:
			return err
		}
	}
	return nil
}

// versionsTogether verifies the versions of some sources.
func (v *Verification) versionsTogether(keys []int64) error {
	s, err := v.readBatch(keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := v.versionsOf(s, key); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf verifies the versions of one source.
func (v *Verification) versionsOf(s *verifyBatch, key int64) error {
	id, list, envelopes := v.nameOf(key), s.versions[key], s.envelopes[key]
	v.numbers(key, list)
	texts := map[int64]bool{}
	for _, n := range list {
		texts[n.text] = true
	}
	bodies, err := v.readBodies(s, key, texts)
	if err != nil {
		return err
	}
	wanted := map[int64]bool{}
	for _, n := range list {
		lost := func(format string, args ...any) {
			v.Found(Damage{Table: "versions", Source: id, Number: n.number, What: fmt.Sprintf(format, args...),
				row: &versionsTable.Table, key: []driver.Value{key, n.number}})
		}
		text, raw := bodies[n.text], bodies[n.raw]
		wanted[n.text], wanted[n.raw], wanted[n.picture] = true, true, true
		if text == nil || raw == nil {
			lost("version %d of source %s has lost a body", n.number, id)
		} else if text.fault == "" && text.hash != n.hash {
			lost("the text of version %d of source %s does not hash to its name", n.number, id)
		}
		if n.picture != 0 && bodies[n.picture] == nil {
			v.Found(Damage{Table: "versions", Source: id, Number: n.number, What: fmt.Sprintf("version %d of source %s has lost its picture", n.number, id)})
		}
		if steady, ok := envelopes[n.envelope]; !ok {
			lost("version %d of source %s has lost its envelope", n.number, id)
		} else if v.codec.readHeader(steady, n.header, &freshet.Raw{}) != nil {
			lost("the header of version %d of source %s cannot be read", n.number, id)
		}
	}
	for _, body := range slices.Sorted(maps.Keys(bodies)) {
		state := bodies[body]
		d := Damage{Table: "bodies", Source: id, Number: body}
		switch {
		case state.fault != "":
			d.What, d.row, d.key = fmt.Sprintf("body %d %s", body, state.fault), &bodiesTable, []driver.Value{body}
		case !wanted[body]:
			d.What = fmt.Sprintf("body %d of source %s belongs to no version", body, id)
		default:
			continue
		}
		v.Found(d)
	}
	return nil
}

// numbers verifies that no version is missing.
func (v *Verification) numbers(key int64, list []storedVersion) {
	st, id := v.standing[key], v.nameOf(key)
	if !st.known {
		return
	}
	missing := func(first, last int64) {
		if first > last || v.truncatedWithin(truncationsOf{"versions", key}, first, last) {
			return
		}
		v.Found(Damage{Table: "versions", Source: id, Number: first, What: fmt.Sprintf("of the versions of source %s those from %d to %d are missing", id, first, last)})
	}
	next := st.first
	for _, n := range list {
		if n.number < next {
			v.Found(Damage{Table: "versions", Source: id, Number: n.number, What: fmt.Sprintf("version %d of source %s is older than the oldest", n.number, id)})
			continue
		}
		missing(next, n.number-1)
		next = n.number + 1
	}
	newest := max(st.head, st.newest)
	if newest > 0 {
		missing(max(next, 1), newest)
	}
	if next-1 > newest {
		v.Found(Damage{Table: "versions", Source: id, Number: next - 1, What: fmt.Sprintf("version %d of source %s is newer than the newest", next-1, id)})
	}
}

// rowOf verifies the checksum of a row.
func (v *Verification) rowOf(t *table, row []driver.Value) {
	v.report.Rows++
	values := row[:len(t.Columns)]
	if sum, ok := row[len(t.Columns)].(int64); ok && sum == v.sum(t, 0, values) {
		return
	}
	d := v.subject(t, values)
	d.What += " is not as it was written"
	v.Found(d)
}

// A bodyState is what came of verifying a body.
type bodyState struct {
	link
	hash  freshet.Hash // of a text
	fault string       // what is wrong with it, if anything
}

// readBodies decodes all bodies of a source, each once. A body is encoded
// against an older one, so in their order each base is decoded already, and it
// is forgotten when the last one that needs it is done. Those that are texts are
// hashed.
func (v *Verification) readBodies(s *verifyBatch, key int64, texts map[int64]bool) (map[int64]*bodyState, error) {
	states, needed := map[int64]*bodyState{}, map[int64]int{}
	for _, stub := range s.bodies[key] {
		needed[stub.base]++
	}
	decoded := map[int64][]byte{}
	for _, stub := range s.bodies[key] {
		id, b := stub.id, &bodyState{}
		var err error
		if b.link, err = v.takeBody(s, id); err != nil {
			return nil, err
		}
		states[id] = b
		v.report.Bodies++
		body := v.decode(b, states[b.base], decoded[b.base])
		if texts[id] && b.fault == "" {
			b.hash = freshet.HashOf(body)
		}
		if needed[b.base]--; needed[b.base] == 0 {
			delete(decoded, b.base)
		}
		if b.fault == "" && needed[id] > 0 {
			decoded[id] = body
		}
		b.frame = nil
	}
	return states, v.ctx.Err()
}

// decode decodes a body and notes what is wrong with it.
func (v *Verification) decode(b *bodyState, base *bodyState, history []byte) []byte {
	switch { // a body that was encoded anew rests on fewer than those above it know
	case b.base == 0 && b.depth != 0, base != nil && b.depth <= base.depth:
		b.fault = fmt.Sprintf("rests on %d others by its own account, and does not", b.depth)
	case b.base != 0 && base == nil:
		b.fault = fmt.Sprintf("rests on body %d, which is gone", b.base)
	case base != nil && base.fault != "":
		b.fault = fmt.Sprintf("rests on body %d, which is damaged", b.base)
	}
	if b.fault != "" {
		return nil
	}
	body, err := v.codec.decode(b.frame, history, b.size)
	if err != nil {
		b.fault = fmt.Sprintf("cannot be decoded: %v", err)
		return nil
	}
	if int64(xxhash.Sum64(body)) != b.sum {
		b.fault = "is not what was written"
		return nil
	}
	return body
}

// How much is read at once. To ask for every source and every body alone takes a message
// to the server and back for each: with PostgreSQL most of the time of a verification.
const (
	batchSources  = 64
	batchVersions = 4096
	bodiesAtOnce  = 64
	bytesAtOnce   = 4 << 20 // of bodies, unless one alone has more
)

// A verifyBatch is what is stored of the versions of some sources.
type verifyBatch struct {
	versions  map[int64][]storedVersion  // by source, the oldest first
	envelopes map[int64]map[int64][]byte // by source, their headers by number
	bodies    map[int64][]bodyStub       // by source, in the order of their numbers
	waiting   []bodyStub                 // to be read, source by source
	read      map[int64]link             // and not verified yet
}

// A bodyStub is a body that was not read yet.
type bodyStub struct{ id, base, size int64 }

// together returns so many of the sources that come next as are verified together. A source
// with many versions is alone.
func (v *Verification) together(next []int64) []int64 {
	versions := int64(0)
	for i, key := range next {
		st := v.standing[key]
		versions += max(0, max(st.head, st.newest)-st.first+1)
		if i > 0 && (i == batchSources || versions > batchVersions) {
			return next[:i]
		}
	}
	return next
}

// readBatch reads the versions and the envelopes of some sources, which are next to each
// other, and says which bodies there are.
func (v *Verification) readBatch(keys []int64) (*verifyBatch, error) {
	s := &verifyBatch{versions: map[int64][]storedVersion{}, envelopes: map[int64]map[int64][]byte{}, bodies: map[int64][]bodyStub{}, read: map[int64]link{}}
	within, bounds := " WHERE source >= ? AND source <= ?", []driver.Value{keys[0], keys[len(keys)-1]}
	t := &versionsTable
	err := v.Query(t.selection+within+" ORDER BY source, number", bounds, func(row []driver.Value) error {
		if _, known := v.names[whole(row[0])]; !known {
			return nil
		}
		v.rowOf(t, row)
		n := storedVersion{number: whole(row[1]), text: whole(row[4]), raw: whole(row[5]), envelope: whole(row[6]), picture: whole(row[10])}
		hash, _ := row[2].([]byte)
		copy(n.hash[:], hash)
		header, _ := row[7].([]byte)
		n.header = append(n.header, header...)
		s.versions[whole(row[0])] = append(s.versions[whole(row[0])], n)
		return v.ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	t = &envelopesTable
	source := slices.Index(t.Columns, "source")
	err = v.Query(t.selection+within, bounds, func(row []driver.Value) error {
		key := whole(row[source])
		if _, known := v.names[key]; !known {
			return nil
		}
		v.rowOf(t, row)
		if s.envelopes[key] == nil {
			s.envelopes[key] = map[int64][]byte{}
		}
		header, _ := row[6].([]byte)
		s.envelopes[key][whole(row[0])] = append([]byte{}, header...)
		return v.ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	// Those of sources that are not there are not waited for.
	err = v.Query("SELECT source, id, base, length(frame) FROM bodies"+within, bounds, func(row []driver.Value) error {
		s.bodies[whole(row[0])] = append(s.bodies[whole(row[0])], bodyStub{id: whole(row[1]), base: whole(row[2]), size: whole(row[3])})
		return v.ctx.Err()
	})
	for _, key := range keys {
		slices.SortFunc(s.bodies[key], func(a, b bodyStub) int { return cmp.Compare(a.id, b.id) })
		s.waiting = append(s.waiting, s.bodies[key]...)
	}
	return s, err
}

// whole returns a whole number of a row; 0 if it is none.
func whole(v driver.Value) int64 { n, _ := v.(int64); return n }

// selectBodies reads as many bodies as are read at once.
var selectBodies = "SELECT id, sum, size, base, depth, frame FROM bodies WHERE id IN (?" + strings.Repeat(", ?", bodiesAtOnce-1) + ")"

// takeBody returns the body that waits first. It reads some more along with it.
func (v *Verification) takeBody(s *verifyBatch, id int64) (link, error) {
	if _, there := s.read[id]; !there {
		if err := v.readAhead(s); err != nil {
			return link{}, err
		}
	}
	l := s.read[id]
	delete(s.read, id)
	return l, nil
}

// readAhead reads the bodies that wait first.
func (v *Verification) readAhead(s *verifyBatch) error {
	ids, bytes := make([]driver.Value, 0, bodiesAtOnce), int64(0)
	for len(s.waiting) > 0 && len(ids) < bodiesAtOnce && (len(ids) == 0 || bytes+s.waiting[0].size <= bytesAtOnce) {
		ids, bytes = append(ids, s.waiting[0].id), bytes+s.waiting[0].size
		s.waiting = s.waiting[1:]
	}
	for len(ids) > 0 && len(ids) < bodiesAtOnce { // a statement has so many
		ids = append(ids, ids[0])
	}
	return v.Query(selectBodies, ids, func(row []driver.Value) error {
		frame, _ := row[5].([]byte)
		l := link{id: whole(row[0]), sum: whole(row[1]), size: whole(row[2]), base: whole(row[3]), depth: whole(row[4]), frame: append([]byte{}, frame...)}
		s.read[l.id] = l
		return v.ctx.Err()
	})
}
