package store_test

import (
	"time"

	"freshet/internal/freshet"
)

// noon is when the tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// noise returns bytes that cannot be compressed, another for every n.
func noise(n int) []byte {
	var b []byte
	h := freshet.HashOf([]byte{byte(n), byte(n >> 8)})
	for len(b) < 20_000 {
		h = freshet.HashOf(h[:])
		b = append(b, h[:]...)
	}
	return b
}
