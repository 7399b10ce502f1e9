// Package features lists the features that keep tables in the store. Every store is opened with all of
// them.
package features

import (
	"freshet/internal/auth"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sites/frontier"
	"freshet/internal/store"
)

// All returns the features.
func All() []store.Feature {
	return []store.Feature{sinks.Feature(), frontier.Feature(), queries.Feature(), auth.Feature()}
}
