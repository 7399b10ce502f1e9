package sqlite

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
)

// sumRow returns the checksum of a row of a table. In a log, before is the
// checksum of the entry before it, so that each entry covers all those before.
// It writes over room.
func sumRow(room []byte, table string, before checksum, values []driver.Value) (checksum, []byte) {
	b := append(room[:0], table...)
	b = binary.LittleEndian.AppendUint64(b, uint64(before))
	for _, v := range values {
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
	}
	return checksum(xxhash.Sum64(b)), b
}
