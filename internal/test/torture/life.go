//go:build unix

package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
)

// A life is one run of the daemon, from its start to its end.
type life struct {
	n       int
	inside  bool
	cmd     *exec.Cmd
	control io.WriteCloser // of a daemon whose clock and disk obey; nil otherwise
	log     *journal
	ready   chan string   // its address, or closed if it ended before it had one
	ended   chan struct{} // closed when it has ended and all it said was read
	began   time.Time

	base string // of its API, once it is ready
	api  *client.Client
	peak usage

	memory int64 // that it may take
}

// A start says how a daemon is started.
type start struct {
	inside bool
	offset time.Duration // of its clock, inside
	files  int           // that it may have open; zero means as many as this program
	env    []string
}

// begin starts a daemon and does not wait for it.
func begin(c Config, n int, file string, s start) (*life, error) {
	command := append(c.Freshet[:len(c.Freshet):len(c.Freshet)], "serve", "--config", file)
	if s.inside {
		command = append(c.Inside[:len(c.Inside):len(c.Inside)], "--config", file, "--offset", s.offset.String())
	}
	if s.files > 0 {
		command = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, s.files), "sh"}, command...)
	}
	l := &life{n: n, inside: s.inside, ready: make(chan string, 1), ended: make(chan struct{}), began: time.Now(), log: &journal{}, memory: mostMemory}
	l.cmd = exec.Command(command[0], command[1:]...)
	l.cmd.Env = append(os.Environ(), s.env...)
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said, err := l.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if l.control, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a daemon: %w", err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { l.listen(out) })
	reading.Go(func() { l.log.read(said) })
	go func() {
		reading.Wait()
		l.cmd.Wait() // how it ended is in ProcessState
		close(l.ended)
	}()
	return l, nil
}

// listen waits for the line with the address.
func (l *life) listen(out io.Reader) {
	defer close(l.ready)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			l.ready <- url
		}
	}
}

// meet waits until the daemon says where its API is.
func (l *life) meet(ctx context.Context, patience time.Duration) error {
	select {
	case base, ok := <-l.ready:
		if !ok {
			<-l.ended
			return fmt.Errorf("it ended before it was ready: %v", l.cmd.ProcessState)
		}
		l.base = base
		l.api = client.New(base, fetch.Trusted(patience).Do)
		return nil
	case <-time.After(patience):
		return fmt.Errorf("it was not ready within %v", patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell steers the clock or the disk of a daemon inside.
func (l *life) tell(o order) error {
	return json.NewEncoder(l.control).Encode(o)
}

// signal sends a signal. A daemon that has ended gets none.
func (l *life) signal(s os.Signal) error { return l.cmd.Process.Signal(s) }

// kill ends the daemon with SIGKILL and waits for its end.
func (l *life) kill() {
	l.cmd.Process.Kill()
	<-l.ended
}

// wait waits for the end, and reports whether it came in time.
func (l *life) wait(patience time.Duration) bool {
	select {
	case <-l.ended:
		return true
	case <-time.After(patience):
		return false
	}
}

// over reports whether the daemon has ended.
func (l *life) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// exit returns the exit code, or -1 if a signal ended it.
func (l *life) exit() int { return l.cmd.ProcessState.ExitCode() }

// killed reports whether SIGKILL ended it.
func (l *life) killed() bool {
	status, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
