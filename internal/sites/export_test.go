package sites

import (
	"encoding/binary"
	"hash/crc32"
)

// BothWays normalises a link by the quick way, if it is open, and by the parser.
func BothWays(from, href string) (quick, exact string) {
	b, err := newBase(from)
	if err != nil {
		return "", ""
	}
	quick, ok := b.quick(href)
	if !ok {
		return "", ""
	}
	exact, err = b.exact(href)
	if err != nil {
		exact = err.Error()
	}
	return quick, exact
}

// FromBase returns a function that normalises links of one page.
func FromBase(from string) func(href string) (string, error) {
	b, err := newBase(from)
	if err != nil {
		return func(string) (string, error) { return "", err }
	}
	return b.normalise
}

// WithSum adds the sum that data of traps ends with.
func WithSum(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body[:len(body):len(body)], crc32.ChecksumIEEE(body))
}
