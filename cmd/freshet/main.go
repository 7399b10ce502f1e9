package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // digests and quiet hours have time zones, which not every machine knows
)

// version is set by the linker in released builds.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop; the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// A program is the environment of a verb, except for the network and the disk: its
// streams, variables, clock and terminal. What only one verb prints is a function of
// that verb, not a method.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	now      func() time.Time
	colour   string // auto, always or never
	width    int    // of the screen, in columns; zero means no limit, and noWidth that of the terminal
}

// run executes a command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.root(args...)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	if err := root.ExecuteContext(ctx); err != nil {
		p.complain(err)
		return exitCode(err)
	}
	return 0
}
