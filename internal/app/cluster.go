package app

import (
	"context"
	"encoding/json"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/cluster/delivery"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// A leaderReport is what a node says of those that work for it.
type leaderReport struct {
	Slots int             `json:"slots"`
	Hands []client.Worker `json:"hands"`

	Deliveries map[string]delivery.Status `json:"deliveries,omitempty"` // by address of the node that makes them

	Notes *client.Checkpoint `json:"notes,omitempty"`

	Why string `json:"why,omitempty"` // nothing can be captured
}

// report returns what there is to say of workers and deliveries.
func (n *Node) report() leaderReport {
	a := leaderReport{Slots: max(0, n.Daemon.Limits().Workers), Hands: []client.Worker{}, Deliveries: n.delivering(), Why: n.Daemon.Status().Trouble}
	if last, ok := n.Daemon.LastCheckpoint(); ok {
		a.Notes = &client.Checkpoint{By: n.address, At: last.At.UTC(), Upto: int64(last.Upto), Sources: last.Sources}
	}
	if n.workers != nil {
		for _, h := range n.workers.Status() {
			a.Hands = append(a.Hands, client.Worker(h))
		}
	}
	return a
}

// clusterOfOne returns a daemon that has its data to itself.
func (n *Node) clusterOfOne(address, version string) client.Cluster {
	said := n.report()
	return client.Cluster{
		Brain: client.ClusterLeader{Address: address, Epoch: 1, Slots: said.Slots, Notes: said.Notes},
		Nodes: []client.ClusterNode{{Address: address, Role: postgres.Leader, Version: version, Why: said.Why}}, Hands: said.Hands,
	}
}

// clusterStatus returns the nodes on a database. What the leader says of its workers may be some moments
// old, unless it is this node.
func clusterStatus(ctx context.Context, peers *postgres.Peers, own *Node) (all client.Cluster, err error) {
	all = client.Cluster{Nodes: []client.ClusterNode{}, Hands: []client.Worker{}}
	lease, err := peers.Lease(ctx)
	if err != nil {
		return all, err
	}
	if all.Brain.Epoch = lease.Term; lease.Held() {
		all.Brain.Address = lease.Address
	}
	nodes, err := peers.Nodes(ctx)
	if err != nil {
		return all, err
	}
	there, said := map[string]bool{}, leaderReport{}
	for _, n := range nodes {
		there[n.Address] = there[n.Address] || n.Role != postgres.Lost
	}
	for _, n := range nodes {
		if n.Role == postgres.Lost && there[n.Address] { // it was started again
			continue
		}
		if n.Role == postgres.Leader && n.Address != all.Brain.Address {
			n.Role = postgres.Standby // it has not noticed yet
		}
		told := client.ClusterNode{Address: n.Address, Role: n.Role, Version: n.Version, Lag: n.Behind, Seen: client.Duration(n.Seen), Started: n.Started.UTC()}
		var stands standbyStatus
		if n.Role == postgres.Standby && json.Unmarshal([]byte(n.Told), &stands) == nil {
			told.Standby, told.Why, told.Hint = stands.Standby, stands.Why, stands.Hint
		}
		all.Nodes = append(all.Nodes, told)
		if n.Role != postgres.Leader {
			continue
		}
		if json.Unmarshal([]byte(n.Told), &said) == nil && said.Hands != nil {
			all.Brain.Slots, all.Hands, all.Brain.Notes = said.Slots, said.Hands, said.Notes
		}
	}
	if own != nil {
		said = own.report()
		all.Brain.Slots, all.Hands, all.Brain.Notes = said.Slots, said.Hands, said.Notes
	}
	for i, n := range all.Nodes {
		if does := said.Deliveries[n.Address]; n.Role != postgres.Lost {
			all.Nodes[i].Sinks, all.Nodes[i].Sending = does.Sinks, does.Busy
		}
		if n.Role == postgres.Leader {
			all.Nodes[i].Why = said.Why
		}
	}
	return all, nil
}

// Together returns the nodes on the database of the settings, as the database has them.
func Together(ctx context.Context, s config.Settings) (all client.Cluster, err error) {
	cfg := databaseOf(s, nil)
	cfg.ReadOnly = true
	peers, err := postgres.OpenPeers(ctx, cfg)
	if err != nil {
		return all, err
	}
	defer peers.Close()
	return clusterStatus(ctx, peers, nil)
}

// cluster returns what the API tells of the machines that work together.
func (s *service) cluster(n *Node, leads bool) *api.Cluster {
	told := &api.Cluster{Address: s.advertised(), Drain: func(name string) error {
		if n == nil || n.workers == nil {
			return freshet.ErrNotFound
		}
		return n.workers.Drain(name)
	}}
	told.Show = func(ctx context.Context) (client.Cluster, error) {
		switch {
		case s.peers == nil:
			return n.clusterOfOne(s.where.URL, s.Version), nil
		case leads:
			return clusterStatus(ctx, s.peers, n)
		}
		return clusterStatus(ctx, s.peers, nil)
	}
	return told
}
