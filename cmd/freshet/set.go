package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

// errNobodyServes is what settings of a daemon come to without one.
var errNobodyServes = freshet.WithHint(errors.New("no daemon is running on this data directory"), "freshet check shows what one would begin with; start one with freshet serve, or choose one with --server")

func settingsVerb(p *program) *cobra.Command {
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use:   "settings [KEY=VALUE... | KEY=]",
		Short: "Show and change the settings of the running daemon",
		Long: `Show the settings that can be changed while the daemon runs, with their values and where
those come from. KEY=VALUE changes one at once; KEY= sets it back to its default. What was
changed so is kept in the data directory and holds after a restart, too. --dry-run shows
what a change would bring before it is made: what would be deleted of the history, and how
much would be captured.

What the configuration file, the environment or a flag says wins, and cannot be changed
here: the exit code is then 5.`,
		Example: "  freshet settings\n  freshet settings budget=120/m hosts.delay=2s\n  freshet settings keep.age=90d --dry-run\n  freshet settings budget=",
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "change nothing: only check the values and show what they would bring")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if c.local {
			return errNobodyServes
		}
		edit := client.SettingsEdit{Set: map[string]string{}, DryRun: dry}
		for _, arg := range args {
			key, value, ok := strings.Cut(arg, "=")
			switch {
			case !ok || key == "":
				return usagef("settings: %q is not KEY=VALUE", arg)
			case value == "":
				edit.Unset = append(edit.Unset, key)
			default:
				edit.Set[key] = value
			}
		}
		told, err := c.Settings(ctx)
		if err == nil && len(args) > 0 {
			told, err = c.EditSettings(ctx, edit)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(told)
		}
		if told.Effect != nil {
			return p.showEffect(*told.Effect)
		}
		t := table{head: []string{"SETTING", "VALUE", "DEFAULT", "FROM"}, short: map[string]int{"VALUE": 24}, drop: []string{"DEFAULT"}}
		for _, s := range told.Items {
			from := s.From
			if s.Where != "" {
				from = fmt.Sprintf("%s (%s)", s.From, s.Where)
			}
			t.add(plain(s.Key), plain(orDash(s.Value)), plain(orDash(s.Default)), plain(from))
		}
		return t.write(p.out, p.screen())
	})
}
