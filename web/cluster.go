package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/client"
)

// A Cluster is the machines that work together, as the API tells of them.
type Cluster struct {
	Show  func() client.Cluster
	Drain func(name string) error // returns freshet.ErrNotFound if there is no such hand
}

func (a *api) routeCluster(h huma.API) {
	tags := []string{"program"}
	route(h, a, huma.Operation{
		OperationID: "get-cluster", Method: http.MethodGet, Path: "/api/v1/cluster", Tags: tags,
		Summary:     "Show the daemon that decides, and the hands on other machines that poll for it",
		Description: "Each hand with what it is doing, and how many polls it has made.",
	}, a.getCluster)
	route(h, a, huma.Operation{
		OperationID: "drain-hand", Method: http.MethodPost, Path: "/api/v1/cluster/hands/{name}/drain", Tags: tags,
		Summary:     "Give a hand no more polls, and have it leave when it has finished those it has begun",
		Description: "It ends by itself; what it has not begun is given to others.", DefaultStatus: http.StatusAccepted,
	}, a.drainHand)
}

func (a *api) getCluster(context.Context, *struct{}) (*bodyOf[client.Cluster], error) {
	if a.Cluster == nil {
		return &bodyOf[client.Cluster]{client.Cluster{Nodes: []string{}, Hands: []client.Hand{}}}, nil
	}
	return &bodyOf[client.Cluster]{a.Cluster.Show()}, nil
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
