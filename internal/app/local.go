package app

import (
	"context"
	"errors"
	"net/http"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/queries"
	"freshet/internal/sinks/delivery"
	"freshet/internal/sites/frontier"
)

// A LocalAPI serves the API of a data directory within this process.
type LocalAPI struct {
	http.Handler
	close func() error
}

// A Work is what runs behind a LocalAPI. No kind makes polls on its own.
type Work uint8

// The kinds of work.
const (
	Reading  Work = iota // answers from the store only
	Learning             // learns from the log of outcomes
	Polling              // makes polls on request
)

// Local opens a data directory. The returned API must be closed.
func Local(ctx context.Context, cfg Config, version string, work Work) (*LocalAPI, error) {
	cfg.Idle, cfg.Unbound, cfg.Learn = true, work != Reading, work == Learning
	n, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	closeAll := func() error { stop(); return n.Close() }
	if work != Reading {
		ended, err := n.Start(ctx)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		closeAll = func() error { stop(); return errors.Join(<-ended, n.Close()) }
	}
	sinks, err := delivery.NewSinks(ctx, delivery.SinksConfig{
		Store: delivery.NewStore(n.Store, n.stored.DB()), Vault: secrets.Open(cfg.SecretDir()), Open: outlets(cfg.Settings, n.Store, cfg.MailServer, cfg.Now), Now: cfg.Now,
	}, cfg.AllSinks())
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	gate, err := auth.New(ctx, auth.Config{Store: auth.NewStore(n.stored.DB()), Inside: true, Now: cfg.Now, Log: cfg.Log})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	handler := api.New(api.Config{
		Store: n.Store, Frontier: frontier.NewStore(n.stored.DB()), QueryStore: queries.NewStore(n.stored.DB()), Daemon: n.Daemon, Auth: api.AuthConfig{Gate: gate},
		Sources: api.SourceConfig{Check: cfg.CheckURL, Trust: n.checkForeign, Read: n.reader.Read, Hooks: n.hooks},
		Search:  api.SearchConfig{Off: cfg.NoSearch, Search: n.stored.Search, Index: n.IndexAll},
		Program: api.ProgramConfig{Version: version, Size: n.StoreSize, Browser: n.browser},
		Sinks:   sinks,
		Stop:    ctx.Done(),
		Now:     cfg.Now,
	})
	return &LocalAPI{handler, closeAll}, nil
}

// Close ends running polls and closes the store.
func (l *LocalAPI) Close() error { return l.close() }
