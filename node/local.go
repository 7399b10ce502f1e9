package node

import (
	"context"
	"errors"
	"net/http"

	"freshet/web"
)

// A LocalAPI answers the API over a data directory in this process.
type LocalAPI struct {
	http.Handler
	close func() error
}

// Local opens a data directory for a while. If polls is set, polls can be asked
// for; otherwise none is made. The API must be closed.
func Local(ctx context.Context, cfg Config, version string, polls bool) (*LocalAPI, error) {
	cfg.Idle, cfg.Unbound = true, polls
	n, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	closeAll := func() error { stop(); return n.Close() }
	if polls {
		ended, err := n.Start(ctx)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		closeAll = func() error { stop(); return errors.Join(<-ended, n.Close()) }
	}
	handler := web.New(web.Config{Store: n.Store, Daemon: n.Daemon, Check: cfg.Fetch.CheckURL, Version: version, Now: cfg.Now})
	return &LocalAPI{handler, closeAll}, nil
}

// Close ends polls under way and closes the store.
func (l *LocalAPI) Close() error { return l.close() }
