package listing

import (
	"encoding/binary"
	"hash/crc32"
)

// Mend gives a piece the checksum that fits, so that tests get behind it.
func Mend(b []byte) []byte {
	if len(b) < 10 {
		return b
	}
	b = append([]byte{}, b...)
	binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.ChecksumIEEE(b[:len(b)-4]))
	return b
}
