package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"freshet/internal/freshet"
)

// Errors of Verify.
var (
	ErrUnknownNode = errors.New("unknown node")
	ErrForged      = errors.New("invalid signature: the request was altered, or is for another node")
	ErrReplayed    = errors.New("replayed request")
)

// A Verifier verifies requests of other nodes to this one. It accepts each request once.
type Verifier struct {
	own   string
	known func(ctx context.Context, node freshet.Hash) (bool, error)

	mu   sync.Mutex
	seen map[freshet.Hash]*window // by node; a database has few, even over years
}

// NewVerifier returns a Verifier for the node that advertises the address own. Known reports
// whether a public key belongs to a node on the same database.
func NewVerifier(own string, known func(ctx context.Context, node freshet.Hash) (bool, error)) *Verifier {
	return &Verifier{own: own, known: known, seen: map[freshet.Hash]*window{}}
}

// Verify returns the epoch that a request was signed for, and its body, which may have limit bytes.
// It reads no body of unknown nodes. The caller must compare the epoch with that of the current
// leader.
func (v *Verifier) Verify(r *http.Request, limit int64) (epoch int64, body []byte, err error) {
	c, signature, err := parseClaim(r.Header.Get(Header))
	if err != nil || !ed25519.Verify(c.node[:], c.message(r, v.own), signature) {
		return 0, nil, ErrForged
	}
	known, err := v.known(r.Context(), c.node)
	if err != nil {
		return 0, nil, err
	}
	if !known {
		return 0, nil, ErrUnknownNode
	}
	if body, err = io.ReadAll(io.LimitReader(r.Body, limit+1)); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrForged, err)
	}
	if int64(len(body)) > limit || sha256.Sum256(body) != c.digest {
		return 0, nil, ErrForged
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.seen[c.node]
	if w == nil {
		w = &window{}
		v.seen[c.node] = w
	}
	if !w.take(c.number) {
		return 0, nil, ErrReplayed
	}
	return c.epoch, body, nil
}

// windowSize is how far requests of a node may arrive out of order. It exceeds the number of a
// node's connections.
const windowSize = 8192

// A window records which of the last windowSize sequence numbers were used. Older numbers count as
// used.
type window struct {
	top  uint64 // the highest number so far
	used [windowSize / 64]uint64
}

// take marks a number as used and reports whether it was not used before.
func (w *window) take(n uint64) bool {
	if n == 0 || n+windowSize <= w.top {
		return false
	}
	for ; w.top < n; w.top++ {
		if n-w.top > windowSize {
			w.top, w.used = n-windowSize, [windowSize / 64]uint64{}
		}
		next := (w.top + 1) % windowSize
		w.used[next/64] &^= 1 << (next % 64)
	}
	i := n % windowSize
	used := w.used[i/64]&(1<<(i%64)) != 0
	w.used[i/64] |= 1 << (i % 64)
	return !used
}
