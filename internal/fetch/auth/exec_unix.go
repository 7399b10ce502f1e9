//go:build unix

package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/mask"
)

// nonBlocking keeps the opening of a pipe from waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK

// commandEnv is all that a command knows of our environment: nothing that is ours.
var commandEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/"}

// An output takes what a command prints, and cancels it when that is too much.
type output struct {
	text bytes.Buffer // not embedded: its ReadFrom would take everything
	most int64
	over func()
	full bool
}

// Write takes part of the output.
func (o *output) Write(p []byte) (int, error) {
	if int64(o.text.Len()+len(p)) > o.most {
		o.full = true
		o.over()
		return len(p), nil
	}
	return o.text.Write(p)
}

// run runs the command of a source and returns what it prints.
func (c *Client) run(ctx context.Context, req freshet.Request, command string, most int64) ([]byte, error) {
	if media := *c.media.Load(); !media.Exec || req.Source == nil || req.Source.Origin != freshet.FromFile {
		return nil, &freshet.FetchError{Class: failure.Exec, Err: errForeignCommand, Hint: "and only with allow_exec: true in the settings"}
	}
	return RunCommand(ctx, command, nil, most)
}

// RunCommand runs a command in a shell with something to read, and returns what it prints,
// at most so many bytes. All processes that it has started are killed when it ends, or
// when its time is up. The caller has to check that the operator allows commands.
func RunCommand(ctx context.Context, command string, in []byte, most int64) ([]byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := &output{most: most, over: stop}
	said := &output{most: 4 << 10, over: func() {}}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = commandEnv, "/", out, said
	if in != nil {
		cmd.Stdin = bytes.NewReader(in)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, commandFailure("%w", err)
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left behind; there may be nothing
	switch {
	case out.full:
		return nil, &freshet.FetchError{Class: failure.LargeWire, Err: fmt.Errorf("the command prints more than %d bytes", most)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, commandFailure("the command failed: %w%s", err, remark(said.text.String()))
	}
	return out.text.Bytes(), nil
}

func commandFailure(format string, args ...any) error {
	return &freshet.FetchError{Class: failure.Exec, Err: fmt.Errorf(format, args...)}
}

// remark returns what a command said of its failure, in one line.
func remark(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) }), "; ")
	if text == "" {
		return ""
	}
	return ": " + mask.Shorten(text, 300)
}
