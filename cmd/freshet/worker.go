package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cluster/identity"
	"freshet/internal/freshet"
)

const workerHelp = `Poll for a daemon on another machine. The daemon schedules, stores and reports; a worker
only fetches and reads pages. It keeps no data and no passwords: the daemon itself polls
sources that need a login, a file or a command.

Give workers the directory worker of freshet cluster init with --bundle: it has the
addresses, the token and the CA by which a worker verifies its leader. Without a bundle,
start the daemon with --hand-token-file, and give workers the same token. A worker
reconnects by itself. It sends no request if the daemon has been silent for 5 seconds,
so the budget always holds.

SIGINT and SIGTERM let running polls finish; a second signal stops at once. --allow-cidr
of the worker, not of the daemon, allows it to poll private addresses.`

func workerVerb(p *program) *cobra.Command {
	var join []string
	var tokenFile, name, place string
	slots := 64
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Poll for a daemon on another machine",
		Long:  workerHelp,
		Example: "  freshet cluster worker --bundle freshet-cluster/worker\n" +
			"  freshet cluster worker --join https://10.0.0.1:8443 --token-file /etc/freshet/worker.token --ca /etc/freshet/ca.crt\n" +
			"  freshet cluster worker --join https://a.example,https://b.example --token-file F --slots 200 --place eu-west\n" +
			"  freshet cluster worker drain eu-1",
	}
	cmd = grouped(cmd, workerDrainVerb(p))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("worker: unknown command %q", args[0])
		}
		s, err := p.settings(cmd)
		if err != nil {
			return err
		}
		if join, tokenFile, err = fromBundle(s.Cluster.Bundle, join, tokenFile); err != nil {
			return err
		}
		cfg, err := workerConfig(join, tokenFile, name, place, slots, s.Cluster.Insecure)
		if err != nil {
			return err
		}
		cfg.Trust = app.Trust(s)
		return runWorker(p, cmd, s, cfg)
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&join, "join", nil, "address of the daemon; list all nodes of a cluster")
	flags.StringVar(&tokenFile, "token-file", "", "file with the token of the daemon (--hand-token-file there)")
	flags.StringVar(&name, "name", "", "unique name of this worker (default host name and process)")
	flags.StringVar(&place, "place", "", "place of this worker, such as eu-west; sources choose it with from:")
	flags.IntVar(&slots, "slots", slots, "most polls at the same time")
	optionFlags(flags, "bundle", "ca", "insecure-cluster", "allow-cidr", "memory", "log-level", "log-format")
	return cmd
}

// fromBundle returns what a worker joins, and the file with its token: those of a bundle if they are not given.
func fromBundle(bundle string, join []string, tokenFile string) ([]string, string, error) {
	if bundle == "" {
		return join, tokenFile, nil
	}
	if len(join) == 0 {
		var err error
		if join, err = identity.ReadJoin(bundle); err != nil {
			return nil, "", fmt.Errorf("worker: read the addresses of the bundle: %w", err)
		}
	}
	return join, cmp.Or(tokenFile, filepath.Join(bundle, identity.TokenName)), nil
}

// workerConfig returns the configuration of a worker from its flags.
func workerConfig(join []string, tokenFile, name, place string, slots int, insecure bool) (cfg app.WorkerConfig, err error) {
	if len(join) == 0 || tokenFile == "" {
		return cfg, freshet.WithHint(usagef("worker: --join and --token-file are needed, or --bundle"), "freshet cluster worker --join https://HOST:8443 --bundle freshet-cluster/worker")
	}
	for _, at := range join {
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return cfg, usagef("worker: --join %q is not an address such as https://10.0.0.1:8443", at)
		}
		if app.IsRemoteHTTP(at) && !insecure {
			return cfg, freshet.WithHint(usagef("worker: --join %q is a remote address without TLS: it would expose the token and the pages", at),
				"join https:// with --bundle or --ca; --insecure-cluster allows http")
		}
		cfg.Join = append(cfg.Join, strings.TrimSuffix(at, "/"))
	}
	if slots < 1 || slots > 100_000 {
		return cfg, usagef("worker: --slots must be from 1 to 100000")
	}
	if err := freshet.CheckPlace("place", place); err != nil {
		return cfg, usagef("worker: --place: %v", err)
	}
	if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return cfg, usagef("worker: --name is longer than 100 characters, or cannot be printed")
	}
	if name == "" {
		host, _ := os.Hostname()
		name = fmt.Sprintf("%s-%d", cmp.Or(host, "worker"), os.Getpid())
	}
	cfg.Name, cfg.Place, cfg.Slots = name, place, slots
	cfg.Token, err = app.ReadToken(tokenFile)
	return cfg, err
}

// runWorker works until it is asked to stop.
func runWorker(p *program, cmd *cobra.Command, s config.Settings, cfg app.WorkerConfig) (err error) {
	level := new(slog.LevelVar)
	level.Set(levelOf(s.Log.Level))
	log := p.newLogger(p.err, s.Log.Format, level)
	if cfg.Extract, err = extractor(); err != nil {
		return err
	}
	limitMemory(cmd.Context(), p.env)
	return app.RunWorker(cmd.Context(), s, cfg, log)
}

func workerDrainVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drain NAME",
		Short:   "Stop a worker when its running polls have finished",
		Long:    "Send a worker no more polls. Its process ends when its running polls have finished.\nSIGTERM to the process does the same.",
		Example: "  freshet cluster worker drain eu-1",
		Args:    takes(1, 1),
	}
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if err := c.DrainWorker(ctx, args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "worker %s stops when its running polls have finished\n", harmless(args[0]))
		return err
	})
}
