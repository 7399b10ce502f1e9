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

// Why a signed request is not taken.
var (
	ErrUnknownNode = errors.New("no such node")
	ErrForged      = errors.New("the request was not signed by the node, is for another one, or was altered")
	ErrReplayed    = errors.New("the request was made before")
)

// A Verifier verifies the requests of other nodes to this one, each once.
type Verifier struct {
	own   string
	known func(ctx context.Context, node freshet.Hash) (bool, error)

	mu   sync.Mutex
	seen map[freshet.Hash]*window // by node; there are few, also over years
}

// NewVerifier returns a Verifier of the node that advertises the address own. Known reports whether a public key is that of a node
// on the same database.
func NewVerifier(own string, known func(ctx context.Context, node freshet.Hash) (bool, error)) *Verifier {
	return &Verifier{own: own, known: known, seen: map[freshet.Hash]*window{}}
}

// Verify returns the epoch that a request was signed for, and its body of at most limit bytes. It reads nothing of
// strangers. The caller must compare the epoch: it may be that of another leader.
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

// windowSize is how many requests of a node may overtake another: more than a node has connections.
const windowSize = 8192

// A window knows which of the last numbers were used. Older ones count as used.
type window struct {
	top  uint64 // the highest
	used [windowSize / 64]uint64
}

// take uses a number, and reports whether it was not used before.
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
	at := n % windowSize
	was := w.used[at/64]&(1<<(at%64)) != 0
	w.used[at/64] |= 1 << (at % 64)
	return !was
}
