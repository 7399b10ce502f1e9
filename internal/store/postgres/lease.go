package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// ErrFenced says that another process has taken the lease.
var ErrFenced = errors.New("another freshet process has taken over the database")

// lead connects to write, and takes the lease. If another process held it last, it waits until
// that one has not renewed it for as long as a lease lasts, unless it is only to try.
func (d *database) lead(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return d.Fault("connecting", err)
	}
	seen := ""
	for {
		ours, was, err := d.elect(ctx)
		if err != nil {
			return d.Fault("taking the lease", d.conn.judged(err))
		}
		if ours {
			d.resigned = was.renewed == "-infinity"
			d.room, err = d.grown()
			return d.Fault("reading the log of outcomes", err)
		}
		if d.cfg.Try || seen != "" && was.renewed != seen {
			return freshet.WithHint(fmt.Errorf("%s: %w: %s", d.name, freshet.ErrBusy, was.holder), "stop the other freshet process, or use another database")
		}
		if seen == "" {
			d.cfg.Log.InfoContext(ctx, "waiting for the lease of another process to end", "holder", was.holder, "lease", d.cfg.Lease)
		}
		seen = was.renewed
		select {
		case <-time.After(d.cfg.Lease / 4):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leaseHeld is for how many seconds the leader may assume that it leads: its lease, which can be
// longer than ours by misconfiguration.
const leaseHeld = "coalesce((SELECT CAST(value AS DOUBLE PRECISION) FROM facts WHERE name = 'lease'), 0)"

// electAmongOthers takes the lease, and says for how long it is taken.
const electAmongOthers = `WITH won AS (
		UPDATE leases SET epoch = epoch + 1, holder = $1, renewed = clock_timestamp(), address = $4
		WHERE name = 'brain' AND renewed = $3::timestamptz AND renewed < clock_timestamp() - make_interval(secs => greatest($2::float8, ` + leaseHeld + `))
		RETURNING epoch, batch
	), told AS (
		INSERT INTO facts (name, value) SELECT 'lease', CAST($2::float8 AS TEXT) FROM won ON CONFLICT (name) DO UPDATE SET value = excluded.value
	) SELECT epoch, batch FROM won`

// redate dates a lease that was renewed in the future as renewed now: the clock of PostgreSQL was set
// back, or another server has taken over whose clock is behind. Its holder renewed it before now,
// so that it lasts no longer than from now.
const redate = "UPDATE leases SET renewed = clock_timestamp() WHERE name = 'brain' AND isfinite(renewed) AND renewed > clock_timestamp() + interval '1 second'"

// A held is who holds the lease, and when it was renewed, in PostgreSQL's words.
type held struct{ holder, renewed string }

// elect takes the lease if nobody holds it. It returns who held it last.
func (d *database) elect(ctx context.Context) (ours bool, was held, err error) {
	on := d.conn.Conn.Conn()
	if _, err := on.Exec(ctx, redate); err != nil {
		return false, was, err
	}
	if err := on.QueryRow(ctx, "SELECT holder, renewed::text FROM leases WHERE name = 'brain'").Scan(&was.holder, &was.renewed); err != nil {
		return false, was, err
	}
	asked := d.count.Now()
	err = on.QueryRow(ctx, electAmongOthers, d.holder, d.cfg.Lease.Seconds(), was.renewed, d.cfg.Address).Scan(&d.epoch, &d.batch)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, was, nil
	}
	if err == nil {
		d.renewedAt(asked)
	}
	return err == nil, was, err
}

// renewedAt notes that the lease was renewed, which was asked for at a moment of the count:
// it lasts from a little later.
func (d *database) renewedAt(asked time.Duration) {
	d.until.Store(int64(asked + d.cfg.Lease))
}

// LeaseLeft returns for how long from now this process is sure that no other holds the lease. It is
// counted from before the lease was asked for, so that it ends before the lease does, whatever
// clocks show; only their rates must agree.
func (s *Store) LeaseLeft() time.Duration {
	return time.Duration(s.base.until.Load()) - s.base.count.Now()
}

// Term returns which holder of the lease this process is, counted from the first.
func (s *Store) Term() int64 { return s.base.epoch }

// Resigned reports whether the holder before gave the lease up. Then it is not sure that what
// it had begun is over: otherwise the lease has run out, and with it every right to begin
// something.
func (s *Store) Resigned() bool { return s.base.resigned }

// Lost is closed when nothing more can be written, because another process has the lease or
// it is not known what was written.
func (s *Store) Lost() <-chan struct{} { return s.base.lost }

// connect makes the connection that writes, or another in its place.
func (d *database) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	made, err := d.connector.Connect(ctx)
	if err != nil {
		return err
	}
	c := made.(*conn)
	// A process that is stopped within a transaction must not hold the lease for ever, nor one that
	// waits for a lock: an election needs the same row. What was committed must be on disk whatever
	// the configuration of the server.
	_, err = c.Conn.Conn().Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, false),
		set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false)`,
		fmt.Sprint(d.cfg.Lease.Milliseconds()))
	if err == nil {
		err = atMost(ctx, c, "lock_timeout", d.cfg.Lease/4)
	}
	if err == nil && d.bounded {
		err = d.bound(ctx, c)
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	if l := lineOf(c.Conn.Conn()); l != nil {
		l.writes.Store(true)
	}
	if d.conn != nil {
		_ = d.conn.Close() // it is lost
	}
	d.conn = c
	if d.writer == nil {
		d.writer = store.NewSender(c, func(query string, args []driver.Value) error { return d.conn.send(query, args) })
	} else {
		d.writer.Renew(c)
	}
	return nil
}

// Begin implements [store.Database]. Nothing is written without the lease.
func (d *database) Begin(*store.Writer) error {
	if d.over {
		return ErrFenced
	}
	ctx := context.Background()
	if d.conn.lost {
		if err := d.connect(ctx); err != nil {
			return err
		}
	}
	d.conn.forget()
	d.conn.timedOut = false
	d.growing, d.editing = d.room, d.edited
	d.begun.Store(int64(d.count.Now()))
	var both pgx.Batch
	both.Queue("BEGIN")
	both.Queue("UPDATE leases SET renewed = clock_timestamp(), batch = $1 WHERE name = 'brain' AND epoch = $2", d.batch+1, d.epoch)
	answers := d.conn.Conn.Conn().SendBatch(ctx, &both)
	_, err := answers.Exec()
	var updated pgconn.CommandTag
	if err == nil {
		updated, err = answers.Exec()
	}
	if closed := answers.Close(); err == nil { // otherwise it says the same once more
		err = closed
	}
	if err == nil && updated.RowsAffected() == 0 {
		err = ErrFenced
	}
	if err != nil {
		err = d.conn.judged(err)
		d.conn.timedOut = false // another process holds the row of the lease
		_ = d.Rollback(nil)     // the transaction would refuse all that follows; the caller returns the reason
		return err
	}
	return nil
}

// Commit implements [store.Database].
func (d *database) Commit(*store.Writer) error {
	ctx := context.Background()
	if err := d.notify(); err != nil {
		return err
	}
	if err := d.conn.flush(ctx); err != nil {
		return err
	}
	_, err := d.conn.Conn.Conn().Exec(ctx, "COMMIT")
	if err != nil {
		if err = d.conn.judged(err); !errors.Is(err, store.ErrAgain) {
			return err
		}
		if err = d.resolve(err); err != nil {
			return err
		}
	}
	d.batch++
	d.room, d.edited = d.growing, d.editing
	d.renewedAt(time.Duration(d.begun.Load()))
	d.noteCommitted(ctx)
	return nil
}

// resolve finds out whether a transaction is in whose commit was not answered: nil if it is,
// ErrAgain if it is not. The row of the lease is locked for that, so that a commit that is
// still under way has ended.
func (d *database) resolve(cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 6*d.cfg.Lease)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, d.cfg.Lease) {
		err := d.connect(ctx)
		if err == nil {
			var epoch, batch int64
			err = d.conn.Conn.Conn().QueryRow(ctx, "SELECT epoch, batch FROM leases WHERE name = 'brain' FOR UPDATE").Scan(&epoch, &batch)
			switch {
			case err != nil:
			case epoch != d.epoch:
				return fmt.Errorf("%w: %w", ErrFenced, cause)
			case batch == d.batch+1:
				d.cfg.Log.WarnContext(ctx, "the connection was lost during a commit, which is in", "store", d.name)
				return nil
			default:
				d.cfg.Log.WarnContext(ctx, "the connection was lost during a commit, which is repeated", "store", d.name)
				return cause
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errDoubt, errors.Join(err, cause))
		}
	}
}

// errDoubt says that it could not be found out whether a transaction is in.
var errDoubt = errors.New("the connection was lost during a commit, and what became of it could not be found out")

// Rollback implements [store.Database]. If the transaction waited too long for others, the lease is
// renewed without it: an election would not make them faster.
func (d *database) Rollback(*store.Writer) error {
	d.conn.forget()
	if d.conn.lost {
		return nil
	}
	ctx := context.Background()
	_, err := d.conn.Conn.Conn().Exec(ctx, "ROLLBACK")
	if err != nil || !d.conn.timedOut {
		return d.conn.judged(err)
	}
	asked := d.count.Now()
	done, err := d.conn.Conn.Conn().Exec(ctx, rebind(renewLease), d.epoch)
	if err == nil && done.RowsAffected() > 0 { // else the next Begin finds out
		d.renewedAt(asked)
	}
	return d.conn.judged(err)
}

// resign gives up the lease, so that the next process need not wait.
func (d *database) resign() error {
	if d.writer == nil || d.conn.isLost() || d.epoch == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Lease)
	defer cancel()
	_, err := d.conn.Conn.Conn().Exec(ctx, "UPDATE leases SET renewed = '-infinity' WHERE name = 'brain' AND epoch = $1", d.epoch)
	return d.Fault("giving up the lease", err)
}

// renew gives a sign of life while nothing else is written.
func (s *Store) renew(ctx context.Context) {
	every := s.cfg.Lease / 3
	failing := trouble{log: s.cfg.Log, level: slog.LevelError, begun: "the lease could not be renewed; it is tried again", over: "the lease is renewed again"}
	for {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
		var err error
		if s.LeaseLeft() <= s.cfg.Lease-every { // nothing was written since the last look
			err = s.Write(ctx, "renewing the lease", func(*store.Writer) error { return nil })
		}
		if errors.Is(err, freshet.ErrStoreFailed) {
			return
		}
		if codeOf(err) == diskFull {
			err = s.renewAlone(ctx)
		}
		if ctx.Err() == nil {
			failing.tell(ctx, err)
		}
	}
}

// renewAlone renews the lease outside of the transactions that others share. On a full disk these
// fail and the lease can still be renewed: an election would not make room.
func (s *Store) renewAlone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease/3)
	defer cancel()
	asked := s.base.count.Now()
	done, err := s.reader.ExecContext(ctx, renewLease, s.base.epoch)
	if err != nil {
		return s.base.Fault("renewing the lease", err)
	}
	if n, err := done.RowsAffected(); err == nil && n > 0 { // else the next write finds out
		s.base.renewedAt(asked)
	}
	return nil
}

// hold renews the lease while the store is not open yet, until the function is called: what is
// large takes longer to read than a lease lasts. The context ends if another has the lease.
func (s *Store) hold(ctx context.Context) (context.Context, func()) {
	ctx, fail := context.WithCancelCause(ctx)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-time.After(s.cfg.Lease / 4):
			case <-over:
				return
			case <-ctx.Done():
				return
			}
			asked := s.base.count.Now()
			done, err := s.reader.ExecContext(ctx, renewLease, s.base.epoch)
			if err != nil {
				continue // it is tried again; if that takes too long, another process leads
			}
			if n, err := done.RowsAffected(); err == nil && n == 0 {
				fail(ErrFenced)
				return
			}
			s.base.renewedAt(asked)
		}
	}()
	return ctx, func() { close(over); <-ended; fail(nil) }
}
