package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
)

func (a *api) routeFacets(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-facets", Method: http.MethodGet, Path: "/api/v1/sources/facets", Tags: []string{"sources"},
		Summary:     "Count the sources by state, tag and host",
		Description: "Pages that were found for a site are not counted.",
	}, a.getFacets)
}

// mostFacets is how many tags and hosts are counted by name.
const mostFacets = 100

func (a *api) getFacets(ctx context.Context, _ *struct{}) (*bodyOf[client.Facets], error) {
	n, err := a.Store.CountSources(ctx)
	if err != nil {
		return nil, err
	}
	f := client.Facets{Total: n.Named.Total, States: map[client.State]int{}, Tags: most(n.Tags), Hosts: most(n.Hosts)}
	for state, condition := range conditions {
		if sources := n.Named.In[condition]; sources > 0 {
			f.States[state] = sources
		}
	}
	return &bodyOf[client.Facets]{f}, nil
}

// most returns the names that were counted most often.
func most(counts map[string]int) []client.Facet {
	all := make([]client.Facet, 0, len(counts))
	for name, n := range counts {
		all = append(all, client.Facet{Name: name, Count: n})
	}
	slices.SortFunc(all, func(x, y client.Facet) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name))
	})
	return all[:min(len(all), mostFacets)]
}
