package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// A connection is how a verb reaches the API: over the network, or in this
// process.
type connection struct {
	*client.Client
	local bool   // there is no daemon: polls are made only by this process
	base  string // URL of the daemon; "" if there is none
	close func() error
}

// remote returns a connection to the daemon at a URL, which is verified by trust, with a token if there is one.
func remote(base, token string, trust identity.Trust) *connection {
	trusted := fetch.TrustedBy(patience, trust)
	reach := func(req *http.Request) (*http.Response, error) {
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := trusted.Do(req)
		return resp, advised(err)
	}
	return &connection{Client: client.New(base, reach), base: base, close: func() error { return nil }}
}

// advised says what to do if no daemon listens, or it cannot be verified.
func advised(err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return freshet.WithHint(err, "give the CA of the daemon with --ca FILE: that of a cluster is ca.crt in its bundle")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the client says the address
	}
	return freshet.WithHint(err, "start the daemon with freshet serve, or leave out --server to read the data directory directly")
}

// patience is how long the daemon may take to begin an answer; a poll or a
// wait for changes takes up to a minute.
const patience = 90 * time.Second

// impatience is how long running polls may continue after an interrupt at a terminal.
const impatience = time.Second

// clientVerb makes cmd a verb that calls the API. If polls is set and there is
// no daemon, polls can be asked for all the same.
func clientVerb(p *program, cmd *cobra.Command, polls bool, run func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	work := app.Reading
	if polls {
		work = app.Polling
	}
	return apiVerb(p, cmd, work, run)
}

// apiVerb makes cmd a verb that calls the API. Without a daemon this process does
// the work.
func apiVerb(p *program, cmd *cobra.Command, work app.Work, run func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	serverFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		c, err := p.connect(cmd, work)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		return run(cmd.Context(), c, args)
	}
	return cmd
}

// serverFlags adds the flags that name a daemon and the token for it, or the database of its nodes.
func serverFlags(flags *pflag.FlagSet) {
	flags.String("server", "", "URL of the daemon (default: the one that uses the data directory, if it is running) [FRESHET_SERVER]")
	flags.String("token-file", "", "file with a token for the daemon at --server [FRESHET_TOKEN_FILE; the token itself: FRESHET_TOKEN]")
	optionFlags(flags, "store", "ca")
}

// trust returns how the daemon that was named is verified.
func (p *program) trust(cmd *cobra.Command) identity.Trust {
	s := config.Settings{Cluster: config.ClusterSettings{CA: cmp.Or(cmd.Flag("ca").Value.String(), p.env("FRESHET_CA")), Bundle: p.env("FRESHET_BUNDLE")}}
	return app.Trust(s)
}

// token returns what the daemon that was named is shown; "" if there is nothing to show.
func (p *program) token(cmd *cobra.Command) (string, error) {
	path := cmd.Flag("token-file").Value.String()
	if path == "" && p.env("FRESHET_TOKEN") != "" {
		return strings.TrimSpace(p.env("FRESHET_TOKEN")), nil
	}
	if path = cmp.Or(path, p.env("FRESHET_TOKEN_FILE")); path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("--token-file: %s does not hold a token alone", path)
	}
	return token, nil
}

// fillers are the verbs that make a data directory if there is none, although they poll nothing.
var fillers = []string{"add", "apply", "import"}

// connect returns a connection to the daemon that was named, or of the one that
// holds the data directory, or else of this process.
func (p *program) connect(cmd *cobra.Command, work app.Work) (*connection, error) {
	if server := cmp.Or(cmd.Flag("server").Value.String(), p.env("FRESHET_SERVER")); server != "" {
		u, err := url.Parse(server)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, usagef("--server: %q is not a URL such as http://127.0.0.1:8080", server)
		}
		token, err := p.token(cmd)
		if err != nil {
			return nil, err
		}
		return remote(strings.TrimSuffix(server, "/"), token, p.trust(cmd)), nil
	}
	if cmd.Flag("token-file").Changed {
		return nil, freshet.WithHint(usagef("%s: --token-file is for a daemon that --server names", cmd.Name()), "on the machine of the daemon no token is needed")
	}
	s, err := p.settings(cmd)
	if err != nil {
		return nil, err
	}
	if err := s.CheckData(); err != nil {
		return nil, err
	}
	if work == app.Reading && s.Store == "" && cmd.Flag("data").Changed && !slices.Contains(fillers, cmd.Name()) {
		if err := thereIsData(s.Data); err != nil {
			return nil, err
		}
	}
	a, err := app.ReadAddress(s.Data)
	if err != nil {
		return nil, fmt.Errorf("look for a daemon: %w", err)
	}
	if ofStore, err := uses(cmd, s); err != nil {
		return nil, err
	} else if ofStore && a.URL != "" && a.Answers(cmd.Context()) {
		return remote(a.URL, a.Token, a.Trust()), nil
	}
	if s.Store != "" { // the daemon may be on another machine
		if all, err := app.Together(cmd.Context(), s); err == nil && all.Brain.Address != "" {
			return remote(all.Brain.Address, strings.TrimSpace(p.env("FRESHET_TOKEN")), app.Trust(s)), nil
		}
	}
	return here(cmd.Context(), s, work)
}

// uses reports whether the daemon of the data directory uses the database that --store names, if it
// names one.
func uses(cmd *cobra.Command, s config.Settings) (bool, error) {
	if !cmd.Flag("store").Changed {
		return true, nil
	}
	owner, err := config.NotedStore(s.Data)
	return owner == s.ShownStore(), err
}

// here returns a connection to an API over the data directory in this process.
func here(ctx context.Context, s config.Settings, work app.Work) (*connection, error) {
	extract, err := extractor()
	if err != nil {
		return nil, err
	}
	api, err := app.Local(ctx, app.Config{Settings: s, Extract: extract, Grace: impatience}, thisBuild().Version, work)
	if err != nil {
		return nil, err
	}
	return &connection{Client: client.New("http://localhost", client.InProcess(api)), local: true, close: api.Close}, nil
}
