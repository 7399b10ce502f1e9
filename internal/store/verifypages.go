package store

import (
	"database/sql/driver"
	"fmt"

	"freshet/internal/freshet"
)

// pages verifies the pages of sites, and holds them against what their shelves count.
func (v *verification) pages() error {
	shelves, counted := map[int64]freshet.PageCounts{}, map[int64]*shelf{}
	err := v.rows(&shelvesTable, func(row []driver.Value) error {
		var n [8]int
		for i := range n {
			x, _ := row[2+i].(int64)
			n[i] = int(x)
		}
		key, _ := row[0].(int64)
		shelves[key] = freshet.PageCounts{Waiting: n[0], Watched: n[1], Gone: n[2], Refused: n[3], Covered: n[4], Sitemaps: n[5], Feeds: n[6], Links: n[7]}
		counted[key] = &shelf{}
		return nil
	})
	if err != nil {
		return err
	}
	err = v.rows(&pagesTable, func(row []driver.Value) error {
		r, err := readPage(row)
		if err != nil {
			return nil // its checksum is wrong
		}
		if counted[r.site] == nil {
			counted[r.site] = &shelf{}
		}
		counted[r.site].add(&r, 1)
		if _, there := v.names[r.source]; r.source != 0 && !there || r.source == 0 && r.is(freshet.PageWatched) {
			d := v.subject(&pagesTable, row)
			d.What += " is watched by no source"
			d.row = nil // it waits again
			v.found(d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, c := range counted {
		if want, there := shelves[key]; !there || want != c.count {
			v.found(Damage{Table: "shelves", Source: v.nameOf(key), What: fmt.Sprintf("site %s has %d pages, and its count is another", v.nameOf(key), c.count.Known())})
		}
	}
	for key := range shelves {
		if _, there := v.names[key]; !there {
			v.found(Damage{Table: "shelves", What: fmt.Sprintf("there are pages of site #%d, and the site is not there", key)})
		}
	}
	for key, page := range v.sites {
		if _, there := shelves[key]; !there {
			v.found(Damage{Table: "sources", Source: page, What: fmt.Sprintf("source %s is a page of a site that is not there", page)})
		}
	}
	return nil
}
