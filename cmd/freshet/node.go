package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"freshet"
	"freshet/content"
	"freshet/estimate"
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
	unbound bool                  // poll no source because its MaxGap has passed
	grace   time.Duration         // for polls under way at the end; 0 means that of package live
}

// openNode opens the store in the data directory and puts a daemon over it,
// which does nothing until it is run. The node must be closed.
func openNode(ctx context.Context, cfg nodeConfig) (*node, error) {
	if cfg.policy == nil {
		chosen, err := policy.New(cfg.settings.policy, policy.Setting{
			Instant:   instantOf(cfg.settings.policy),
			Polls:     cfg.limits.Budget.PerSecond() * instantOf(cfg.settings.policy).Seconds(),
			Estimator: &estimate.Poisson{},
		})
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
	var watched freshet.Store = store
	if cfg.unbound {
		watched = unboundStore{store}
	}
	return &node{
		store:  store,
		reader: reader,
		daemon: live.New(live.Config{
			Store:   watched,
			Fetcher: fetch.New(cfg.fetch),
			Policy:  cfg.policy,
			Limits:  cfg.limits,
			Levels:  cfg.levels,
			Recall:  recall(cfg.settings.policy),
			Read:    reader.Read,
			Keep:    cfg.keep,
			Logs:    cfg.logs,
			Log:     cfg.log,
			Observe: cfg.observe,
			Grace:   cfg.grace,
		}),
	}, nil
}

// instantOf returns how finely a policy divides time in the daemon. One that
// plans whole weeks does so in minutes.
func instantOf(name string) time.Duration {
	if strings.HasPrefix(name, "cyclic") {
		return time.Minute
	}
	return time.Second
}

// recall returns how much of the log a policy is told of again at the start:
// enough to know every source again, and not so much that a start takes long.
func recall(name string) int {
	if !policy.Learns(name) {
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
