package store

import (
	"database/sql/driver"
	"encoding/json"
	"slices"

	"freshet/internal/freshet"
)

// called returns what a source is called now, and makes a label of it if there is
// none yet.
func (b *batch) called(e *entry) (freshet.Label, error) {
	site := b.siteOf(e.site)
	if e.called != nil && e.heard == site.Revision {
		return *e.called, nil
	}
	label, err := b.present(e.key)
	if err != nil {
		return label, err
	}
	if e.label == 0 || e.site != 0 { // what the site says may be another since
		if err := b.putLabel(e, label); err != nil {
			return label, err
		}
	}
	e.called, e.heard = &label, site.Revision
	return label, nil
}

// present returns the label of a source as it is written now.
func (b *batch) present(key int64) (freshet.Label, error) {
	src, err := b.source(key)
	return freshet.Label{URL: src.URL, Name: src.Name, Tags: src.Tags}, err
}

// putLabel writes the label of a source, unless its newest one is the same.
func (b *batch) putLabel(e *entry, label freshet.Label) error {
	tags, err := json.Marshal(slices.Concat([]string{}, label.Tags))
	if err != nil {
		return err
	}
	before := e.label
	e.label, err = b.Number(`SELECT id FROM labels WHERE id = (SELECT max(id) FROM labels WHERE source = ?)
		AND url = ? AND name = ? AND tags = ?`, e.key, label.URL, label.Name, string(tags))
	if err != nil {
		return err
	}
	if e.label == 0 {
		b.next.label++
		e.label = b.next.label
		if err := b.insert(&labelsTable, e.label, e.key, label.URL, label.Name, string(tags)); err != nil {
			return err
		}
	}
	if e.label == before {
		return nil
	}
	at := slices.Index(sourcesTable.columns, "label")
	return b.amend(&sourcesTable, "key = ?", []driver.Value{e.key}, func(row []driver.Value) { row[at] = e.label })
}

// scanTags reads the tags of a label; none are nil.
func scanTags(text string) (tags []string, err error) {
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, err
	}
	if len(tags) == 0 {
		return nil, nil
	}
	return tags, nil
}
