package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"freshet/synth"
)

// benchServer is the other process of a benchmark: the server that is polled.
// It says where its pages are, ends when its input does, and says then what it
// has served.
func (p *program) benchServer() *cobra.Command {
	var c synth.BenchConfig
	cmd := &cobra.Command{
		Use:    "bench-server",
		Short:  "Serve the pages of a benchmark until standard input ends",
		Hidden: true,
		Args:   takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := synth.NewBench(cmd.Context(), c)
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(cmd.Context())
			go func() {
				io.Copy(io.Discard, p.in)
				stop()
			}()
			var hello benchHello
			for i := range server.Pages() {
				hello.URLs = append(hello.URLs, server.URL(i))
			}
			if err := p.printLine(hello); err != nil {
				stop()
			}
			if err := server.Run(ctx); err != nil {
				return err
			}
			return p.printLine(server.Count())
		},
	}
	cmd.Flags().IntVar(&c.Pages, "pages", 1000, "how many there are")
	cmd.Flags().IntVar(&c.Hosts, "hosts", 1, "addresses over which they are spread")
	cmd.Flags().Float64Var(&c.Changed, "changed", 0, "share of requests that find a new version")
	return cmd
}

// A benchHello is the first line of a bench server.
type benchHello struct {
	URLs []string `json:"urls"`
}

// A benchOrigin is a bench server in a process of its own.
type benchOrigin struct {
	urls  []string
	cmd   *exec.Cmd
	leash io.Closer // its standard input
	out   *bufio.Reader
}

func startOrigin(ctx context.Context, plan benchPlan) (*benchOrigin, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	// It is ended by its leash and not by ctx, so that it outlives the last poll.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, "bench-server", "--pages", strconv.Itoa(plan.sources),
		"--hosts", strconv.Itoa(plan.hosts), "--changed", strconv.FormatFloat(plan.changed, 'g', -1, 64))
	cmd.Stderr = os.Stderr
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a server to poll: %w", err)
	}
	o := &benchOrigin{cmd: cmd, leash: leash, out: bufio.NewReader(out)}
	var hello benchHello
	line, err := o.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &hello)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hear from the server to poll: %w", err), o.stop())
	}
	o.urls = hello.URLs
	return o, nil
}

// stop ends the server.
func (o *benchOrigin) stop() error {
	o.leash.Close()
	io.Copy(io.Discard, o.out)
	return o.cmd.Wait()
}
