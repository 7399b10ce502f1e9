package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

// linger is the minimum time between the starts of transactions that several polls share. At 500
// polls per second about twenty of their writes share one: each transaction writes ten pages more
// than its polls do.
const linger = 20 * time.Millisecond

// databaseLinger is linger for PostgreSQL, where a transaction costs CPU time in several processes.
const databaseLinger = 2 * linger

// openStore opens the store of the settings, as the API needs it and as both databases share it.
// The data directory always exists: it has the key of secrets and the address of the daemon.
func openStore(ctx context.Context, cfg Config) (api.Store, *store.Store, error) {
	if err := cfg.CheckOwner(); err != nil {
		return nil, nil, err
	}
	if cfg.Settings.Store == "" {
		opened := cfg.Store
		opened.Linger, opened.Program = linger, cfg.Version
		opened.Dir, opened.Now, opened.Log, opened.Features = cfg.Data, cfg.Now, cfg.Log, features.All()
		s, err := sqlite.Open(ctx, opened)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Store, nil
	}
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	if _, err := os.Stat(filepath.Join(cfg.Data, "freshet.db")); err == nil && cfg.Log != nil {
		cfg.Log.WarnContext(ctx, "the data directory has a database that is not used, because store is set", "file", filepath.Join(cfg.Data, "freshet.db"), "store", "PostgreSQL")
	}
	at := databaseOf(cfg.Settings, cfg.Log)
	at.Program, at.Now, at.ReadOnly, at.Try, at.Address, at.Linger = cfg.Version, cfg.Now, cfg.Standby, cfg.Address != "", cfg.Address, databaseLinger
	if b := cfg.previous; b != nil && b.node != nil {
		at.From = func() *postgres.Store { b.stopFollowing(); return b.node.standbyStore }
	}
	s, err := postgres.Open(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Store, nil
}

// databaseOf returns the configuration of the database of the settings.
func databaseOf(s config.Settings, log *slog.Logger) postgres.Config {
	return postgres.Config{URL: s.Store, Features: features.All(), Lease: leaseOf(s), Log: log}
}

// mayFetch returns an error when this node no longer holds its lease.
func (n *Node) mayFetch() error {
	if n.leaderStore.LeaseLeft() > 0 {
		return nil
	}
	return &freshet.FetchError{Class: failure.LocalUnsure, Err: errors.New("the request was not sent: this node no longer holds the lease of the leader")}
}

// databaseSize returns the size of the database without its write-ahead log.
func (n *Node) databaseSize() (int64, error) {
	if opened, ok := n.Store.(*postgres.Store); ok {
		size, err := opened.Size(context.Background())
		return size.File, err
	}
	info, err := os.Stat(filepath.Join(n.settings.Data, "freshet.db"))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// StoreSize returns the size of the store in bytes.
func (n *Node) StoreSize() (int64, error) {
	if n.settings.Store != "" {
		return n.databaseSize()
	}
	return StoreSize(n.settings.Data)
}

// StoreSize returns the size of the files in a data directory.
func StoreSize(dir string) (total int64, err error) {
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
