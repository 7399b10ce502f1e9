package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/postgres"
)

// A standby is a node that does not lead. It answers reads from the store and forwards other
// requests.
type standby struct {
	member    *membership
	now       func() time.Time // nil means by clock
	clock     *databaseClock
	log       *slog.Logger
	node      *Node // nil if it cannot read the store
	forwarder *forwarder
	follower  *follower  // nil for a cold standby
	deliverer *deliverer // nil if it cannot read the store
	term      *handlerTerm
	stopped   chan struct{}
	liveness  *liveness
}

// standBy makes this node a standby.
func (s *service) standBy(ctx context.Context, given config.Settings) error {
	s.settings.set(given)
	b := &standby{member: s.member, now: s.Now, clock: s.clock, log: s.Log, forwarder: newForwarder(s.signer, Trust(given), s.Log), stopped: make(chan struct{}), liveness: newLiveness(s.lease)}
	cfg := s.config()
	cfg.Standby, cfg.Idle, cfg.Queries, cfg.Observe = true, true, false, nil
	n, err := Open(ctx, cfg)
	var handler http.Handler
	p := nodeRole{role: postgres.Standby}
	switch {
	case errors.Is(err, postgres.ErrOldFormat):
		s.Log.Info("the database has the format of an older version; this node forwards everything until it leads")
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.forwarder.send(w, r, &forwarding{}) })
	case err != nil:
		return err
	default:
		gate, err := s.openGate(ctx, n, true)
		if err != nil {
			return errors.Join(err, n.Close())
		}
		if _, err := s.member.inspectKey(ctx); err != nil { // before it reports ready
			return errors.Join(err, n.Close())
		}
		b.node, p.node, p.gate, b.deliverer = n, n, gate, s.newDeliverer(ctx, given, n)
		handler = acceptForwarded(nil, 0, b.handler(s, gate)) // another node may take this one for the leader
	}
	b.term = s.handlerSwitch.serve(b.withDeliverer(b.redirectWorkers(given.Cluster.TokenFile, handler)))
	s.listen()
	s.standby, p.standby = b, b
	s.member.setRole(p)
	b.follow(ctx, given)
	s.Log.Info("standing by: another node leads", "address", s.address.URL)
	return s.writeAddress()
}

// stopStandby ends the role of a standby, if the node has it. Clients reopen their streams.
func (s *service) stopStandby() {
	if b := s.standby; b != nil {
		s.standby = nil
		b.stop(s.Grace)
	}
}

// stop ends the role of a standby within a grace.
func (b *standby) stop(grace time.Duration) {
	b.stopFollowing()
	b.stopDeliveries(grace / 2)
	b.term.stopAccepting()
	close(b.stopped)
	b.forwarder.follow(postgres.Lease{})
	b.term.close(grace / 5)
	if b.node == nil {
		return
	}
	if b.member.role.node == b.node {
		b.member.setRole(nodeRole{role: postgres.Standby})
	}
	if err := b.node.Close(); err != nil {
		b.log.Warn("closing the store of the standby failed", "err", err)
	}
}

// handler returns the API of a standby.
func (b *standby) handler(s *service, gate *auth.Gate) http.Handler {
	settings := s.settings.Settings
	return api.New(api.Config{
		Store: b.node.Store, Frontier: frontier.NewStore(b.node.stored.DB()), QueryStore: queries.NewStore(b.node.stored.DB()), Daemon: b.node.Daemon,
		Auth: api.AuthConfig{Gate: gate, Hosts: s.hostNames()},
		Sources: api.SourceConfig{
			Check: settings.CheckURL, Trust: b.node.checkForeign, Read: b.node.reader.Read, Trace: b.node.reader.Trace,
		},
		Search:  api.SearchConfig{Off: settings.NoSearch, Search: b.node.stored.Search},
		Cluster: api.ClusterConfig{Forward: b.forwarder.forward, Members: s.cluster(b.node, false)},
		Program: api.ProgramConfig{Version: s.Version, Ready: func() error { return cmp.Or(b.liveness.ready(), s.member.canLead()) }, Browser: b.node.browser},
		Stop:    b.stopped, Base: settings.API.URL, Now: s.Now, Metrics: s.metrics, Log: s.Log,
	})
}

// redirectWorkers redirects workers to the leader.
func (b *standby) redirectWorkers(file string, h http.Handler) http.Handler {
	if file == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != cluster.Path {
			h.ServeHTTP(w, r)
			return
		}
		token, err := ReadToken(file)
		if err != nil {
			http.Error(w, "the worker token cannot be read", http.StatusServiceUnavailable)
			return
		}
		leader := ""
		if l := b.forwarder.leader.Load(); l != nil {
			leader = l.Address
		}
		admit := func(context.Context, string) (bool, error) { return false, freshet.ErrBusy }
		if b.node != nil {
			admit = b.node.admits
		}
		cluster.Redirect(w, r, leader, token, admit)
	})
}
