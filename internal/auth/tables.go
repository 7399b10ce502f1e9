package auth

import (
	"embed"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

//go:embed migrations
var migrations embed.FS

// Feature returns the tables of users, credentials, the audit log and kept answers.
func Feature() store.Feature {
	return store.Feature{Tables: tables, Migrations: migrations, Repair: repair}
}

var tables = []store.Table{
	{Name: "users", Key: 1,
		Columns:  []string{"name", "role", "password", "subject", "created", "changed", "revision"},
		Describe: func(r store.Row, d *store.Damage) { d.What = "user " + r.Text("name") }},
	{Name: "passes", Key: 1,
		Columns: []string{"id", "kind", "secret", "user", "name", "parent", "address", "bounds", "created", "expires", "used"},
		Describe: func(r store.Row, d *store.Damage) {
			d.What = fmt.Sprintf("%s %s of user %s", r.Text("kind"), r.Text("id"), r.Text("user"))
		}},
	{Name: "deeds", Key: 1,
		Columns: []string{"cursor", "at", "who", "via", "address", "what", "method", "path", "subject", "status", "earlier", "later"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Cursor = freshet.Cursor(r.Int("cursor"))
			d.What = fmt.Sprintf("entry %d of the audit log", d.Cursor)
		}},
	{Name: "answers", Key: 1,
		Columns:  []string{"key", "request", "at", "status", "header", "body"},
		Describe: func(_ store.Row, d *store.Damage) { d.What = "an answer that was kept for a client that asks again" }},
}

// repair drops credentials that belong to lost users, or were obtained with lost ones.
func repair(r *store.Repair) error {
	err := r.Drop("passes", "%d sessions and tokens (%s) belong to lost users", "DELETE FROM passes WHERE user <> '' AND user NOT IN (SELECT name FROM users)")
	if err != nil {
		return err
	}
	return r.Drop("passes", "%d sessions (%s) belong to lost links", "DELETE FROM passes WHERE parent <> '' AND parent NOT IN (SELECT id FROM passes)")
}
