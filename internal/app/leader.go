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

// runCluster serves on a database that other nodes have, too: it leads if nobody else does,
// and stands by otherwise.
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
	s.lease, s.troubles = leaseOf(s.settings.Settings), map[string]string{}
	s.member = &membership{peers: s.peers, lease: s.lease, vault: secrets.Open(s.settings.SecretDir()), settings: s.settings.shared.Load, log: s.Log}
	s.nodes = &nodeCache{peers: s.peers, lease: s.lease}
	var beating sync.WaitGroup
	alive, stop := context.WithCancel(ctx)
	me := postgres.Node{Name: s.where.Instance, Address: s.advertised(), Version: s.Version, Pass: s.signer.Public(), Started: time.Now().UTC()}
	beating.Go(func() { s.member.heartbeat(alive, me) })
	s.clock = &databaseClock{peers: s.peers}
	beating.Go(func() { s.clock.watch(alive) })
	defer func() { stop(); beating.Wait() }()
	defer s.stopStandby()
	given := s.settings.Settings
	for ctx.Err() == nil {
		again := false
		given, err = s.awaitLeadership(ctx, given)
		if err == nil && ctx.Err() == nil {
			again, err = s.lead(ctx, given)
		}
		switch {
		case ctx.Err() != nil && (isTransient(err) || errors.Is(err, context.Canceled)): // asked to stop before it had begun
			return nil
		case shouldRetry(err) && (s.announced || s.led) && ctx.Err() == nil:
			s.logOnce("this node cannot go on; it stands by and tries again", err)
			if s.standby != nil {
				s.standby.contact.cannotLead(err)
			}
			rest(ctx, s.lease/4)
		case err != nil || !again:
			return err
		}
	}
	return nil
}

// A transientError is why a node could not begin what it was to do, or not go on with it.
type transientError struct{ error }

// Unwrap returns the reason.
func (e transientError) Unwrap() error { return e.error }

// shouldRetry reports whether a node tries again after an error: the database may come back. One whose
// version is too old to decide goes on to answer what it can until it is upgraded.
func shouldRetry(err error) bool {
	return isTransient(err) && (errors.Is(err, freshet.ErrStorage) || errors.Is(err, postgres.ErrNewFormat))
}

func isTransient(err error) bool {
	_, is := errors.AsType[transientError](err)
	return is
}

// awaitLeadership returns when no node leads and this node may. Until then it stands by. It returns
// the settings as they were given, or reloaded meanwhile.
func (s *service) awaitLeadership(ctx context.Context, given config.Settings) (config.Settings, error) {
	for {
		lease, err := s.currentLease(ctx)
		if s.standby != nil {
			s.standby.contact.note(lease, err)
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
		if s.standby.runner != nil {
			s.standby.runner.See(lease.Term)
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
				s.Log.Info("settings reloaded; they hold when this node leads")
				s.standby.followAgain(ctx, given, true)
				if s.standby.runner != nil {
					s.standby.runner.setSettings(given)
				}
			}
		}
	}
}

// logOnce logs that something does not work, unless that has been told and it has not worked since.
// Without an error it works.
func (s *service) logOnce(what string, err error) {
	if err == nil {
		delete(s.troubles, what)
		return
	}
	if kind := errorKind(err); kind != s.troubles[what] {
		s.troubles[what] = kind
		s.Log.Error(what, "err", err, "hint", freshet.HintOf(err))
	}
}

// errorKind tells an error from another that is to be said, too. Those of a database that cannot be
// reached name a port that is another each time.
func errorKind(err error) string {
	if errors.Is(err, freshet.ErrStorage) {
		return freshet.ErrStorage.Error() + ": " + freshet.HintOf(err)
	}
	return err.Error()
}

// currentLease returns which node leads, as far as the database can be asked.
func (s *service) currentLease(ctx context.Context) (postgres.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, max(time.Second, s.lease))
	defer cancel()
	l, err := s.peers.Lease(ctx)
	if err == nil && l.Left > max(s.lease, l.Length)+time.Second {
		err = s.peers.Redate(ctx)
	}
	return l, err
}

// advertised returns where others reach this node.
func (s *service) advertised() string {
	if s.settings.Cluster.Advertise != "" {
		return s.settings.Cluster.Advertise
	}
	tcp, ok := s.at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return s.where.URL
	}
	host, err := os.Hostname()
	if err != nil {
		return s.where.URL
	}
	scheme, _, _ := strings.Cut(s.where.URL, "://")
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// takeOver opens the store to write. It returns nil if another node was faster.
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
	cfg.Address, cfg.after = s.advertised(), s.standby
	if cfg.Now == nil {
		if err := s.dateByDatabase(ctx, &cfg); err != nil {
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
	if err != nil || !maps.Equal(before, after) { // set by a node that led in between
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// lead decides until ctx is done, or another node does. It reports whether to stand by again.
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
	defer func() { err = errors.Join(err, n.closeLed()) }()
	if err := s.member.makeKey(ctx, n); err != nil {
		return false, transientError{err}
	}
	if s.gate, err = s.openGate(ctx, n, false); err != nil {
		return false, transientError{err}
	}
	s.led = true
	clear(s.troubles)
	s.Log.Info("this node leads", "term", n.leads.Term(), "address", s.advertised(), "warm", n.warm)
	s.member.setRole(rolePlayed{role: postgres.Leader, node: n, gate: s.gate})
	defer s.member.setRole(rolePlayed{role: postgres.Standby})
	working, lose := context.WithCancel(ctx)
	defer lose()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-n.leads.Lost():
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
		s.Log.Warn("another node leads now, or the database cannot be written; this one stands by", "term", n.leads.Term(), "err", err)
		return true, nil
	case errors.Is(err, freshet.ErrStorage): // it may come back, and another node may reach it
		return false, transientError{err}
	}
	return false, err
}

// dateByDatabase has a node date by the clock of the database: those of nodes may differ, and
// what the one before has sent counts by its date.
func (s *service) dateByDatabase(ctx context.Context, cfg *Config) error {
	if err := s.clock.look(ctx, true); err != nil {
		return err
	}
	if ahead := time.Duration(s.clock.ahead.Load()); ahead.Abs() > time.Second {
		s.Log.Warn("the clock of this machine differs from that of PostgreSQL; everything is dated by that of PostgreSQL", "by", units.FormatDuration(ahead.Round(time.Millisecond)))
	}
	s.Now = s.clock.now
	cfg.Now, cfg.observed = s.Now, &s.clock.observed
	if cfg.Uptime == nil {
		cfg.Uptime = clock.Uptime
	}
	return nil
}

// lostLease reports whether a node can write nothing any more.
func (n *Node) lostLease() bool {
	select {
	case <-n.leads.Lost():
		return true
	default:
		return false
	}
}

// closeLed closes a node that has led. What it cannot write any more is another's to write.
func (n *Node) closeLed() error {
	err := n.Close()
	if err != nil && n.lostLease() {
		n.log.Debug("closing what another node has taken over", "err", err)
		return nil
	}
	return err
}
