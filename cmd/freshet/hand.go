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

const handHelp = `Poll for a daemon on another machine. The daemon schedules, stores and reports; a hand
only fetches and reads pages. It keeps no data and no passwords: sources that need a
login, a file or a command are polled by the daemon.

Start the daemon with --hand-token-file, and give hands the same token. A hand
reconnects by itself. It sends no request if the daemon has been silent for 5 seconds,
so the budget always holds.

SIGINT and SIGTERM let running polls finish; a second signal stops at once. --allow-cidr
of the hand, not of the daemon, allows it to poll private addresses.`

func handVerb(p *program) *cobra.Command {
	var join []string
	var tokenFile, name, place string
	slots := 64
	cmd := &cobra.Command{
		Use:   "hand",
		Short: "Poll for a daemon on another machine",
		Long:  handHelp,
		Example: "  freshet hand --join http://10.0.0.1:8080 --token-file /etc/freshet/hand.token\n" +
			"  freshet hand --join https://a.example,https://b.example --token-file F --slots 200 --place eu-west\n" +
			"  freshet hand drain eu-1",
	}
	cmd = grouped(cmd, handDrainVerb(p))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("hand: unknown command %q", args[0])
		}
		cfg, err := handConfig(join, tokenFile, name, place, slots)
		if err != nil {
			return err
		}
		return runHand(p, cmd, cfg)
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&join, "join", nil, "address of the daemon; several if any of them may be the one in charge")
	flags.StringVar(&tokenFile, "token-file", "", "file with the token of the daemon (--hand-token-file there)")
	flags.StringVar(&name, "name", "", "name of this hand; no other has it (default host name and process)")
	flags.StringVar(&place, "place", "", "where this hand is, such as eu-west; sources can ask for it with from:")
	flags.IntVar(&slots, "slots", slots, "most polls at the same time")
	optionFlags(flags, "allow-cidr", "memory", "log-level", "log-format")
	return cmd
}

// handConfig returns what flags say of a hand.
func handConfig(join []string, tokenFile, name, place string, slots int) (cfg app.WorkerConfig, err error) {
	if len(join) == 0 || tokenFile == "" {
		return cfg, freshet.WithHint(usagef("hand: --join and --token-file are needed"), "freshet hand --join http://HOST:8080 --token-file FILE")
	}
	for _, at := range join {
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return cfg, usagef("hand: --join %q is not an address such as http://10.0.0.1:8080", at)
		}
		cfg.Join = append(cfg.Join, strings.TrimSuffix(at, "/"))
	}
	if slots < 1 || slots > 100_000 {
		return cfg, usagef("hand: --slots must be from 1 to 100000")
	}
	if err := freshet.CheckPlace("place", place); err != nil {
		return cfg, usagef("hand: --place: %v", err)
	}
	if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return cfg, usagef("hand: --name is longer than 100 characters, or cannot be printed")
	}
	if name == "" {
		host, _ := os.Hostname()
		name = fmt.Sprintf("%s-%d", cmp.Or(host, "hand"), os.Getpid())
	}
	cfg.Name, cfg.Place, cfg.Slots = name, place, slots
	cfg.Token, err = app.ReadToken(tokenFile)
	return cfg, err
}

// runHand works until it is asked to stop.
func runHand(p *program, cmd *cobra.Command, cfg app.WorkerConfig) error {
	s, err := p.settings(cmd)
	if err != nil {
		return err
	}
	level := new(slog.LevelVar)
	level.Set(levelOf(s.LogLevel))
	log := p.newLogger(p.err, s.LogForm, level)
	if cfg.Extract, err = extractor(); err != nil {
		return err
	}
	limitMemory(p.env)
	return app.RunWorker(cmd.Context(), s, cfg, log)
}

func handDrainVerb(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drain NAME",
		Short:   "Give a hand no more polls, and have it leave when it has finished",
		Long:    "Send a hand no more polls. It leaves when its running polls have finished, and its\nprocess ends. SIGTERM to the process does the same.",
		Example: "  freshet hand drain eu-1",
		Args:    takes(1, 1),
	}
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if err := c.DrainHand(ctx, args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "hand %s leaves when it has finished its polls\n", harmless(args[0]))
		return err
	})
}
