package app

import (
	"context"
	"maps"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// A nodeCache caches the public keys of nodes on the database. A key stays valid for a lease.
// Lookups of unknown keys run one at a time, so that strangers cannot exhaust the database
// connections.
type nodeCache struct {
	peers *postgres.Peers
	lease time.Duration

	queryMu sync.Mutex // serializes queries

	mu         sync.Mutex
	validUntil map[freshet.Hash]time.Time // by public key
}

// knows reports whether a node with the public key is on the database.
func (k *nodeCache) knows(ctx context.Context, key freshet.Hash) (bool, error) {
	if k.remembers(key) {
		return true, nil
	}
	k.queryMu.Lock()
	defer k.queryMu.Unlock()
	if err := context.Cause(ctx); err != nil || k.remembers(key) {
		return err == nil, err
	}
	asked := time.Now()
	known, err := k.peers.Knows(ctx, key)
	if known && err == nil {
		k.remember(key, asked)
	}
	return known, err
}

func (k *nodeCache) remembers(key freshet.Hash) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.validUntil[key])
}

func (k *nodeCache) remember(key freshet.Hash, asked time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.validUntil == nil {
		k.validUntil = map[freshet.Hash]time.Time{}
	}
	maps.DeleteFunc(k.validUntil, func(_ freshet.Hash, until time.Time) bool { return asked.After(until) })
	k.validUntil[key] = asked.Add(k.lease)
}
