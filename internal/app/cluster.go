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

// A leaderReport is what the leader publishes about its workers and deliveries.
type leaderReport struct {
	Slots   int             `json:"slots"`
	Workers []client.Worker `json:"hands"`

	Deliveries map[string]delivery.Status `json:"deliveries,omitempty"` // by address of the node

	Checkpoint *client.Checkpoint `json:"notes,omitempty"`

	Why string `json:"why,omitempty"` // why nothing can be captured
}

// report returns the report of this node.
func (n *Node) report() leaderReport {
	a := leaderReport{Slots: max(0, n.Daemon.Limits().Workers), Workers: []client.Worker{}, Deliveries: n.deliveryStatus(), Why: n.Daemon.Status().Trouble}
	if last, ok := n.Daemon.LastCheckpoint(); ok {
		a.Checkpoint = &client.Checkpoint{By: n.address, At: last.At.UTC(), Upto: int64(last.Upto), Sources: last.Sources}
	}
	if n.workers != nil {
		for _, h := range n.workers.Status() {
			a.Workers = append(a.Workers, client.Worker(h))
		}
	}
	return a
}

// clusterOfOne returns the cluster of a daemon that has its store to itself.
func (n *Node) clusterOfOne(address, version string) client.Cluster {
	report := n.report()
	return client.Cluster{
		Brain: client.ClusterLeader{Address: address, Epoch: 1, Slots: report.Slots, Notes: report.Checkpoint},
		Nodes: []client.ClusterNode{{Address: address, Role: postgres.Leader, Version: version, Why: report.Why}}, Hands: report.Workers,
	}
}

// clusterStatus returns the nodes on a database. The part about workers is what the leader last
// published, unless own is the leader.
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
	alive, report := map[string]bool{}, leaderReport{}
	for _, n := range nodes {
		alive[n.Address] = alive[n.Address] || n.Role != postgres.Lost
	}
	for _, n := range nodes {
		if n.Role == postgres.Lost && alive[n.Address] { // restarted
			continue
		}
		if n.Role == postgres.Leader && n.Address != all.Brain.Address {
			n.Role = postgres.Standby // not aware yet that it lost the lease
		}
		node := client.ClusterNode{Address: n.Address, Role: n.Role, Version: n.Version, Lag: n.Behind, Seen: client.Duration(n.Seen), Started: n.Started.UTC()}
		var status standbyStatus
		if n.Role == postgres.Standby && json.Unmarshal([]byte(n.Told), &status) == nil {
			node.Standby, node.Why, node.Hint = status.Standby, status.Why, status.Hint
		}
		all.Nodes = append(all.Nodes, node)
		if n.Role != postgres.Leader {
			continue
		}
		if json.Unmarshal([]byte(n.Told), &report) == nil && report.Workers != nil {
			all.Brain.Slots, all.Hands, all.Brain.Notes = report.Slots, report.Workers, report.Checkpoint
		}
	}
	if own != nil {
		report = own.report()
		all.Brain.Slots, all.Hands, all.Brain.Notes = report.Slots, report.Workers, report.Checkpoint
	}
	for i, n := range all.Nodes {
		if delivery := report.Deliveries[n.Address]; n.Role != postgres.Lost {
			all.Nodes[i].Sinks, all.Nodes[i].Sending = delivery.Sinks, delivery.Busy
		}
		if n.Role == postgres.Leader {
			all.Nodes[i].Why = report.Why
		}
	}
	return all, nil
}

// Together returns the nodes on the database of the settings.
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

// cluster returns the cluster for the API.
func (s *service) cluster(n *Node, leads bool) *api.Cluster {
	c := &api.Cluster{Address: s.advertised(), Drain: func(name string) error {
		if n == nil || n.workers == nil {
			return freshet.ErrNotFound
		}
		return n.workers.Drain(name)
	}}
	c.Show = func(ctx context.Context) (client.Cluster, error) {
		switch {
		case s.peers == nil:
			return n.clusterOfOne(s.address.URL, s.Version), nil
		case leads:
			return clusterStatus(ctx, s.peers, n)
		}
		return clusterStatus(ctx, s.peers, nil)
	}
	return c
}
