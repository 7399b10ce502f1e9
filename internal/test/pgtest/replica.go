package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Follow returns a server that follows this one, and has what it has committed before it says
// so. It must be removed.
func (s *Server) Follow(ctx context.Context) (_ *Server, err error) {
	// What is committed waits for it: when the other is back, it is to follow at once.
	f, err := place(append(slices.Clone(s.settings), "wal_retrieve_retry_interval=200ms"))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Remove())
		}
	}()
	if err := errors.Join(f.certify(), f.reserve()); err != nil {
		return nil, err
	}
	f.databases.Store(s.databases.Load())
	if err := f.command("pg_basebackup", "--pgdata", f.data(), "--dbname", s.conninfo("replication"), "--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast", "--no-sync"); err != nil {
		return nil, err
	}
	if err := f.Run(); err != nil {
		return nil, err
	}
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := s.Do(ctx, statement); err != nil {
			return nil, err
		}
	}
	return f, s.followed(ctx)
}

// followed waits until another server has all that is committed.
func (s *Server) followed(ctx context.Context) error {
	const all = `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming') THEN RAISE 'nobody follows'; END IF; END $$`
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = s.Do(ctx, all); err == nil {
			return nil
		}
	}
	return err
}

// Kill ends the server as if its machine had lost its power.
func (s *Server) Kill() error {
	if s.stdin == nil {
		return nil
	}
	pid, err := s.PID()
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return errors.Join(p.Kill(), s.Halt())
}

// PID returns the process of the server, whose children are the others.
func (s *Server) PID() (pid int, err error) {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(strings.SplitN(string(text), "\n", 2)[0], &pid)
	return pid, err
}

// Promote has a server that follows another take its place.
func (s *Server) Promote(ctx context.Context) error { return s.Do(ctx, "SELECT pg_promote()") }
