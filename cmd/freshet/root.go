package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/suggest"
)

// isGroup marks a command that does nothing by itself.
const isGroup = "group"

// grouped makes cmd the name of a group of commands. By itself it shows its help.
func grouped(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.Annotations = map[string]string{isGroup: ""}
	cmd.AddCommand(verbs...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownVerb(cmd, args[0])
	}
	return cmd
}

const rootHelp = `Freshet watches web pages, feeds and JSON APIs, and reports what changed. It
learns when each one changes, polls it then, never sends more requests than the
budget you set, and stores every version it sees.

  Try it without any setup:       freshet watch https://example.com/
  Keep history and get notified:  freshet serve, then freshet add URL
  Read the documentation:         freshet docs

The other commands talk to the running daemon. If none is running, they read the
data directory themselves. "freshet completion SHELL --help" has the shell complete
verbs, flags and the names of sources.

Settings come from flags, then FRESHET_* environment variables, then the
configuration file, then defaults. The configuration file is the one named by
--config, or the first of these that exists: ./freshet.yaml,
$XDG_CONFIG_HOME/freshet/freshet.yaml (or ~/.config/freshet/freshet.yaml),
/etc/freshet/freshet.yaml.

`

// root returns the command that holds the verbs that a command line needs; all without one.
func (p *program) root(args ...string) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "freshet",
		Short:         "Watch web pages, feeds and APIs, and see what changed",
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
				return printBuild(p, thisBuild())
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if now := cmd.Annotations[nowNamed]; now != "" {
				p.remark("note: %s is now %s; the old name will go in a later release", cmd.CommandPath(), now)
			}
			return p.checkScreen()
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.Flags().BoolVar(&version, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.String("config", "", "configuration file; none reads no file [FRESHET_CONFIG]")
	optionFlags(flags, "data")
	flags.StringVar(&p.colour, "color", "auto", "when to use colour: auto, always or never")
	flags.IntVar(&p.width, "width", noWidth, "fit output to this many columns; 0 means no limit (default: the width of the terminal; no limit in a pipe)")
	flags.Lookup("width").DefValue = "0"
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(p.help)
	root.AddGroup(
		&cobra.Group{ID: daily, Title: "Every day:"},
		&cobra.Group{ID: running, Title: "Running:"},
		&cobra.Group{ID: sources, Title: "Sources:"},
		&cobra.Group{ID: history, Title: "History and delivery:"},
		&cobra.Group{ID: learning, Title: "Budget and learning:"},
		&cobra.Group{ID: people, Title: "People, machines and settings:"},
		&cobra.Group{ID: trials, Title: "Experiments:"},
	)
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Help about any command", RunE: helpOf(root)})
	root.SetHelpCommandGroupID(daily)
	p.addVerbs(root, args)
	root.InitDefaultCompletionCmd()
	if shells, _, err := root.Find([]string{"completion"}); err == nil && shells != root {
		grouped(shells)
	}
	return root
}

// helpOf is the verb that prints the help of another.
func helpOf(root *cobra.Command) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = unknownVerb(cmd, rest[0])
		}
		if err != nil {
			return err
		}
		return cmd.Help()
	}
}

func (p *program) checkScreen() error {
	if p.width != noWidth && p.width != 0 && p.width < display.LeastWidth {
		return usagef("--width: %d is too narrow; the least is %d columns, and 0 means no limit", p.width, display.LeastWidth)
	}
	switch p.colour {
	case "auto", "always", "never":
		return nil
	}
	return usagef("--color: %q is not one of auto, always or never", p.colour)
}

// elsewhereWords are what other programs call something, with what it is here.
var elsewhereWords = map[string]string{
	"ls": "list", "ps": "list", "rm": "remove", "del": "remove", "delete": "remove", "unwatch": "remove", "new": "add", "create": "add", "follow": "changes --follow",
	"tail": "changes --follow", "run": "serve", "start": "serve", "daemon": "serve", "up": "serve", "init": "serve", "get": "show", "info": "show", "update": "edit", "set": "edit",
	"refresh": "poll", "fetch": "poll", "sync": "poll", "stats": "numbers", "metrics": "numbers", "config": "settings", "grep": "search", "find": "search", "versions": "history",
	"logs": "history log", "dump": "export", "notify": "alert", "webhook": "sink", "disable": "pause", "enable": "resume", "stop": "pause",
	"login": "user token add", "passwd": "user edit", "health": "status", "validate": "check", "verify": "check", "lint": "check",
}

// labVerbs are those of freshet-lab.
var labVerbs = []string{"bench", "gen", "limit", "noise", "paper", "results", "torture"}

// unknownVerb complains of a verb that there is not, and says what was probably meant.
func unknownVerb(of *cobra.Command, name string) error {
	var known []string
	for _, c := range of.Commands() {
		if !c.Hidden {
			known = append(known, c.Name())
		}
	}
	path, wrong := of.CommandPath(), usagef("unknown command %q", name)
	if of.HasParent() {
		wrong = usagef("%s: unknown command %q", of.Name(), name)
	}
	hint := path + " --help lists all commands"
	word := elsewhereWords[name]
	first, _, _ := strings.Cut(word, " ")
	switch n := suggest.Nearest(name, known); {
	case slices.Contains(labVerbs, name):
		hint = "that is a command of another program: freshet-lab " + name
	case slices.Contains(known, first) && (!of.HasParent() || first == word):
		hint = "did you mean " + path + " " + word + "?"
	case n != "":
		hint = "did you mean " + path + " " + n + "?"
	case strings.Contains(name, "://") && !of.HasParent():
		hint = "freshet watch " + name + " watches it in this terminal; freshet add " + name + " has the daemon watch it"
	}
	return freshet.WithHint(wrong, hint)
}

// flagError complains of a wrong flag, and says what was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if _, group := cmd.Annotations[isGroup]; group || !cmd.HasParent() {
		if before := cmd.Flags().Args(); len(before) > 0 { // whose flag it would be
			return unknownVerb(cmd, before[0])
		}
	}
	return cli.FlagError(cmd, err)
}

// takes checks how many arguments a verb got; most below zero means any number.
func takes(least, most int) cobra.PositionalArgs { return cli.Takes(least, most) }

// help prints what a command does, how it is called, and its flags, fitted to the
// screen.
func (p *program) help(cmd *cobra.Command, _ []string) {
	width := helpWidth(p.columnsOf(p.out))
	cmd.Aliases = nil          // they work, and need no mention
	usage := cmd.UsageString() // without a template, which would link all methods of the program
	usage = fitFlags(usage, cmd, width)
	usage = strings.Replace(usage, "for more information about a command.", "for more about a command.", 1)
	about := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))
	fmt.Fprintf(p.out, "%s\n\n%s", paragraphs(about, width), usage)
}

// paragraphs breaks a text into lines of at most so many columns. Tables, which have
// lines that begin with a blank, stay as they are.
func paragraphs(text string, most int) string {
	all := strings.Split(text, "\n\n")
	for i, p := range all {
		if !strings.Contains(p, "\n ") && !strings.HasPrefix(p, " ") {
			all[i] = strings.Join(display.Wrap(strings.ReplaceAll(p, "\n", " "), most, ""), "\n")
		}
	}
	return strings.Join(all, "\n\n")
}

// helpWidth returns how many columns help takes on a screen. Long lines are hard to
// read, also where there is room for them.
func helpWidth(screen int) int {
	const usual, most = 80, 100
	if screen == 0 {
		return usual
	}
	return min(screen, most)
}
