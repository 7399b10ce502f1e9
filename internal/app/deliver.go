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

// deliveries are the deliveries that a leader makes or assigns to other nodes.
type deliveries struct {
	*shared.Dispatch
	sinks *delivery.Sinks
}

// deliveryStatus returns what each node delivers, by address.
func (n *Node) deliveryStatus() map[string]shared.Status {
	if d := n.deliveries.Load(); d != nil {
		return d.Status(d.sinks.Working())
	}
	return nil
}

// dispatch returns what distributes deliveries among the nodes, or nil without a shared database.
func (s *service) dispatch() *shared.Dispatch {
	if s.peers == nil {
		return nil
	}
	return shared.NewDispatch(shared.DispatchConfig{
		Own: s.advertised(), Epoch: s.node.leaderStore.Term(), LeaseLeft: s.node.leaderStore.LeaseLeft, Lease: s.lease, Sign: s.signer, Log: s.Log,
		Do: fetch.TrustedBy(time.Minute, Trust(s.settings.Settings)).Do,
		Nodes: func(ctx context.Context) (there []string, err error) {
			nodes, err := s.peers.Nodes(ctx)
			for _, n := range nodes {
				if n.Name != s.address.Instance && n.Address != s.advertised() && n.Role != postgres.Lost && !slices.Contains(there, n.Address) {
					there = append(there, n.Address)
				}
			}
			return there, err
		},
	})
}

// withLeaseCheck returns settings with which this node sends to sinks only while it holds its
// lease.
func (n *Node) withLeaseCheck(s config.Settings) config.Settings {
	if n.leaderStore != nil {
		s.Fetch.May = n.mayFetch
	}
	return s
}

// A deliverer makes deliveries for the leader.
type deliverer struct {
	*shared.Sender
	settings atomic.Pointer[deliverySettings]
	saved    savedSettings // made over the API of the leader
	now      func() time.Time
}

// deliverySettings are the settings of a deliverer and what is derived from them.
type deliverySettings struct {
	config.Settings
	once sync.Once
	out  sinks.Config // shared by all outlets
}

// newDeliverer returns the deliverer of a standby that can read the store.
func (s *service) newDeliverer(ctx context.Context, given config.Settings, n *Node) *deliverer {
	r := &deliverer{saved: savedSettings{s.peers}, now: s.Now}
	if r.now == nil {
		if ahead, err := s.peers.Ahead(ctx); err == nil { // receivers check the time of the signature
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

// setSettings replaces the settings.
func (r *deliverer) setSettings(given config.Settings) {
	r.settings.Store(&deliverySettings{Settings: given})
	r.Forget()
}

// find returns a sink of the configuration file or, if there is none, of the store.
func (r *deliverer) find(ctx context.Context, store *sinks.Store, name string) (sinks.Sink, error) {
	given := r.settings.Load()
	listed := given.AllSinks()
	if i := slices.IndexFunc(listed, func(l sinks.Sink) bool { return l.Name == name }); i >= 0 {
		return listed[i], nil
	}
	record, err := store.Sink(ctx, name)
	if err == nil && record.Definition == nil {
		err = freshet.ErrNotFound
	}
	if errors.Is(err, freshet.ErrNotFound) {
		return sinks.Sink{}, errors.New("the configuration file of the node has no such sink")
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

// open opens a sink with the settings of this node.
func (r *deliverer) open(to sinks.Sink, may func() error) (*sinks.Outlet, error) {
	by := r.settings.Load()
	by.once.Do(func() {
		given := by.Settings
		given.Fetch.May = may
		by.out = given.Outlets(os.Getenv, secrets.Open(given.SecretDir()), r.now)
		by.out.Mail = func() (sinks.Sink, error) {
			ctx, cancel := context.WithTimeout(context.Background(), sinks.Patience)
			defer cancel()
			now, err := r.saved.addTo(ctx, given)
			if err != nil {
				return sinks.Sink{}, err
			}
			return now.MailServer()
		}
	})
	return sinks.Open(by.out, to)
}

// stopDeliveries ends the deliveries of a node that is no longer a standby.
func (b *standby) stopDeliveries(grace time.Duration) {
	if b.deliverer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	b.deliverer.Leave(ctx)
	b.deliverer.Close()
}

// withDeliverer returns a handler that also accepts deliveries from the leader.
func (b *standby) withDeliverer(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != shared.Path:
			h.ServeHTTP(w, r)
		case b.deliverer == nil:
			http.Error(w, "this node makes no deliveries", http.StatusNotFound)
		default:
			b.deliverer.ServeHTTP(w, r)
		}
	})
}
