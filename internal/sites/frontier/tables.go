package frontier

import (
	"database/sql/driver"
	"embed"
	"fmt"
	"net/url"

	"freshet/internal/freshet/crawl"
	"freshet/internal/store"
)

//go:embed migrations
var migrations embed.FS

// Feature returns the tables of sites and their pages, and the hook that keeps these in step with the
// sources.
func Feature() store.Feature {
	return store.Feature{Tables: tables, Migrations: migrations, Sites: hook{}, Verify: verify, Repair: repair}
}

var tables = []store.Table{
	{Name: "shelves", Key: 1,
		Columns: []string{"site", "base", "waiting", "watched", "gone", "refused", "covered", "sitemaps", "feeds", "links"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Source = r.Source("site")
			d.What = fmt.Sprintf("the count of the pages of site %s", d.Source)
		},
		Repair: func(w *store.Writer, key []driver.Value) (string, error) {
			_, err := w.Exec("UPDATE shelves SET base = '' WHERE site = ?", key[0])
			return "they are counted again", err
		}},
	{Name: "pages", Key: 2,
		Columns: []string{"site", "hash", "url", "state", "found", "depth", "flags", "seen", "date", "listed", "gone", "source"},
		Describe: func(r store.Row, d *store.Damage) {
			d.Source = r.Source("site")
			d.What = fmt.Sprintf("page %s of site %s", r.Text("url"), d.Source)
		}},
}

// verify compares the pages of sites with their counts and their sources.
func verify(v *store.Verification) error {
	stored, counted := map[int64]Counts{}, map[int64]Counts{}
	err := v.Rows("shelves", func(r store.Row) error {
		var n Counts
		for i, of := range n.fields() {
			*of = int(r.Int(tables[0].Columns[2+i]))
		}
		stored[r.Int("site")], counted[r.Int("site")] = n, Counts{}
		return nil
	})
	if err != nil {
		return err
	}
	err = v.Rows("pages", func(r store.Row) error {
		site, state, found, source := r.Int("site"), r.Int("state"), r.Int("found"), r.Int("source")
		if state < 0 || state >= int64(len(states)) || found < 0 || found >= int64(len(ways)) {
			return nil // its checksum is wrong
		}
		n := counted[site]
		n.add(state, found, 1)
		counted[site] = n
		if source != 0 && !v.HasSource(source) || source == 0 && states[state] == crawl.PageWatched {
			v.Found(store.Damage{Table: "pages", Source: v.Name(site), What: fmt.Sprintf("page %s of site %s is watched by no source", r.Text("url"), v.Name(site))})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, n := range counted {
		if want, there := stored[key]; !there || want != n {
			v.Found(store.Damage{Table: "shelves", Source: v.Name(key), What: fmt.Sprintf("site %s has %d pages, and its count is another", v.Name(key), n.Known())})
		}
	}
	for key := range stored {
		if !v.HasSource(key) {
			v.Found(store.Damage{Table: "shelves", What: fmt.Sprintf("there are pages of site #%d, and the site is not there", key)})
		}
	}
	for key, page := range v.PagesOf() {
		if _, there := stored[key]; !there {
			v.Found(store.Damage{Table: "sources", Source: page, What: fmt.Sprintf("source %s is a page of a site that is not there", page)})
		}
	}
	return nil
}

// repair counts the pages of sites again. A page that no source watches waits again.
func repair(r *store.Repair) error {
	if err := r.Drop("pages", "%d %s belong to lost sites", "DELETE FROM pages WHERE site NOT IN (SELECT key FROM sources)"); err != nil {
		return err
	}
	for _, s := range []string{
		"UPDATE pages SET state = 0, source = NULL WHERE source NOT IN (SELECT key FROM sources) OR source IS NULL AND state = 1",
		"DELETE FROM shelves WHERE site NOT IN (SELECT key FROM sources)",
		`INSERT OR IGNORE INTO shelves (site, base, waiting, watched, gone, refused, covered, sitemaps, feeds, links)
			SELECT key, '', 0, 0, 0, 0, 0, 0, 0, 0 FROM sources WHERE key IN (SELECT site FROM pages UNION SELECT site FROM sources)
			OR json_type(definition, '$.site') = 'object'`,
		`UPDATE shelves SET (waiting, watched, gone, refused, covered, sitemaps, feeds, links) = (
			SELECT count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2),
				count(*) FILTER (WHERE state = 3), count(*) FILTER (WHERE state = 4),
				count(*) FILTER (WHERE found = 0), count(*) FILTER (WHERE found = 1), count(*) FILTER (WHERE found = 2)
			FROM pages WHERE pages.site = shelves.site)`,
	} {
		if _, err := r.Exec(s); err != nil {
			return err
		}
	}
	return repairBases(r)
}

// repairBases gives each site that lost it the base of its URLs, from the present URL of the site.
func repairBases(r *store.Repair) error {
	bases := map[int64]string{}
	err := r.Query("SELECT h.site, s.url FROM shelves h JOIN sources s ON s.key = h.site WHERE h.base = ''", nil, func(v []driver.Value) error {
		text, _ := v[1].(string)
		bases[v[0].(int64)] = originOf(text)
		return nil
	})
	for key, base := range bases {
		if err == nil {
			_, err = r.Exec("UPDATE shelves SET base = ? WHERE site = ?", base, key)
		}
	}
	return err
}

// originOf returns scheme and host of a URL.
func originOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
