package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/freshet"
)

const workerHelp = `Poll for a daemon on another machine. The daemon schedules, stores and reports; a worker
only fetches and reads pages. It keeps no data and no passwords: the daemon itself polls
sources that need a login, a file or a command.

Start the daemon with --hand-token-file, and give workers the same token. A worker
reconnects by itself. It sends no request if the daemon has been silent for 5 seconds,
so the budget always holds.

SIGINT and SIGTERM let running polls finish; a second signal stops at once. --allow-cidr
of the worker, not of the daemon, allows it to poll private addresses.`

// handVerb is the former name of workerVerb.
func handVerb(p *program) *cobra.Command {
	cmd := workerVerb(p)
	cmd.Use, cmd.Hidden = "hand", true
	return cmd
}

func workerVerb(p *program) *cobra.Command {
	var join []string
	var tokenFile, name, place string
	slots := 64
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Poll for a daemon on another machine",
		Long:  workerHelp,
		Example: "  freshet worker --join http://10.0.0.1:8080 --token-file /etc/freshet/worker.token\n" +
			"  freshet worker --join https://a.example,https://b.example --token-file F --slots 200 --place eu-west\n" +
			"  freshet worker drain eu-1",
	}
	cmd = grouped(cmd, workerDrainVerb(p))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("worker: unknown command %q", args[0])
		}
		cfg, err := workerConfig(join, tokenFile, name, place, slots)
		if err != nil {
			return err
		}
		return runWorker(p, cmd, cfg)
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&join, "join", nil, "address of the daemon; list all nodes of a cluster")
	flags.StringVar(&tokenFile, "token-file", "", "file with the token of the daemon (--hand-token-file there)")
	flags.StringVar(&name, "name", "", "unique name of this worker (default host name and process)")
	flags.StringVar(&place, "place", "", "place of this worker, such as eu-west; sources choose it with from:")
	flags.IntVar(&slots, "slots", slots, "most polls at the same time")
	optionFlags(flags, "allow-cidr", "memory", "log-level", "log-format")
	return cmd
}

// workerConfig returns the configuration of a worker from its flags.
func workerConfig(join []string, tokenFile, name, place string, slots int) (cfg app.WorkerConfig, err error) {
	if len(join) == 0 || tokenFile == "" {
		return cfg, freshet.WithHint(usagef("worker: --join and --token-file are needed"), "freshet worker --join http://HOST:8080 --token-file FILE")
	}
	for _, at := range join {
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return cfg, usagef("worker: --join %q is not an address such as http://10.0.0.1:8080", at)
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
func runWorker(p *program, cmd *cobra.Command, cfg app.WorkerConfig) error {
	s, err := p.settings(cmd)
	if err != nil {
		return err
	}
	level := new(slog.LevelVar)
	level.Set(levelOf(s.Log.Level))
	log := p.newLogger(p.err, s.Log.Format, level)
	if cfg.Extract, err = extractor(); err != nil {
		return err
	}
	limitMemory(p.env)
	return app.RunWorker(cmd.Context(), s, cfg, log)
}

func workerDrainVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drain NAME",
		Short:   "Stop a worker when its running polls have finished",
		Long:    "Send a worker no more polls. Its process ends when its running polls have finished.\nSIGTERM to the process does the same.",
		Example: "  freshet worker drain eu-1",
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
