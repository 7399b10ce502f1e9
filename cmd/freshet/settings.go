package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
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
those come from. KEY=VALUE changes one at once; KEY= resets it to its default. Changes are
stored in the data directory and survive a restart. --dry-run shows the effect of a change
without making it: how much history would be deleted, and how much would be captured.

Settings of the configuration file, the environment and flags take precedence, and cannot
be changed here: the exit code is then 5.`,
		Example: "  freshet settings\n  freshet settings budget=120/m hosts.delay=2s\n  freshet settings keep.age=90d --dry-run\n  freshet settings mail.server=smtp://mail.example:587 mail.from=freshet@mail.example\n  freshet settings budget=",
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "change nothing: only check the values and show their effect")
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
		listed, err := c.Settings(ctx)
		if err == nil && len(args) > 0 {
			listed, err = c.EditSettings(ctx, edit)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(listed)
		}
		if listed.Effect != nil {
			return showEffect(p, *listed.Effect)
		}
		t := display.Table{Head: []string{"SETTING", "VALUE", "DEFAULT", "FROM"}, Short: map[string]int{"VALUE": 24}, Drop: []string{"DEFAULT"}}
		for _, s := range listed.Items {
			from := s.From
			if s.Where != "" {
				from = fmt.Sprintf("%s (%s)", s.From, s.Where)
			}
			t.Add(display.Plain(s.Key), display.Plain(orDash(s.Value)), display.Plain(orDash(s.Default)), display.Plain(from))
		}
		return t.Write(p.out, p.screen())
	})
}

// showEffect prints what an edit of settings would bring.
func showEffect(p *program, e client.SettingsEffect) error {
	if len(e.Changed) == 0 {
		_, err := fmt.Fprintln(p.out, "Nothing would change.")
		return err
	}
	t := display.Table{Head: []string{"SETTING", "NOW", "THEN"}}
	for _, c := range e.Changed {
		t.Add(display.Plain(c.Key), display.Plain(c.From), display.Plain(c.To))
	}
	s := p.screen()
	if err := t.Write(p.out, s); err != nil {
		return err
	}
	for _, line := range effectInWords(e) {
		fmt.Fprintln(p.out, s.Prose(line, "  "))
	}
	return nil
}

// effectInWords says what an edit would delete, and what would be captured then.
func effectInWords(e client.SettingsEffect) (lines []string) {
	if d := e.Drops; d != nil {
		switch {
		case d.Versions == 0 && d.Outcomes == 0:
			lines = append(lines, "Nothing would be deleted now.")
		default:
			lines = append(lines, fmt.Sprintf("It would delete %s (about %s) and %s. They cannot be brought back.",
				counted(d.Versions, "version"), cli.Size(d.Bytes), counted2(int(d.Outcomes), "result of a poll", "results of polls")))
		}
	}
	if o := e.Polling; o != nil {
		if o.TooEarly != "" {
			lines = append(lines, "What would be captured is not known yet: "+o.TooEarly+".")
		} else {
			lines = append(lines, "Now: "+pointInWords(o.Now), "Then: "+pointInWords(o.Then))
		}
		lines = append(lines, fmt.Sprintf("There is use for %s requests a day now, and for %s then.", rough(o.Now.SpentPerDay), rough(o.Then.SpentPerDay)))
	}
	return lines
}
