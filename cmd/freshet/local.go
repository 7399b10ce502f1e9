package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/client"
	"freshet/web"
)

// patience is how long the daemon may take to begin an answer; a poll or a
// wait for changes takes up to a minute.
const patience = 90 * time.Second

// impatience is how long polls under way may go on when somebody at a terminal
// has asked to stop.
const impatience = time.Second

// clientVerb makes cmd a verb that calls the API. If polls is set and there is
// no daemon, polls can be asked for all the same.
func (p *program) clientVerb(cmd *cobra.Command, polls bool, run func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	cmd.Flags().String("server", "", "URL of the daemon [FRESHET_SERVER]; otherwise the one that holds the data directory, or none")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		c, err := p.connect(cmd, polls)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		return run(cmd.Context(), c, args)
	}
	return cmd
}

// connect returns a connection to the daemon that was named, or of the one that
// holds the data directory, or else of this process.
func (p *program) connect(cmd *cobra.Command, polls bool) (*connection, error) {
	if server := cmp.Or(cmd.Flag("server").Value.String(), p.env("FRESHET_SERVER")); server != "" {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, usagef("--server: %q is not a URL such as http://127.0.0.1:8080", server)
		}
		return remote(strings.TrimSuffix(server, "/")), nil
	}
	s, err := p.settings(cmd)
	if err != nil {
		return nil, err
	}
	a, err := readAddress(s.data)
	if err != nil {
		return nil, fmt.Errorf("look for a daemon: %w", err)
	}
	if a.url != "" && a.answers(cmd.Context()) {
		return remote(a.url), nil
	}
	return here(cmd.Context(), s, polls)
}

// here returns a connection to an API over the data directory in this process.
func here(ctx context.Context, s settings, polls bool) (*connection, error) {
	n, err := openNode(ctx, nodeConfig{settings: s, policy: never{}, unbound: polls, grace: impatience})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	closeAll := func() error { stop(); return n.close() }
	if polls {
		ended, err := n.start(ctx)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		closeAll = func() error { stop(); return errors.Join(<-ended, n.close()) }
	}
	handler := web.New(web.Config{
		Store: n.store, Daemon: n.daemon, Check: s.fetch.CheckURL, Version: thisBuild().Version,
	})
	return &connection{
		Client: client.New("http://localhost", client.InProcess(handler)),
		local:  true,
		close:  closeAll,
	}, nil
}

// An unboundStore is a store whose sources need not be polled however long ago
// they were: a daemon over it polls only what it is asked to.
type unboundStore struct{ freshet.Store }

// Source returns one watched source.
func (u unboundStore) Source(ctx context.Context, id freshet.SourceID) (freshet.Watched, error) {
	w, err := u.Store.Source(ctx, id)
	w.MaxGap = 0
	return w, err
}

// Sources yields all watched sources.
func (u unboundStore) Sources(ctx context.Context) iter.Seq2[freshet.Watched, error] {
	return func(yield func(freshet.Watched, error) bool) {
		for w, err := range u.Store.Sources(ctx) {
			w.MaxGap = 0
			if !yield(w, err) {
				return
			}
		}
	}
}
