package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"freshet/config"
	"freshet/node"
)

const serveHelp = `Watch sources under a poll budget, keep every version, and tell of each change
over the API and to webhooks, until interrupted.

When all is at work one line with the address is printed on standard output;
the log goes to standard error. Sources come from the configuration file and are
added over the API or with "freshet add".

SIGHUP, or POST /api/v1/reload, reads the file again: sources, webhooks, budget,
politeness and log level are taken on at once, the rest with the next start. A
file with a problem changes nothing. SIGINT and SIGTERM let the polls under way
finish; a second signal ends at once.

There is no authentication: keep --listen on loopback, or put a proxy that asks
for a password in front.`

func serveVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon that watches, keeps and tells",
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
	return cmd
}

// limitMemory has the garbage collector keep this process within the memory of
// the machine or the container, unless GOMEMLIMIT says otherwise.
func limitMemory(env func(string) string) {
	if limit := node.MemoryLimit(); limit > 0 && env("GOMEMLIMIT") == "" {
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
	level.Set(levelOf(s.LogLevel))
	log := p.newLogger(p.err, s.LogForm, level)
	log.Info("settings read", "file", cmp.Or(s.File, "none"))
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	extract, err := extractor()
	if err != nil {
		return err
	}
	limitMemory(p.env)
	return node.Serve(cmd.Context(), s, node.ServeConfig{
		Extract: extract,
		Version: thisBuild().Version,
		Log:     log,
		Load:    func() (config.Settings, error) { return p.sendingSettings(cmd) },
		Hangups: hangups,
		Reloaded: func(from, to config.Settings) {
			level.Set(levelOf(to.LogLevel))
			if later := from.NeedRestart(to); len(later) > 0 {
				log.Warn("some settings have changed that only a restart takes on", "settings", later)
			}
		},
		Announce: func(url string) error {
			_, err := fmt.Fprintf(p.out, "freshet: listening on %s\n", url)
			return err
		},
	})
}
