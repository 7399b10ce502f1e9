package auth

import (
	"sync"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// maxDigests is how many sources the challenges are remembered of.
const maxDigests = 10_000

// digests are the proofs of sources with what their servers last challenged them with.
type digests struct {
	mu  *sync.Mutex
	all map[digestKey]*fetch.Digest
}

type digestKey struct {
	source               freshet.SourceID
	host, user, password string
}

func newDigests() digests { return digests{&sync.Mutex{}, map[digestKey]*fetch.Digest{}} }

// of returns the proof of a source for a host.
func (d digests) of(id freshet.SourceID, host, user, password string) *fetch.Digest {
	key := digestKey{id, host, user, password}
	if id == "" { // it is only tried
		return &fetch.Digest{User: user, Password: password}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.all[key]
	if found == nil {
		if len(d.all) >= maxDigests {
			clear(d.all)
		}
		found = &fetch.Digest{User: user, Password: password}
		d.all[key] = found
	}
	return found
}
