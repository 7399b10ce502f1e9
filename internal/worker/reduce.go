package worker

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// entryEnd ends an entry of a sitemap.
var entryEnd = []byte("</url>")

// reduce returns two versions of a sitemap without the entries that are in both, byte for
// byte, and reports whether that could be done. To read an entry takes a hundred times as
// long as to see that it is as it was, and most are.
func reduce(before, after []byte) (old, now []byte, ok bool) {
	if !bytes.Contains(after[:min(len(after), 4096)], []byte("<url>")) {
		return before, after, false
	}
	in := map[uint64]uint8{}
	const wasThere, isThere = 1, 2
	entries(before, func(entry []byte) { in[xxhash.Sum64(entry)] |= wasThere })
	entries(after, func(entry []byte) { in[xxhash.Sum64(entry)] |= isThere })
	return without(before, in, wasThere|isThere), without(after, in, wasThere|isThere), true
}

// entries hands on the entries of a sitemap, and returns where the first begins and the
// last ends. What stands between two belongs to the second.
func entries(body []byte, each func(entry []byte)) (first, last int) {
	if first = bytes.Index(body, []byte("<url>")); first < 0 {
		return len(body), len(body)
	}
	for last = first; ; {
		n := bytes.Index(body[last:], entryEnd)
		if n < 0 {
			return first, last
		}
		end := last + n + len(entryEnd)
		each(body[last:end])
		last = end
	}
}

// without returns a sitemap without the entries that are marked so.
func without(body []byte, in map[uint64]uint8, mark uint8) []byte {
	var kept []byte
	first, last := entries(body, func(entry []byte) {
		if in[xxhash.Sum64(entry)] != mark {
			kept = append(kept, entry...)
		}
	})
	all := append(bytes.Clone(body[:first]), kept...)
	return append(all, body[last:]...)
}
