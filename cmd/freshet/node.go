package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"freshet"
	"freshet/content"
	"freshet/fetch"
	"freshet/learn"
	"freshet/live"
	"freshet/policy"
	"freshet/sched"
	"freshet/sqlite"
)

// A node is a store and a daemon over it, with all that the daemon needs. It
// is what serve, watch and the verbs without a daemon have in common.
type node struct {
	store  *sqlite.Store
	reader *content.Reader
	daemon *live.Daemon
	tick   time.Duration // by which it learns; zero if it does not
}

// A nodeConfig says how a node differs from what the settings say.
type nodeConfig struct {
	settings
	log     *slog.Logger
	policy  freshet.Policy        // that learns nothing; nil means the one that the settings name
	budget  sched.Budget          // that the policy is made for; zero means that of the settings
	expect  int                   // sources that it is made for, if more than there are yet
	observe func(freshet.Outcome) // may be nil
	unbound bool                  // poll no source because its MaxGap has passed
	grace   time.Duration         // for polls under way at the end; 0 means that of package live
}

// openNode opens the store in the data directory and puts a daemon over it,
// which does nothing until it is run. The node must be closed.
func openNode(ctx context.Context, cfg nodeConfig) (*node, error) {
	reader, err := newReader()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: cfg.data, Log: cfg.log})
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	n := &node{store: store, reader: reader}
	if err := n.watch(ctx, cfg); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// watch puts a daemon over the store.
func (n *node) watch(ctx context.Context, cfg nodeConfig) error {
	var learner *learn.Learner
	if cfg.policy == nil {
		sources, err := countSources(ctx, n.store)
		if err != nil {
			return err
		}
		at := policy.InDaemon(cfg.settings.policy, cmp.Or(cfg.budget, cfg.limits.Budget), max(sources, len(cfg.sources), cfg.expect))
		n.tick = at.Tick
		if cfg.policy, learner, err = policy.Wire(cfg.settings.policy, at); err != nil {
			return err
		}
	}
	var watched freshet.Store = n.store
	if cfg.unbound {
		watched = unboundStore{n.store}
	}
	n.daemon = live.New(live.Config{
		Store:   watched,
		Fetcher: fetch.New(cfg.fetch),
		Policy:  cfg.policy,
		Learner: learner,
		Limits:  cfg.limits,
		Levels:  cfg.levels,
		Recall:  recall(cfg.settings.policy),
		Read:    n.reader.Read,
		Keep:    cfg.keep,
		Logs:    cfg.logs,
		Log:     cfg.log,
		Observe: cfg.observe,
		Grace:   cfg.grace,
	})
	return nil
}

// countSources returns how many sources a store has.
func countSources(ctx context.Context, store freshet.Store) (n int, err error) {
	for _, err := range store.Sources(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// recall returns how much of the log a policy is told of again at the start:
// enough to know every source again, and not so much that a start takes long.
// What auto learns is kept and taken up by the daemon.
func recall(name string) int {
	if name == "auto" || !policy.Learns(name) {
		return 0
	}
	return 200_000
}

// start runs the daemon and returns when it is at work. How it ends is then
// told on the channel.
func (n *node) start(ctx context.Context) (<-chan error, error) {
	ended := make(chan error, 1)
	go func() { ended <- n.daemon.Run(ctx) }()
	select {
	case <-n.daemon.Started():
		return ended, nil
	case err := <-ended:
		if ctx.Err() != nil { // asked to stop before it had begun
			err = nil
		}
		ended <- err
		return ended, err
	}
}

// close ends the children that apply selectors and closes the store.
func (n *node) close() error {
	return errors.Join(n.reader.Close(), n.store.Close())
}

// storeSize returns how many bytes the files in a data directory take.
func storeSize(dir string) (total int64, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("size of the store: %w", err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && filepath.Ext(f.Name()) != ".addr" {
			total += info.Size()
		}
	}
	return total, nil
}
