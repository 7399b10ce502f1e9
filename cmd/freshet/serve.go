package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/tracing"
)

const serveHelp = `Run the daemon. It polls your sources within the budget, stores every version, and
reports each change over the API and to webhooks, until you press Ctrl-C.

Add sources with "freshet add", over the API, or in the configuration file. Once the
daemon is ready it prints one line with its address on standard output. Log lines go
to standard error.

SIGHUP, or POST /api/v1/reload, reads the configuration file again. Sources,
webhooks, budget, polling limits and log level change at once; other settings need a
restart. A file with a mistake changes nothing. SIGINT and SIGTERM let running polls
finish; a second signal stops at once.

On a loopback address everybody on this machine can use the API and the page until
you add a user: freshet user add NAME --role admin. On any other address the daemon
starts only if there is an admin. FRESHET_ADMIN_PASSWORD or --admin-password-file adds
the user admin at the first start. docs/reference/security.md says more.`

func serveVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: poll sources, store versions, report changes",
		Long:  serveHelp,
		Example: "  freshet serve\n" +
			"  freshet serve --config /etc/freshet.yaml --data /var/lib/freshet\n" +
			"  freshet serve --listen 127.0.0.1:0 --budget 500/s --host-delay 0s --allow-cidr 127.0.0.0/8",
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(p, cmd)
		},
	}
	optionFlags(cmd.Flags(), serveFlags...)
	cmd.Flags().String("admin-password-file", "", "file with a password for the user admin, who is added if there are no users [FRESHET_ADMIN_PASSWORD_FILE; the password itself: FRESHET_ADMIN_PASSWORD]")
	return cmd
}

// limitMemory has the garbage collector keep this process within the memory of
// the machine or the container, and the garbage of a large heap small, unless GOMEMLIMIT
// and GOGC say otherwise.
func limitMemory(ctx context.Context, env func(string) string) {
	if env("GOGC") == "" {
		go app.TuneGC(ctx)
	}
	if limit := app.MemoryLimit(); limit > 0 && env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// runServe serves until it is asked to stop. What is reloaded is gathered as it
// was at the start.
func runServe(p *program, cmd *cobra.Command) error {
	s, err := p.sendingSettings(cmd)
	if err != nil {
		return err
	}
	if err := s.CheckData(); err != nil {
		return err
	}
	if err := cmd.Flags().Set("config", cmp.Or(s.File, "none")); err != nil { // a reload reads this file again
		return err
	}
	level := new(slog.LevelVar)
	level.Set(levelOf(s.Log.Level))
	log := p.newLogger(p.err, s.Log.Format, level)
	log.Info("settings read", "file", cmp.Or(s.File, "none"))
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	extract, err := extractor()
	if err != nil {
		return err
	}
	password, err := adminPassword(p, cmd, s.Cluster.Bundle)
	if err != nil {
		return err
	}
	traces, err := p.traces(log)
	if err != nil {
		return err
	}
	limitMemory(cmd.Context(), p.env)
	go func() {
		if err := tellAlive(cmd.Context(), s.Data); err != nil {
			log.Error("systemd may restart this process", "err", err)
		}
	}()
	return app.Serve(cmd.Context(), s, app.ServeConfig{
		Extract:  extract,
		Password: password,
		Version:  thisBuild().Version,
		Log:      log,
		Traces:   traces,
		Load:     func() (config.Settings, error) { return p.sendingSettings(cmd) },
		Hangups:  hangups,
		Reloaded: func(from, to config.Settings) {
			level.Set(levelOf(to.Log.Level))
			if later := from.NeedRestart(to); len(later) > 0 {
				log.Warn("some changed settings need a restart", "settings", later)
			}
		},
		Announce: func(url string) error {
			_, err := fmt.Fprintf(p.out, "freshet: listening on %s\n", url)
			return errors.Join(err, tellReady(url))
		},
	})
}

// traces returns the exporter of traces to the collector that the environment names.
func (p *program) traces(log *slog.Logger) (*tracing.Exporter, error) {
	e, err := tracing.New(p.env, thisBuild().Version, fetch.Trusted(0).Do, log)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return e, nil
}

// adminPassword returns the password of the first user, if there is one: that of the bundle, unless another is given.
func adminPassword(p *program, cmd *cobra.Command, bundle string) (string, error) {
	path := cmp.Or(cmd.Flag("admin-password-file").Value.String(), p.env("FRESHET_ADMIN_PASSWORD_FILE"))
	if path == "" && (bundle == "" || p.env("FRESHET_ADMIN_PASSWORD") != "") {
		return p.env("FRESHET_ADMIN_PASSWORD"), nil
	}
	text, err := os.ReadFile(cmp.Or(path, filepath.Join(bundle, identity.PasswordName)))
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the password of the admin: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
