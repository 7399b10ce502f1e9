package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"freshet"
	"freshet/content"
	"freshet/fetch"
	"freshet/live"
	"freshet/policy"
	"freshet/sqlite"
)

// A node is a store and a daemon over it, with all that the daemon needs. It
// is what serve, watch and the verbs without a daemon have in common.
type node struct {
	store  *sqlite.Store
	reader *content.Reader
	daemon *live.Daemon
}

// A nodeConfig says how a node differs from what the settings say.
type nodeConfig struct {
	settings
	log     *slog.Logger
	policy  freshet.Policy        // nil means the one that the settings name
	observe func(freshet.Outcome) // may be nil
}

// openNode opens the store in the data directory and puts a daemon over it,
// which does nothing until it is run. The node must be closed.
func openNode(ctx context.Context, cfg nodeConfig) (*node, error) {
	if cfg.policy == nil {
		chosen, err := policy.New(cfg.settings.policy)
		if err != nil {
			return nil, err
		}
		cfg.policy = chosen
	}
	reader, err := newReader()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: cfg.data, Log: cfg.log})
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return &node{
		store:  store,
		reader: reader,
		daemon: live.New(live.Config{
			Store:   store,
			Fetcher: fetch.New(cfg.fetch),
			Policy:  cfg.policy,
			Limits:  cfg.limits,
			Read:    reader.Read,
			Keep:    cfg.keep,
			Logs:    cfg.logs,
			Log:     cfg.log,
			Observe: cfg.observe,
		}),
	}, nil
}

// close ends the children that apply selectors and closes the store.
func (n *node) close() error {
	return errors.Join(n.reader.Close(), n.store.Close())
}
