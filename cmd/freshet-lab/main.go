// Command freshet-lab has what no operator needs: it repeats the experiments of
// the papers, compares policies over recordings, computes limits, simulates
// histories, measures a daemon, and breaks one to check its promises.
//
// Each verb has a file of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/suggest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop; the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// A program is what a verb works with.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
}

// run executes a command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	err := root.ExecuteContext(ctx)
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		fmt.Fprintln(p.err, "freshet-lab: "+strings.TrimSpace(err.Error()))
		if hint := freshet.HintOf(err); hint != "" {
			fmt.Fprintln(p.err, "hint: "+hint)
		}
	}
	return cli.ExitCode(err)
}

// An exitStatus ends the program with that exit code and no message.
type exitStatus int

// Error returns the status in words.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// root returns the command that holds all verbs.
func (p *program) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "freshet-lab",
		Short: "Experiments and measurements around Freshet",
		Long: `Repeat the experiments of the papers behind Freshet, compare policies over
recordings, compute what any policy could capture, simulate histories, measure a
daemon, and break one to check its promises.

To compare policies on the history that your own daemon recorded, use freshet lab.

Exit codes:
  0  success
  1  something went wrong, something grows (bench soak), or a promise is broken (torture)
  2  wrong command line`,
		Example: "  freshet-lab paper --quick\n" +
			"  freshet-lab gen --kind auction --pages 500 --out auction.csv\n" +
			"  freshet-lab limit --trace auction.csv --share 0.3,0.6,0.9\n" +
			"  freshet-lab bench poll",
		SilenceErrors: true,
		SilenceUsage:  true,
	}, paperVerb(p), resultsVerb(p), limitVerb(p), genVerb(p), noiseVerb(p), benchVerb(p), benchServerVerb(p), adversaryVerb(p))
	root.AddCommand(tortureVerbs(p)...)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	return root
}

// group makes cmd the name of a group of verbs. By itself it shows its help.
func group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(verbs...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var known []string
		for _, v := range cmd.Commands() {
			if !v.Hidden {
				known = append(known, v.Name())
			}
		}
		return freshet.WithHint(cli.Usagef("unknown command %q%s", args[0], suggest.DidYouMean(args[0], known)), cmd.CommandPath()+" --help lists all commands")
	}
	return cmd
}

// progress begins to show a piece of work of so many steps.
func (p *program) progress(what string, steps int) *cli.Progress {
	return cli.NewProgress(p.err, p.env("TERM"), what, steps)
}

// say tells a person at a terminal how far the work is.
func (p *program) say(format string, args ...any) {
	if cli.IsTerminal(p.err) {
		fmt.Fprintf(p.err, format+"\n", args...)
	}
}
