package store

import (
	"database/sql/driver"
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// A checksum tells whether a row is as it was written. It is XXH64: it finds
// damage and edits by hand, and does not stop somebody who computes it anew.
type checksum = int64

// How a value begins in what is summed up, so that no two rows look alike.
const (
	summedNull = iota
	summedInteger
	summedReal
	summedText
	summedBlob
	summedLate // and the place of a late column, before its value
)

// sumRow returns the checksum of a row of a table. In a log, before is the
// checksum of the entry before it, so that each entry covers all those before.
// It writes over room.
//
// Of the values of late columns only those that are not NULL count: a row from
// before there was the column keeps its checksum.
func sumRow(room []byte, t *table, before checksum, values []driver.Value) (checksum, []byte) {
	b := append(room[:0], t.name...)
	b = binary.LittleEndian.AppendUint64(b, uint64(before))
	early := len(t.columns) - t.late
	for i, v := range values {
		if i >= early {
			if v == nil {
				continue
			}
			b = append(b, summedLate, byte(i-early))
		}
		b = appendSummed(b, v)
	}
	return checksum(xxhash.Sum64(b)), b
}

// appendSummed appends what is summed of a value.
func appendSummed(b []byte, v driver.Value) []byte {
	switch v := v.(type) {
	case nil:
		b = append(b, summedNull)
	case int64:
		b = binary.LittleEndian.AppendUint64(append(b, summedInteger), uint64(v))
	case float64:
		b = binary.LittleEndian.AppendUint64(append(b, summedReal), math.Float64bits(v))
	case string:
		b = binary.LittleEndian.AppendUint64(append(b, summedText), uint64(len(v)))
		b = append(b, v...)
	case []byte:
		b = binary.LittleEndian.AppendUint64(append(b, summedBlob), uint64(len(v)))
		b = binary.LittleEndian.AppendUint64(b, xxhash.Sum64(v))
	}
	return b
}
