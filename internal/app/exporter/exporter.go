// Package exporter writes what a daemon has captured in formats that other programs read: JSON lines, CSV, Parquet,
// WARC, a git repository and folders of files. It reads through the API, page by page, while the daemon runs. What
// it writes to a file goes on where it was interrupted.
package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// A Selection says what is exported, and by what.
type Selection struct {
	Client  *client.Client
	Seen    freshet.Between  // only what was first seen then
	Tag     string           // only of sources with this tag
	Source  freshet.SourceID // only of this source
	Program string           // the version of freshet
	Now     func() time.Time
	Step    func(steps int) // called for each part of Total that is done
}

// A source is what an export knows of a source.
type source struct {
	id       freshet.SourceID
	url      string
	name     string
	tags     []string
	head     int  // number of its newest version
	changes  int  // that were seen so far
	rendered bool // its versions are documents that a browser made
	removed  bool
}

// sources returns the sources by ID, removed ones too.
func (s *Selection) sources(ctx context.Context) (list []source, err error) {
	for _, removed := range []bool{false, true} {
		err := s.Client.Sources.Each(ctx, client.SourceQuery{Tag: s.Tag, Removed: removed}, func(c client.Source) error {
			if !freshet.ValidSourceID(c.ID) {
				return fmt.Errorf("the server sent a source with the id %.80q, which cannot be the name of a file", c.ID)
			}
			if s.Source == "" || s.Source == c.ID {
				list = append(list, source{
					id: c.ID, url: c.URL, name: cmp.Or(c.Name, c.Standing.Title, string(c.ID)), tags: c.Tags, head: headOf(c), changes: c.Standing.Changes,
					rendered: c.Render != nil, removed: removed,
				})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b source) int { return cmp.Compare(a.id, b.id) })
	return list, nil
}

func headOf(c client.Source) int {
	head := c.Standing.Version
	if h := c.Standing.Held; h != nil {
		head = max(head, h.Version)
	}
	return head
}

// Total returns how many steps exports of versions and of changes have: as many as there were.
func (s *Selection) Total(ctx context.Context) (versions, changes int, err error) {
	list, err := s.sources(ctx)
	for _, one := range list {
		versions, changes = versions+one.head, changes+one.changes
	}
	return versions, changes, err
}

// A place is the last version that was exported.
type place struct {
	Source freshet.SourceID `json:"source,omitempty"`
	Number int              `json:"number,omitempty"`
}

// eachVersion calls do for each version after a place, source by source and the oldest first. Versions that were
// quarantined and never reported are left out.
func (s *Selection) eachVersion(ctx context.Context, after place, do func(of source, v client.Version) error) error {
	list, err := s.sources(ctx)
	if err != nil {
		return err
	}
	for _, of := range list {
		from := 0
		switch {
		case of.id < after.Source:
			s.Step(of.head)
			continue
		case of.id == after.Source:
			from = after.Number
			s.Step(from)
		}
		if err := s.versionsOf(ctx, of, from, do); err != nil {
			return err
		}
	}
	return nil
}

// versionsOf calls do for each version of a source with a number above from.
func (s *Selection) versionsOf(ctx context.Context, of source, from int, do func(of source, v client.Version) error) error {
	for ; from < of.head; from += client.VersionsAtOnce {
		found, err := s.Client.Sources.VersionsAfter(ctx, of.id, s.Seen, from)
		if of.removed && errors.Is(err, freshet.ErrNotFound) { // it was removed before a version was captured
			break
		}
		if err != nil {
			return err
		}
		for _, v := range found {
			if v.Quiet == freshet.QuietSuspect {
				continue
			}
			if err := do(of, v); err != nil {
				return err
			}
		}
		s.Step(min(client.VersionsAtOnce, of.head-from))
	}
	return nil
}

// A changeReader reads the changes of a source as its versions are exported.
type changeReader struct {
	*Selection
	of    freshet.SourceID
	page  []client.Change
	after freshet.Place
	ended bool
}

// changeTo returns the change that led to a version, nil if none did. Versions are asked for in ascending order.
func (r *changeReader) changeTo(ctx context.Context, v client.Version) (*client.Change, error) {
	if r.of != v.Source {
		*r = changeReader{Selection: r.Selection, of: v.Source}
	}
	for {
		for len(r.page) > 0 && r.page[0].Number < v.Number {
			r.page = r.page[1:]
		}
		if len(r.page) > 0 {
			if r.page[0].Number == v.Number {
				return &r.page[0], nil
			}
			return nil, nil
		}
		if r.ended {
			return nil, nil
		}
		page, err := r.Client.Changes(ctx, client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: r.of, Seen: r.Seen}, After: r.after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		r.page, r.after, r.ended = page.Items, page.Next, len(page.Items) == 0
	}
}
