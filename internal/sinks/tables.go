package sinks

import (
	"database/sql/driver"
	"embed"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

//go:embed migrations
var migrations embed.FS

// Feature returns the tables of sinks and of their deliveries.
func Feature() store.Feature {
	return store.Feature{Tables: tables, Migrations: migrations, Repair: repair,
		PurgeChange: func(tx *store.Tx, at freshet.Cursor) error { return tx.Remove("debts", "change = ?", int64(at)) }}
}

var tables = []store.Table{
	{Name: "places", Key: 1, Late: 1,
		Columns: []string{"reader", "place", "stream"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Reader = r.Text("reader")
			d.What = "the place of " + d.Reader
		},
		Repair: func(w *store.Writer, key []driver.Value) (string, error) {
			_, err := w.Exec(`UPDATE places SET stream = CASE stream WHEN 1 THEN 1 END, place = ifnull((SELECT max(change % (1 << 62)) FROM debts WHERE debts.reader = places.reader AND (change > (1 << 62)) = (ifnull(stream, 0) = 1)), 0) WHERE reader = ?`, key[0])
			return "it gets all again after the last that it is known to have read, with the same ids", err
		}},
	{Name: "debts", Key: 2, Late: 5,
		Columns: []string{"reader", "change", "attempts", "due", "err", "message", "source", "waits", "event", "query", "about"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Reader = r.Text("reader")
			at := positionOf(r.Int("change"))
			d.Cursor = at.Cursor
			if at.Stream == StreamBatches {
				d.What = fmt.Sprintf("the delivery of %s to %s", r.Text("event"), d.Reader)
				return
			}
			d.Source = r.Source("source")
			d.What = fmt.Sprintf("the delivery of the change at cursor %d to %s", d.Cursor, d.Reader)
		}},
	{Name: "retired", Key: 2,
		Columns: []string{"reader", "endpoint"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Reader = r.Text("reader")
			d.What = "an endpoint that " + d.Reader + " has retired"
		}},
	{Name: "sinks", Key: 1,
		Columns: []string{"name", "definition", "revision", "failing", "held", "err"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Reader = r.Text("name")
			d.What = "sink " + d.Reader
		}},
}

// repair drops the deliveries of lost changes. No delivery waits for a lost one.
func repair(r *store.Repair) error {
	err := r.Drop("debts", "%d deliveries (%s) are lost, because their changes are", "DELETE FROM debts WHERE change < (1 << 62) AND change NOT IN (SELECT cursor FROM changes)")
	if err != nil {
		return err
	}
	if _, err := r.Exec("UPDATE debts SET waits = NULL WHERE waits IS NOT NULL"); err != nil {
		return err
	}
	read, err := r.Number("SELECT ifnull(max(place), 0) FROM places")
	r.LastChange = max(r.LastChange, read)
	return err
}
