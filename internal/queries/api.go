package queries

import (
	"encoding/json"
	"fmt"

	"freshet/client"
)

// FromClient returns the query that the API describes. The error is a *invalid.Error.
func FromClient(q client.NewQuery) (read Query, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return read, fmt.Errorf("encode query %s: %w", q.Name, err)
	}
	return read, json.Unmarshal(text, &read)
}

// ToClient describes a query as FromClient reads it.
func ToClient(q Query) (described client.NewQuery) {
	text, err := json.Marshal(q)
	if err == nil {
		err = json.Unmarshal(text, &described)
	}
	if err != nil {
		panic(err) // the API has another type for a field than the query
	}
	if described.Scope != nil && q.Scope.Everything() {
		described.Scope = nil
	}
	return described
}
