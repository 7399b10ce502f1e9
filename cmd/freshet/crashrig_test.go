//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"freshet/client"
	"freshet/sched"
	"freshet/synth"
)

// What the daemon of the campaign is allowed. The stretch is short so that many
// of them, each with several kills in it, are there to be overdrawn.
var (
	crashBudget = sched.Budget{Polls: 200, Per: 5 * time.Second}
	crashDelay  = 200 * time.Millisecond
)

// crashSink is the name of the webhook.
const crashSink = "witness"

// A crashRig is a web, those who witness what the daemon tells, and what is
// needed to start the daemon again and again.
type crashRig struct {
	web    *synth.Web
	dir    string
	config string
	hook   *hookWitness
	stream *streamWitness
	acks   *ackWitness

	kills, frozen, unready int
	stops                  int // gentle
	recoveries             []time.Duration
	deaths                 []time.Time
}

func newCrashRig(t *testing.T, seed uint64) *crashRig {
	r := &crashRig{web: synth.Crash(seed, time.Now()), dir: t.TempDir()}
	server, err := r.web.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Errorf("the synthetic web: %v", err)
		}
	})
	r.hook = newHookWitness(t)
	r.stream = newStreamWitness()
	r.acks = &ackWitness{}
	running.Go(func() { r.stream.run(ctx, t) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	r.config = r.writeConfig(t, server)
	return r
}

func (r *crashRig) writeConfig(t *testing.T, server *synth.Server) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "data: %s\nlisten: 127.0.0.1:0\nbudget: %s\nhosts: {delay: %s}\nallow_cidr: [127.0.0.0/8]\nlog: {level: info}\n", filepath.Join(r.dir, "data"), crashBudget, crashDelay)
	fmt.Fprintf(&b, "webhooks:\n  - {name: %s, url: %q, secret: %s}\nsources:\n", crashSink, r.hook.server.URL, hookSecret)
	for _, s := range server.Sources() {
		fmt.Fprintf(&b, "  - {id: %s, url: %q, name: %q}\n", s.ID, s.URL, s.Name)
	}
	file := filepath.Join(r.dir, "freshet.yaml")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A crashDaemon is one life of the daemon.
type crashDaemon struct {
	rig     *crashRig
	cmd     *exec.Cmd
	log     bytes.Buffer
	ready   chan string // its address, or closed if it ended before it had one
	read    chan struct{}
	started time.Time
}

// start starts the daemon and does not wait for it.
func (r *crashRig) start(t *testing.T, env ...string) *crashDaemon {
	t.Helper()
	d := &crashDaemon{rig: r, ready: make(chan string, 1), read: make(chan struct{}), started: time.Now()}
	d.cmd = exec.CommandContext(t.Context(), "freshet", "serve", "--config", r.config)
	d.cmd.Env = append(os.Environ(), env...)
	d.cmd.Stderr = &d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.read)
		defer close(d.ready)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
				d.ready <- url
			}
		}
	}()
	return d
}

// meet waits until the daemon is ready and lets the witnesses talk to it.
func (r *crashRig) meet(t *testing.T, d *crashDaemon) string {
	t.Helper()
	select {
	case base, ok := <-d.ready:
		if !ok {
			d.cmd.Wait()
			t.Fatalf("the daemon did not come up again after %d kills:\n%s", r.kills, d.log.String())
		}
		r.recoveries = append(r.recoveries, time.Since(d.started))
		r.stream.meet(base)
		r.acks.meet(base)
		return base
	case <-time.After(time.Minute):
		d.kill(t)
		t.Fatalf("the daemon was not ready within a minute, after %d kills:\n%s", r.kills, d.log.String())
	}
	return ""
}

// freeze stops the daemon in its tracks, so that what is in flight stays there
// until it is killed.
func (d *crashDaemon) freeze(t *testing.T) {
	if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// kill kills the daemon. One that has ended by itself has failed.
func (d *crashDaemon) kill(t *testing.T) {
	t.Helper()
	d.rig.acks.part()
	err := d.cmd.Process.Kill()
	<-d.read
	d.cmd.Wait()
	if status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); err != nil || ok && !status.Signaled() {
		t.Fatalf("the daemon had ended by itself after %d kills: %v\n%s", d.rig.kills, d.cmd.ProcessState, d.log.String())
	}
	d.rig.kills++
	d.rig.deaths = append(d.rig.deaths, time.Now())
}

// settle starts the daemon once more with next to nothing to spend, so that the
// log grows no further, waits until all of it has been told, and stops the
// daemon the gentle way.
func (r *crashRig) settle(t *testing.T) {
	d := r.start(t, "FRESHET_BUDGET=1/d")
	base := r.meet(t, d)
	deadline := time.After(2 * time.Minute)
	for {
		s := r.status(t, base)
		if len(s.Sinks) == 1 && s.Sinks[0].Place.Cursor >= s.LastChange.Cursor && s.Sinks[0].Open == 0 && r.stream.reached().Cursor >= s.LastChange.Cursor && s.UnderWay == 0 {
			if s.Sinks[0].Dead > 0 {
				t.Errorf("%d deliveries were given up, want none", s.Sinks[0].Dead)
			}
			break
		}
		select {
		case <-deadline:
			t.Errorf("not all changes were told within two minutes: the log ends at %s, the stream has reached %s, the webhook stands at %+v", s.LastChange, r.stream.reached(), s.Sinks)
			d.kill(t)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	r.acks.part()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.read
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon did not stop gently: %v\n%s", err, d.log.String())
	}
}

func (r *crashRig) status(t *testing.T, base string) (s client.Status) {
	t.Helper()
	resp, err := http.Get(base + "/api/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatalf("status: %v", err)
	}
	return s
}
