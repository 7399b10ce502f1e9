package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/app/config"
	shared "freshet/internal/cluster/delivery"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/store/postgres"
)

// deliveries are those that a leader makes or has made.
type deliveries struct {
	*shared.Dispatch
	sinks *delivery.Sinks
}

// delivering returns what each node does for sinks, by address.
func (n *Node) delivering() map[string]shared.Status {
	if d := n.deliveries.Load(); d != nil {
		return d.Status(d.sinks.Working())
	}
	return nil
}

// dispatch returns what shares deliveries with the other nodes; nil if there can be none.
func (s *service) dispatch() *shared.Dispatch {
	if s.peers == nil {
		return nil
	}
	return shared.NewDispatch(shared.DispatchConfig{
		Own: s.advertised(), Epoch: s.node.leads.Term(), LeaseLeft: s.node.leads.LeaseLeft, Lease: s.lease, Sign: s.signer, Log: s.Log,
		Do: fetch.TrustedBy(time.Minute, Trust(s.settings.Settings)).Do,
		Nodes: func(ctx context.Context) (there []string, err error) {
			nodes, err := s.peers.Nodes(ctx)
			for _, n := range nodes {
				if n.Name != s.where.Instance && n.Address != s.advertised() && n.Role != postgres.Lost && !slices.Contains(there, n.Address) {
					there = append(there, n.Address)
				}
			}
			return there, err
		},
	})
}

// sendsBy returns settings by which this node sends to sinks: not after it has lost its lease.
func (n *Node) sendsBy(s config.Settings) config.Settings {
	if n.leads != nil {
		s.Fetch.May = n.mayFetch
	}
	return s
}

// A deliverer makes deliveries for the leader.
type deliverer struct {
	*shared.Sender
	terms atomic.Pointer[terms]
	now   func() time.Time
}

// terms are the settings that a deliverer goes by.
type terms struct {
	config.Settings
	once sync.Once
	out  sinks.Config // of all its outlets
}

// newDeliverer returns a deliverer of a node that stands by, for as long as that can read the store.
func (s *service) newDeliverer(ctx context.Context, given config.Settings, n *Node) *deliverer {
	r := &deliverer{now: s.Now}
	if r.now == nil {
		if ahead, err := s.peers.Ahead(ctx); err == nil { // receivers look when a message was signed
			r.now = func() time.Time { return time.Now().Add(ahead) }
		}
	}
	r.Sender = shared.New(shared.Config{
		Log:    s.Log,
		Verify: identity.NewVerifier(s.advertised(), s.nodes.knows),
		Leads: func(ctx context.Context, epoch int64) (bool, error) {
			l, err := s.peers.Lease(ctx)
			return l.Held() && l.Term == epoch, err
		},
		Find: func(ctx context.Context, name string) (sinks.Sink, error) {
			return r.find(ctx, sinks.NewStore(n.stored.DB()), name)
		},
		Open: r.open,
	})
	r.setSettings(given)
	return r
}

// setSettings takes on settings.
func (r *deliverer) setSettings(given config.Settings) {
	r.terms.Store(&terms{Settings: given})
	r.Forget()
}

// find returns a sink of the file or, if there is none, of the store.
func (r *deliverer) find(ctx context.Context, store *sinks.Store, name string) (sinks.Sink, error) {
	given := r.terms.Load()
	listed := given.AllSinks()
	if i := slices.IndexFunc(listed, func(l sinks.Sink) bool { return l.Name == name }); i >= 0 {
		return listed[i], nil
	}
	record, err := store.Sink(ctx, name)
	if err == nil && record.Definition == nil {
		err = freshet.ErrNotFound
	}
	if errors.Is(err, freshet.ErrNotFound) {
		return sinks.Sink{}, errors.New("its file has no such sink")
	}
	if err != nil {
		return sinks.Sink{}, err
	}
	to, err := delivery.Unseal(secrets.Open(given.SecretDir()), record)
	if err != nil && freshet.HintOf(err) == "" {
		err = freshet.WithHint(err, keyHint)
	}
	return to, err
}

// open opens a sink by the settings of this node.
func (r *deliverer) open(to sinks.Sink, may func() error) (*sinks.Outlet, error) {
	by := r.terms.Load()
	by.once.Do(func() {
		given := by.Settings
		given.Fetch.May = may
		by.out = given.Outlets(os.Getenv, secrets.Open(given.SecretDir()), r.now)
	})
	return sinks.Open(by.out, to)
}

// leave ends the deliveries of a node that does not stand by any more.
func (b *standby) leave(grace time.Duration) {
	if b.runner == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	b.runner.Leave(ctx)
	b.runner.Close()
}

// withRunner returns a handler that takes tasks of the leader, too.
func (b *standby) withRunner(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != shared.Path:
			h.ServeHTTP(w, r)
		case b.runner == nil:
			http.Error(w, "this node makes no deliveries", http.StatusNotFound)
		default:
			b.runner.ServeHTTP(w, r)
		}
	})
}
