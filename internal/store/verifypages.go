package store

import (
	"database/sql/driver"
	"fmt"
)

// pageCounts are how many pages a site has in each state, then by each way of finding them, as in the
// columns of its shelf.
type pageCounts [8]int64

// pages verifies the pages of sites against the counts in their shelves.
func (v *verification) pages() error {
	const states, ways, watched = 5, 3, 1
	shelves, counted := map[int64]pageCounts{}, map[int64]pageCounts{}
	err := v.rows(&shelvesTable, func(row []driver.Value) error {
		var n pageCounts
		for i := range n {
			n[i] = whole(row[2+i])
		}
		shelves[whole(row[0])], counted[whole(row[0])] = n, pageCounts{}
		return nil
	})
	if err != nil {
		return err
	}
	err = v.rows(&pagesTable, func(row []driver.Value) error {
		site, state, found, source := whole(row[0]), whole(row[3]), whole(row[4]), whole(row[11])
		if state < 0 || state >= states || found < 0 || found >= ways {
			return nil // its checksum is wrong
		}
		n := counted[site]
		n[state]++
		n[states+found]++
		counted[site] = n
		if _, there := v.names[source]; source != 0 && !there || source == 0 && state == watched {
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
	for key, n := range counted {
		if want, there := shelves[key]; !there || want != n {
			v.found(Damage{Table: "shelves", Source: v.nameOf(key), What: fmt.Sprintf("site %s has %d pages, and its count is another", v.nameOf(key), n[0]+n[1]+n[2]+n[3]+n[4])})
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
