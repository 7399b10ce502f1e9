package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/internal/cli"
	"freshet/internal/lab/synth"
	"freshet/internal/test/bench"
)

// benchServerVerb is the other process of a benchmark: the server that is polled.
// It says where its pages are, ends when its input does, and says then what it
// has served.
func benchServerVerb(p *program) *cobra.Command {
	var c synth.BenchConfig
	var h bench.Harm
	cmd := &cobra.Command{
		Use:    "bench-server",
		Short:  "Serve the pages of a benchmark until standard input ends",
		Hidden: true,
		Args:   cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bench.Serve(cmd.Context(), c, h, p.in, p.out)
		},
	}
	cmd.Flags().IntVar(&c.Pages, "pages", 1000, "how many there are")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "addresses over which they are spread")
	cmd.Flags().IntVar(&c.Port, "port", 0, "their port, if it is free; 0 means any")
	cmd.Flags().Float64Var(&c.Changed, "changed", 0, "share of requests that find a new version")
	cmd.Flags().StringVar((*string)(&c.Kind), "pages-of", "", "what they are: html, json or feed")
	cmd.Flags().BoolVar(&c.Bare, "bare", false, "send no ETag")
	cmd.Flags().IntVar(&h.Servers, "hostile", 0, "how many hostile servers stand beside it")
	cmd.Flags().StringVar(&h.Kind, "kind", "", "which ones")
	return cmd
}

// benchServerCommand returns the command that starts it.
func benchServerCommand() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	return []string{self, "bench-server"}, nil
}

// A freshetFlag names the program that is measured or broken.
type freshetFlag string

func (f *freshetFlag) register(set *pflag.FlagSet) {
	set.StringVar((*string)(f), "freshet", "", "the freshet program to run (default: the one beside this program)")
}

// path returns the program. If none was named it is the one beside this program.
func (f freshetFlag) path() string {
	if f != "" {
		return string(f)
	}
	self, err := os.Executable()
	if err != nil {
		return "freshet"
	}
	return filepath.Join(filepath.Dir(self), "freshet")
}
