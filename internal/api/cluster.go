package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"freshet/client"
	"freshet/internal/freshet"
)

// A Cluster is the machines that work together, as the API tells of them.
type Cluster struct {
	Address string // of this node
	Show    func(context.Context) (client.Cluster, error)
	Drain   func(name string) error // returns freshet.ErrNotFound if there is no such hand
}

func (a *api) routeCluster(h huma.API) {
	tags := []string{"program"}
	route(h, a, huma.Operation{
		OperationID: "get-cluster", Method: http.MethodGet, Path: "/api/v1/cluster", Tags: tags,
		Summary:     "Show the node that decides, those that stand by, and the hands on other machines that poll for it",
		Description: "Which node decides, which others stand by to take over, and what each hand is doing.",
	}, a.getCluster)
	route(h, a, huma.Operation{
		OperationID: "drain-hand", Method: http.MethodPost, Path: "/api/v1/cluster/hands/{name}/drain", Tags: tags,
		Summary:     "Give a hand no more polls, and have it leave when it has finished those it has begun",
		Description: "It ends by itself; what it has not begun is given to others.", DefaultStatus: http.StatusAccepted,
	}, a.drainHand)
}

func (a *api) getCluster(ctx context.Context, _ *struct{}) (*bodyOf[client.Cluster], error) {
	if a.Cluster == nil {
		return &bodyOf[client.Cluster]{client.Cluster{Nodes: []client.ClusterNode{}, Hands: []client.Hand{}}}, nil
	}
	all, err := a.Cluster.Show(ctx)
	return &bodyOf[client.Cluster]{all}, err
}

type handPath struct {
	Name string `path:"name" maxLength:"100" doc:"Name of the hand"`
}

func (a *api) drainHand(_ context.Context, in *handPath) (*struct{}, error) {
	err := freshet.ErrNotFound
	if a.Cluster != nil {
		err = a.Cluster.Drain(in.Name)
	}
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, problem(http.StatusNotFound, "there is no hand "+in.Name)
	}
	return nil, err
}

// collectCluster tells of the machines that work together.
func (m *moment) collectCluster(ctx context.Context, tell func(desc *prometheus.Desc, value float64, labels ...string)) {
	if m.Cluster == nil {
		return
	}
	all, err := m.Cluster.Show(ctx)
	if err != nil {
		m.Log.Error("cannot collect metrics", "err", err)
		return
	}
	brain, warm, lag, nodes := 0.0, 0.0, int64(0), 0
	if m.Forward == nil {
		brain, warm = 1, 1
	}
	for _, n := range all.Nodes {
		if n.Role != "lost" {
			nodes++
		}
		if n.Address == m.Cluster.Address && n.Role != "lost" { // one that was there before may have had the same
			lag = n.Lag
			if n.Standby == "warm" {
				warm = 1
			}
		}
	}
	tell(gauge("freshet_cluster_brain", "1 if this node decides, 0 if it stands by."), brain)
	tell(gauge("freshet_cluster_epoch", "How many nodes have decided one after the other."), float64(all.Brain.Epoch))
	tell(gauge("freshet_cluster_nodes", "Nodes on the same data that give signs of life."), float64(nodes))
	tell(gauge("freshet_cluster_lag", "Results of polls that this node has not taken in yet."), float64(lag))
	tell(gauge("freshet_cluster_warm", "1 if this node decides or could take over at once, 0 if it would have to read everything first."), warm)
	tell(gauge("freshet_cluster_hands", "Hands on other machines."), float64(len(all.Hands)))
	tell(gauge("freshet_cluster_slots", "Most polls at the same time, of all hands together."), float64(all.Brain.Slots))
}
