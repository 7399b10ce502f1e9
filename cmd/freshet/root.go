package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet"
	"freshet/spell"
)

// The groups in which help lists the verbs.
const (
	atWork  = "work"
	sources = "sources"
	history = "history"
	trials  = "trials"
	upkeep  = "upkeep"
)

// verbs are what freshet can do, in the order in which help lists them.
func verbs(p *program) []*cobra.Command {
	return []*cobra.Command{
		in(atWork, serveVerb(p)),
		in(atWork, watchVerb(p)),
		in(atWork, statusVerb(p)),
		in(atWork, demoVerb(p)),
		in(sources, addVerb(p)),
		in(sources, listVerb(p)),
		in(sources, showVerb(p)),
		in(sources, whyVerb(p)),
		in(sources, editVerb(p)),
		in(sources, pauseVerb(p)),
		in(sources, resumeVerb(p)),
		in(sources, pollVerb(p)),
		in(sources, removeVerb(p)),
		in(history, changesVerb(p)),
		in(history, historyVerb(p)),
		in(history, diffVerb(p)),
		in(history, catVerb(p)),
		in(history, logVerb(p)),
		in(history, numbersVerb(p)),
		in(trials, budgetVerb(p)),
		in(trials, planVerb(p)),
		in(trials, labVerb(p)),
		in(upkeep, checkVerb(p)),
		in(upkeep, benchVerb(p)),
		in(upkeep, versionVerb(p)),
		extractVerb(p),
		benchServerVerb(p),
	}
}

const rootHelp = `Freshet turns pages, feeds and JSON endpoints into a stream of changes. It polls
them under a budget, keeps every version that it sees, and tells of each change.

Start the daemon with "freshet serve", or watch a few pages without one with
"freshet watch URL...". The other verbs talk to the daemon that holds the data
directory; if none runs they work on the data directory by themselves.

Settings come from flags, from FRESHET_... variables, from a file, and from
defaults; the first of them that says something wins. The file is the one named by
--config, or the first that there is of ./freshet.yaml, freshet/freshet.yaml in
$XDG_CONFIG_HOME or ~/.config, and /etc/freshet/freshet.yaml.

`

// root returns the command that holds all verbs.
func (p *program) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "freshet",
		Short:         "Turn Web sources into a stream of changes, under a poll budget",
		Long:          rootHelp + exitHelp,
		Example:       "  freshet watch https://example.com/ https://example.org/feed.xml\n  freshet serve --budget 60/m\n  freshet add https://example.com/prices --css '#prices' --tag shop",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownVerb(cmd, args[0])
			case version:
				return p.printBuild(thisBuild())
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return p.checkScreen() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.Flags().BoolVar(&version, "version", false, "print which freshet this is")
	flags := root.PersistentFlags()
	flags.String("config", "", "file with settings and sources, or none [FRESHET_CONFIG]")
	optionFlags(flags, "data")
	flags.StringVar(&p.colour, "color", "auto", "colour the output: auto, always or never")
	flags.IntVar(&p.width, "width", noWidth, "fit the output into so many columns; 0 means no limit (default: as wide as the terminal, and no limit in a pipe)")
	flags.Lookup("width").DefValue = "0"
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: atWork, Title: "Watching:"},
		&cobra.Group{ID: sources, Title: "Sources:"},
		&cobra.Group{ID: history, Title: "What was captured:"},
		&cobra.Group{ID: trials, Title: "Trying policies out:"},
		&cobra.Group{ID: upkeep, Title: "Upkeep:"},
	)
	root.SetHelpCommandGroupID(upkeep)
	root.SetCompletionCommandGroupID(upkeep)
	root.AddCommand(verbs(p)...)
	return root
}

// in puts a verb into a group.
func in(group string, cmd *cobra.Command) *cobra.Command {
	cmd.GroupID = group
	return cmd
}

func (p *program) checkScreen() error {
	if p.width != noWidth && p.width != 0 && p.width < leastWidth {
		return usagef("--width: %d is less than %d columns", p.width, leastWidth)
	}
	switch p.colour {
	case "auto", "always", "never":
		return nil
	}
	return usagef("--color: %q is not one of auto, always, never", p.colour)
}

// unknownVerb complains of a verb that there is not, and says what was
// probably meant.
func unknownVerb(root *cobra.Command, name string) error {
	var known []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	hint := "freshet --help lists the verbs"
	if n := spell.Nearest(name, known); n != "" {
		hint = "did you mean freshet " + n + "?"
	} else if strings.Contains(name, "://") {
		hint = "to watch a page: freshet watch " + name + "; to have the daemon watch it: freshet add " + name
	}
	return freshet.WithHint(usagef("unknown verb %q", name), hint)
}

// flagError complains of a wrong flag, and says what was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	wrong := usagef("%w", err)
	if cmd.HasParent() {
		wrong = usagef("%s: %w", cmd.Name(), err)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if n := spell.Nearest(unknown.GetSpecifiedName(), known); n != "" {
			return freshet.WithHint(wrong, "did you mean --"+n+"?")
		}
	}
	return freshet.WithHint(wrong, cmd.CommandPath()+" --help lists the flags")
}

// takes checks how many arguments a verb got; most below zero means any number.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		fit := len(args) >= least && (most < 0 || len(args) <= most)
		if fit {
			return nil
		}
		what := "too many arguments"
		if len(args) < least {
			what = "something is missing"
		}
		return freshet.WithHint(usagef("%s: %s", cmd.Name(), what), fmt.Sprintf("write %s", cmd.UseLine()))
	}
}
