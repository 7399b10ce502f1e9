package runner

import (
	"context"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// SchemaOf returns which values the sources in a scope have.
func SchemaOf(ctx context.Context, store freshet.Catalog, scope queries.Scope) (*queries.Schema, error) {
	schema := &queries.Schema{}
	for w, err := range store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if scope.Has(w.ID, w.Tags, w.Of) {
			schema.Add(w.Recipe)
		}
	}
	return schema, nil
}
