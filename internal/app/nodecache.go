package app

import (
	"context"
	"maps"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// nodeCache are the other nodes on the database, by what each of them shows. Who is known stays so for a
// lease, and does not wait behind strangers. Those wait for each other, and so keep no more than one
// connection from what the node itself asks the database.
type nodeCache struct {
	peers *postgres.Peers
	lease time.Duration

	asking sync.Mutex // held to ask the database

	mu    sync.Mutex
	until map[freshet.Hash]time.Time // by the hash of what a node shows
}

// knows reports whether a node is there that shows what has a hash.
func (k *nodeCache) knows(ctx context.Context, hash freshet.Hash) (bool, error) {
	if k.remembers(hash) {
		return true, nil
	}
	k.asking.Lock()
	defer k.asking.Unlock()
	if err := context.Cause(ctx); err != nil || k.remembers(hash) {
		return err == nil, err
	}
	asked := time.Now()
	known, err := k.peers.Knows(ctx, hash)
	if known && err == nil {
		k.remember(hash, asked)
	}
	return known, err
}

func (k *nodeCache) remembers(hash freshet.Hash) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.until[hash])
}

func (k *nodeCache) remember(hash freshet.Hash, asked time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.until == nil {
		k.until = map[freshet.Hash]time.Time{}
	}
	maps.DeleteFunc(k.until, func(_ freshet.Hash, until time.Time) bool { return asked.After(until) })
	k.until[hash] = asked.Add(k.lease)
}
