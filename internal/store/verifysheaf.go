package store

import (
	"cmp"
	"database/sql/driver"
	"slices"
	"strings"
)

// How much is read at once. To ask for every source and every body alone takes a message
// to the server and back for each: with PostgreSQL most of the time of a verification.
const (
	sheafSources  = 64
	sheafVersions = 4096
	bodiesAtOnce  = 64
	bytesAtOnce   = 4 << 20 // of bodies, unless one alone has more
)

// A sheaf is what is stored of the versions of some sources.
type sheaf struct {
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
func (v *verification) together(next []int64) []int64 {
	versions := int64(0)
	for i, key := range next {
		st := v.standing[key]
		versions += max(0, max(st.head, st.newest)-st.first+1)
		if i > 0 && (i == sheafSources || versions > sheafVersions) {
			return next[:i]
		}
	}
	return next
}

// readSheaf reads the versions and the envelopes of some sources, which are next to each
// other, and says which bodies there are.
func (v *verification) readSheaf(keys []int64) (*sheaf, error) {
	s := &sheaf{versions: map[int64][]storedVersion{}, envelopes: map[int64]map[int64][]byte{}, bodies: map[int64][]bodyStub{}, read: map[int64]link{}}
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
	source := slices.Index(t.columns, "source")
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
func (v *verification) takeBody(s *sheaf, id int64) (link, error) {
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
func (v *verification) readAhead(s *sheaf) error {
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
