package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"freshet/internal/lab/synth"
	"freshet/internal/test/hostile"
)

// Serve is the other process of a benchmark: the server that is polled. It says
// on out where its pages are, ends when in does, and says then what it has
// served.
//
// Hostile servers stand beside it, each at an address of its own.
func Serve(ctx context.Context, c synth.BenchConfig, h Harm, in io.Reader, out io.Writer) error {
	server, err := synth.NewBench(ctx, c)
	if err != nil {
		return err
	}
	cage, err := hostile.Open(ctx, h.beasts(), h.Servers)
	if err != nil {
		return err
	}
	defer cage.Close()
	ctx, stop := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, in)
		stop()
	}()
	var first hello
	for i := range server.Pages() {
		first.URLs = append(first.URLs, server.URL(i))
	}
	for i := range cage.Size() {
		first.Hostile = append(first.Hostile, cage.URL(i))
	}
	lines := json.NewEncoder(out)
	if err := lines.Encode(first); err != nil {
		stop()
	}
	if err := server.Run(ctx); err != nil {
		return err
	}
	return lines.Encode(server.Count())
}

// A hello is the first line of a server.
type hello struct {
	URLs    []string `json:"urls"`
	Hostile []string `json:"hostile,omitempty"`
}

// An origin is a server in a process of its own.
type origin struct {
	hello
	cmd   *exec.Cmd
	leash io.Closer // its standard input
	out   *bufio.Reader
}

// start starts the server of a plan.
func (plan Plan) start(ctx context.Context) (*origin, error) {
	args := append(slices.Clone(plan.Server[1:]), "--pages", strconv.Itoa(plan.Sources),
		"--hosts", strconv.Itoa(plan.Hosts), "--port", strconv.Itoa(plan.Port), "--changed", strconv.FormatFloat(plan.Changed, 'g', -1, 64), "--hostile", strconv.Itoa(plan.Harm.Servers), "--kind", plan.Harm.Kind,
		"--pages-of", string(plan.Kind), "--bare="+strconv.FormatBool(plan.Bare))
	// It is ended by its leash and not by ctx, so that it outlives the last poll.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), plan.Server[0], args...)
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
	o := &origin{cmd: cmd, leash: leash, out: bufio.NewReader(out)}
	line, err := o.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o.hello)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hear from the server to poll: %w", err), o.stop())
	}
	return o, nil
}

// stop ends the server. It can be called again.
func (o *origin) stop() error {
	if o.cmd.ProcessState != nil {
		return nil
	}
	o.leash.Close()
	io.Copy(io.Discard, o.out)
	return o.cmd.Wait()
}
