package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/clock"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/units"
)

// runCluster serves on a database that other nodes may share: it leads if no other node does, and
// is a standby otherwise.
func (s *service) runCluster(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.settings.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if s.peers, err = postgres.OpenPeers(ctx, databaseOf(s.settings.Settings, nil)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.peers.Close()) }()
	if err := s.settings.NoteStore(); err != nil {
		return err
	}
	s.lease, s.reported = leaseOf(s.settings.Settings), map[string]string{}
	s.member = &membership{peers: s.peers, lease: s.lease, vault: secrets.Open(s.settings.SecretDir()), settings: s.settings.shared.Load, log: s.Log}
	s.nodes = &nodeCache{peers: s.peers, lease: s.lease}
	var background sync.WaitGroup
	alive, stop := context.WithCancel(ctx)
	me := postgres.Node{Name: s.address.Instance, Address: s.advertised(), Version: s.Version, Pass: s.signer.Public(), Started: time.Now().UTC()}
	background.Go(func() { s.member.heartbeat(alive, me) })
	s.clock = &databaseClock{peers: s.peers}
	background.Go(func() { s.clock.watch(alive) })
	defer func() { stop(); background.Wait() }()
	defer s.stopStandby()
	given := s.settings.Settings
	for ctx.Err() == nil {
		again := false
		given, err = s.awaitLeadership(ctx, given)
		if err == nil && ctx.Err() == nil {
			again, err = s.lead(ctx, given)
		}
		switch {
		case ctx.Err() != nil && (isTransient(err) || errors.Is(err, context.Canceled)): // stopped before it had begun
			return nil
		case shouldRetry(err) && (s.announced || s.hasLed) && ctx.Err() == nil:
			s.logOnce("this node failed; it is a standby and will retry", err)
			if s.standby != nil {
				s.standby.liveness.setErr(err)
			}
			sleep(ctx, s.lease/4)
		case err != nil || !again:
			return err
		}
	}
	return nil
}

// A transientError is an error that prevents a node from leading or standing by for now.
type transientError struct{ error }

// Unwrap implements the interface of [errors.Unwrap].
func (e transientError) Unwrap() error { return e.error }

// shouldRetry reports whether a node tries again after an error, because the database may come
// back. A node whose version is too old to lead also goes on, as a standby, until it is upgraded.
func shouldRetry(err error) bool {
	return isTransient(err) && (errors.Is(err, freshet.ErrStorage) || errors.Is(err, postgres.ErrNewFormat))
}

func isTransient(err error) bool {
	_, is := errors.AsType[transientError](err)
	return is
}

// awaitLeadership returns when there is no leader and this node may lead; until then the node is a
// standby. It returns the settings, which may have been reloaded.
func (s *service) awaitLeadership(ctx context.Context, given config.Settings) (config.Settings, error) {
	for {
		lease, err := s.currentLease(ctx)
		if s.standby != nil {
			s.standby.liveness.observe(lease, err)
		}
		if err == nil && !lease.Held() {
			if err = s.member.checkKey(ctx); err == nil {
				return given, nil
			}
		}
		if ctx.Err() != nil {
			return given, nil
		}
		s.logOnce("this node cannot take over", err)
		if s.standby == nil {
			if err := s.standBy(ctx, given); err != nil {
				return given, transientError{err}
			}
		}
		s.standby.followAgain(ctx, given, false)
		s.standby.forwarder.follow(lease)
		if s.standby.deliverer != nil {
			s.standby.deliverer.See(lease.Term)
		}
		select {
		case <-ctx.Done():
			return given, nil
		case <-time.After(s.lease / 20):
		case <-s.Hangups:
			if to, err := s.Load(); err != nil {
				s.Log.Error("reload failed; nothing has changed", "err", err, "hint", freshet.HintOf(err))
			} else {
				to.Fetch.Self, to.Data, given = given.Fetch.Self, given.Data, to
				s.settings.shared.Store(&to)
				s.Log.Info("settings reloaded; they apply when this node leads")
				s.standby.followAgain(ctx, given, true)
				if s.standby.deliverer != nil {
					s.standby.deliverer.setSettings(given)
				}
			}
		}
	}
}

// logOnce logs an error unless it repeats the last one of what. A nil error resets that.
func (s *service) logOnce(what string, err error) {
	if err == nil {
		delete(s.reported, what)
		return
	}
	if kind := errorKind(err); kind != s.reported[what] {
		s.reported[what] = kind
		s.Log.Error(what, "err", err, "hint", freshet.HintOf(err))
	}
}

// errorKind returns a key that is equal for errors that need not be logged twice. Storage errors
// can differ in an ephemeral port.
func errorKind(err error) string {
	if errors.Is(err, freshet.ErrStorage) {
		return freshet.ErrStorage.Error() + ": " + freshet.HintOf(err)
	}
	return err.Error()
}

// currentLease returns the lease of the leader.
func (s *service) currentLease(ctx context.Context) (postgres.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, max(time.Second, s.lease))
	defer cancel()
	l, err := s.peers.Lease(ctx)
	if err == nil && l.Left > max(s.lease, l.Length)+time.Second {
		err = s.peers.Redate(ctx)
	}
	return l, err
}

// advertised returns the URL at which other machines reach this node.
func (s *service) advertised() string {
	if s.settings.Cluster.Advertise != "" {
		return s.settings.Cluster.Advertise
	}
	tcp, ok := s.listenAddr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return s.address.URL
	}
	host, err := os.Hostname()
	if err != nil {
		return s.address.URL
	}
	scheme, _, _ := strings.Cut(s.address.URL, "://")
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// takeOver opens the store for writing. It returns nil if another node was faster.
func (s *service) takeOver(ctx context.Context, given config.Settings) (*Node, error) {
	saved := savedSettings{s.peers}
	before, err := saved.read(ctx, given.Data)
	if err == nil {
		err = given.TakeKept(before, "the settings in "+s.peers.Name())
	}
	s.settings.set(given)
	if err != nil {
		return nil, err
	}
	cfg := s.config()
	cfg.Address, cfg.previous = s.advertised(), s.standby
	if cfg.Now == nil {
		if err := s.useDatabaseClock(ctx, &cfg); err != nil {
			return nil, err
		}
	}
	n, err := Open(ctx, cfg)
	if errors.Is(err, freshet.ErrBusy) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	after, err := saved.read(ctx, given.Data)
	if err != nil || !maps.Equal(before, after) { // changed by a node that led in between
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// lead leads until ctx is done or the lease is lost. It reports whether to become a standby again.
func (s *service) lead(ctx context.Context, given config.Settings) (again bool, err error) {
	now := s.Now
	defer func() { s.Now = now }()
	n, err := s.takeOver(ctx, given)
	switch {
	case err != nil:
		return false, transientError{err}
	case n == nil:
		return true, nil
	}
	s.node = n
	defer func() { err = errors.Join(err, n.closeAfterLeading()) }()
	if err := s.member.makeKey(ctx, n); err != nil {
		return false, transientError{err}
	}
	if s.gate, err = s.openGate(ctx, n, false); err != nil {
		return false, transientError{err}
	}
	s.hasLed = true
	clear(s.reported)
	s.Log.Info("this node leads", "term", n.leaderStore.Term(), "address", s.advertised(), "warm", n.warm)
	s.member.setRole(nodeRole{role: postgres.Leader, node: n, gate: s.gate})
	defer s.member.setRole(nodeRole{role: postgres.Standby})
	working, lose := context.WithCancel(ctx)
	defer lose()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-n.leaderStore.Lost():
			s.handlerSwitch.stop()
			lose()
		case <-working.Done():
		}
	}()
	err = s.work(working)
	lose()
	<-watched
	switch {
	case ctx.Err() != nil:
		return false, err
	case n.lostLease():
		s.Log.Warn("lost the lease: another node leads, or the database is not writable; this node is now a standby", "term", n.leaderStore.Term(), "err", err)
		return true, nil
	case errors.Is(err, freshet.ErrStorage): // it may come back, and another node may reach it
		return false, transientError{err}
	}
	return false, err
}

// useDatabaseClock makes a node tell the time by the clock of the database: the clocks of nodes may
// differ, and requests of the previous leader count by their date.
func (s *service) useDatabaseClock(ctx context.Context, cfg *Config) error {
	if err := s.clock.read(ctx, true); err != nil {
		return err
	}
	if ahead := time.Duration(s.clock.offset.Load()); ahead.Abs() > time.Second {
		s.Log.Warn("the clock of this machine differs from that of PostgreSQL, which dates everything", "by", units.FormatDuration(ahead.Round(time.Millisecond)))
	}
	s.Now = s.clock.now
	cfg.Now, cfg.observed = s.Now, &s.clock.observed
	if cfg.Uptime == nil {
		cfg.Uptime = clock.Uptime
	}
	return nil
}

// lostLease reports whether a node has lost its lease.
func (n *Node) lostLease() bool {
	select {
	case <-n.leaderStore.Lost():
		return true
	default:
		return false
	}
}

// closeAfterLeading closes a node that has led. Errors after the loss of the lease do not matter.
func (n *Node) closeAfterLeading() error {
	err := n.Close()
	if err != nil && n.lostLease() {
		n.log.Debug("close after losing the lease", "err", err)
		return nil
	}
	return err
}
