package web

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
		Description: "Pages that were found for a site are not counted. It reads every source.",
	}, a.getFacets)
}

// mostFacets is how many tags and hosts are counted by name.
const mostFacets = 100

func (a *api) getFacets(ctx context.Context, _ *struct{}) (*bodyOf[client.Facets], error) {
	f := client.Facets{States: map[client.State]int{}}
	tags, hosts := map[string]int{}, map[string]int{}
	for w, err := range a.Store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Of != "" {
			continue
		}
		f.Total++
		s := client.Source{Paused: w.Paused, Standing: standingOf(w)}
		for _, state := range []client.State{client.Failing, client.Noisy, client.Paused, client.Unseen, client.Suspected, client.Well} {
			if s.Is(state) {
				f.States[state]++
			}
		}
		for _, t := range w.Tags {
			tags[t]++
		}
		hosts[w.Host()]++
	}
	f.Tags, f.Hosts = most(tags), most(hosts)
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
