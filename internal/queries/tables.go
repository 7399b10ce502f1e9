package queries

import (
	"embed"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

//go:embed migrations
var migrations embed.FS

// The logs of queries: of matches, and of batches.
const (
	MatchLog store.Log = "matches"
	batchLog store.Log = "parcels" // of matches that are delivered together
)

// Feature returns the tables and logs of queries.
func Feature() store.Feature {
	return store.Feature{Tables: tables, Migrations: migrations, Repair: repair,
		Logs: []store.FeatureLog{{Log: MatchLog, Counter: "match", Epochs: true}, {Log: batchLog, Counter: "parcel"}}}
}

var tables = []store.Table{
	{Name: "queries", Key: 1,
		Columns:  []string{"key", "id", "definition", "origin", "created", "revision", "began", "last", "told"},
		Describe: func(r store.Row, d *store.Damage) { d.What = "query " + r.Text("id") }},
	{Name: "matches", Key: 1,
		Columns: []string{"cursor", "query", "number", "cause", "at", "known", "source", "changes", "grouped", "value"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Cursor, d.Number = freshet.Cursor(r.Int("cursor")), r.Int("number")
			d.What = fmt.Sprintf("match %d of query #%d", d.Number, r.Int("query"))
		}},
	{Name: "parcels", Key: 1, Late: 1,
		Columns: []string{"cursor", "query", "first", "last", "held", "at", "name"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Cursor = freshet.Cursor(r.Int("cursor"))
			d.What = fmt.Sprintf("the batch of the matches %d to %d of query #%d", r.Int("first"), r.Int("last"), r.Int("query"))
		}},
	{Name: "query_notes", Key: 2,
		Columns: []string{"query", "name", "body"},
		Describe: func(r store.Row, d *store.Damage) {
			d.What = fmt.Sprintf("the state %s of query #%d", r.Text("name"), r.Int("query"))
		}},
}

// repair drops what belongs to lost queries.
func repair(r *store.Repair) error {
	for _, table := range []string{"matches", "parcels", "query_notes"} {
		if err := r.Drop(table, "%d rows of %s belong to lost queries", "DELETE FROM "+table+" WHERE query <> 0 AND query NOT IN (SELECT key FROM queries)"); err != nil {
			return err
		}
	}
	return nil
}
