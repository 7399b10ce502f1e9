package extract

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

const defaultMemory = 256 << 20

// ReaderConfig says how a Reader reads.
type ReaderConfig struct {
	// Command starts a child process that calls [Serve] on its standard input
	// and output. Without one everything is read in this process, where a
	// selector that runs away cannot be stopped.
	Command []string

	Workers int           // children at most; 0 means 2
	Timeout time.Duration // of processor time for reading one response; 0 means 2 seconds
	Memory  int64         // bytes a child may take, unless it was given less; 0 means 256 MiB
}

func (c ReaderConfig) withDefaults() ReaderConfig {
	c.Workers = cmp.Or(c.Workers, 2)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Memory = cmp.Or(c.Memory, defaultMemory)
	return c
}

// A Reader reads responses as [Extract] does, and stays in charge: a selector
// or path runs in a child process, which ends when its time is up. The
// children are started when they are first needed and then kept. A Reader may
// be used by several goroutines.
type Reader struct {
	cfg    ReaderConfig
	idle   chan *child // one place for each worker; nil if it has no process
	closed atomic.Bool
}

// NewReader returns a Reader. It starts no process yet.
func NewReader(cfg ReaderConfig) *Reader {
	cfg = cfg.withDefaults()
	r := &Reader{cfg: cfg, idle: make(chan *child, cfg.Workers)}
	for range cfg.Workers {
		r.idle <- nil
	}
	return r
}

// ErrReaderClosed is returned by a Reader that has been closed.
var ErrReaderClosed = errors.New("the reader is closed")

// Read reads the body of resp as recipe says. If ctx is done first it returns
// the cause; any other error is as from [Extract].
func (r *Reader) Read(ctx context.Context, recipe reading.Recipe, resp freshet.Response) (Reading, error) {
	return r.read(ctx, recipe, resp, false)
}

// Trace is Read, and tells besides what each step made of the response, also if
// one of them failed.
func (r *Reader) Trace(ctx context.Context, recipe reading.Recipe, resp freshet.Response) (Reading, error) {
	return r.read(ctx, recipe, resp, true)
}

func (r *Reader) read(ctx context.Context, recipe reading.Recipe, resp freshet.Response, trace bool) (Reading, error) {
	p, err := compile(recipe)
	if err != nil {
		return Reading{}, err
	}
	if len(r.cfg.Command) == 0 || !p.needsFence(resp) {
		return p.traced(resp, trace)
	}
	c, err := r.take(ctx)
	if err != nil {
		return Reading{}, err
	}
	defer func() { r.idle <- c }()
	if r.closed.Load() {
		return Reading{}, ErrReaderClosed
	}
	q := question{Recipe: recipe, URL: resp.URL, MediaType: resp.MediaType, Header: header(resp.Header), Timeout: r.cfg.Timeout, Memory: r.cfg.Memory, Trace: trace}
	for kept := c != nil; ; kept = false {
		if c == nil {
			if c, err = startChild(r.cfg.Command); err != nil {
				return Reading{}, err
			}
		}
		rd, err := c.ask(ctx, q, resp.Body)
		gone, ok := errors.AsType[*goneError](err)
		if !ok {
			return rd, err
		}
		c = nil
		if kept && gone.byOthers(ctx) {
			continue // that says nothing about this response
		}
		return Reading{}, gone.reason(ctx, r.cfg, p.blamed())
	}
}

// take waits for a worker that is idle, preferring one that has a process.
func (r *Reader) take(ctx context.Context) (c *child, err error) {
	select {
	case c = <-r.idle:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for range r.cfg.Workers {
		if c != nil {
			break
		}
		select {
		case other := <-r.idle:
			r.idle <- c
			c = other
		default:
			return nil, nil
		}
	}
	return c, nil
}

// Close ends the children after what they are reading now.
func (r *Reader) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	for range r.cfg.Workers {
		if c := <-r.idle; c != nil {
			c.stop()
		}
	}
	for range r.cfg.Workers {
		r.idle <- nil // those who still wait find the Reader closed
	}
	return nil
}

// A child is a process that runs Serve.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startTimeout is how long a child may take to greet on a busy machine.
const startTimeout = 20 * time.Second

func startChild(command []string) (*child, error) {
	const hint = "Check the installation: freshet must be able to start its own executable."
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"GOMAXPROCS=1"} // no secrets, and one core at most
	dieWithParent(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to the content reader: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to the content reader: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, freshet.WithHint(fmt.Errorf("start the content reader: %w", err), hint)
	}
	c := &child{cmd: cmd, in: in, out: bufio.NewReader(out)}
	late := time.AfterFunc(startTimeout, c.kill)
	defer late.Stop()
	hello := make([]byte, len(greeting))
	if _, err := io.ReadFull(c.out, hello); err != nil || string(hello) != greeting {
		c.kill()
		return nil, freshet.WithHint(fmt.Errorf("start the content reader: no greeting from %s: %w", command[0], errors.Join(err, c.cmd.Wait())), hint)
	}
	return c, nil
}

// patience is how many times as long as a child may work the reader waits for it. A
// child keeps its time itself; this is for one that cannot, and for a machine that is too busy
// to let it.
const patience = 10

// ask has the child read a response. A *goneError means that there is no child
// any more.
func (c *child) ask(ctx context.Context, q question, body []byte) (Reading, error) {
	var late atomic.Bool
	timer := time.AfterFunc(patience*q.Timeout, func() { late.Store(true); c.kill() })
	defer timer.Stop()
	defer context.AfterFunc(ctx, c.kill)()

	var a answer
	err := writeMessage(c.in, q, body)
	idle := err != nil
	if err == nil {
		body, err = readMessage(c.out, &a)
	}
	if err != nil || late.Load() || ctx.Err() != nil {
		c.kill()
		c.in.Close()
		c.cmd.Wait()
		code := c.cmd.ProcessState.ExitCode()
		return Reading{}, &goneError{err: err, idle: idle && !late.Load(), late: late.Load() || code == exitTime, code: code}
	}
	return a.reading(body)
}

// stop ends an idle child and waits for it.
func (c *child) stop() {
	c.in.Close()
	late := time.AfterFunc(startTimeout, c.kill)
	defer late.Stop()
	c.cmd.Wait()
}

func (c *child) kill() { c.cmd.Process.Kill() }

// A goneError says how a child came to its end.
type goneError struct {
	err  error
	idle bool // before it had heard the whole question
	late bool // its time was up
	code int  // with which it exited; -1 if by a signal
}

// Error returns how the child ended.
func (e *goneError) Error() string {
	return fmt.Sprintf("the content reader exited (code %d): %v", e.code, e.err)
}

// byOthers reports whether the child may have died of something that had
// nothing to do with what it read: while it was idle, or killed by a stranger.
func (e *goneError) byOthers(ctx context.Context) bool {
	return ctx.Err() == nil && !e.late && (e.idle || e.code == -1)
}

// reason returns what to tell the caller. What names what was running.
func (e *goneError) reason(ctx context.Context, cfg ReaderConfig, what string) error {
	const hint = "Use a simpler selector: avoid ~, :has and :nth-last-child on large pages, and .. in paths."
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case e.late:
		return fail(FailLimit, hint, "%s took longer than %v", what, cfg.Timeout)
	case e.code == exitMemory:
		return fail(FailLimit, hint, "%s took more than %d MiB of memory", what, cfg.Memory>>20)
	}
	return fail(FailLimit, hint, "the process that runs %s crashed (exit code %d): %w", what, e.code, e.err)
}
