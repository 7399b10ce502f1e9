package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sites"
)

const siteMirrorHelp = `Write the newest capture of every page of a site to a directory, as files that a
browser can open. Links between pages of the site lead to the files.

Run it again, and it writes only what has changed since; the file of a page that is
gone is deleted. Only files that an earlier run wrote are ever replaced or deleted:
they are listed in .freshet-mirror.json in the directory.`

func siteMirrorVerb(p *program) *cobra.Command {
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:     "mirror SITE --out DIR",
		Short:   "Write the newest capture of every page of a site to files",
		Long:    siteMirrorHelp,
		Example: "  freshet site mirror docs --out docs-copy",
		Args:    takes(1, 1),
	}
	cmd.Flags().StringVar(&out, "out", "", "`directory` to write to; it is created if it is missing")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if out == "" {
			return usagef("site mirror: --out is missing; give it the directory to write to")
		}
		found, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		m, err := openMirror(out, found.ID)
		if err != nil {
			return err
		}
		if err := m.update(ctx, c.Client); err != nil {
			return errors.Join(err, m.save())
		}
		if err := m.save(); err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(m.done)
		}
		_, err = fmt.Fprintf(p.out, "%s: %d written, %d deleted, %d as before\n", out, m.done.Written, m.done.Deleted, m.done.Kept)
		return err
	}), 1)
}

// mirrorList is the file in a mirror that says what is in it.
const mirrorList = ".freshet-mirror.json"

// A mirror is a directory with the pages of a site as files.
type mirror struct {
	root *os.Root
	dir  string
	list mirrorPages
	done mirrored

	paths map[string]string // of pages that are or will be there, by URL
}

// mirrorPages are the pages of a mirror, as they are kept beside it.
type mirrorPages struct {
	Site  freshet.SourceID        `json:"site"`
	Pages map[string]mirroredPage `json:"pages"` // by URL
}

// A mirroredPage is one page of a mirror.
type mirroredPage struct {
	File    string           `json:"file"`
	Source  freshet.SourceID `json:"source"`
	Version int              `json:"version"`
}

// mirrored counts what was done.
type mirrored struct {
	Written int `json:"written"`
	Deleted int `json:"deleted"`
	Kept    int `json:"kept"`
}

// openMirror opens a mirror of a site, or begins one.
func openMirror(dir string, id freshet.SourceID) (*mirror, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the directory of the mirror: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	m := &mirror{root: root, dir: dir, list: mirrorPages{Site: id, Pages: map[string]mirroredPage{}}, paths: map[string]string{}}
	text, err := root.ReadFile(mirrorList)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, m.mustBeEmpty()
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, &m.list); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", filepath.Join(dir, mirrorList), err)
	}
	if m.list.Site != id {
		return nil, fmt.Errorf("%s is a mirror of %s; give %s another directory", dir, m.list.Site, id)
	}
	return m, nil
}

// mustBeEmpty refuses a directory that has files of another origin.
func (m *mirror) mustBeEmpty() error {
	entries, err := os.ReadDir(m.dir)
	if err == nil && len(entries) > 0 {
		err = freshet.WithHint(fmt.Errorf("%s is not empty, and no mirror", m.dir), "give it a new directory")
	}
	return err
}

// update brings the mirror up to date.
func (m *mirror) update(ctx context.Context, c *client.Client) error {
	pages, err := m.captured(ctx, c)
	if err != nil {
		return err
	}
	for _, p := range pages {
		old, there := m.list.Pages[p.URL]
		if there && old.Source == p.Source && old.Version == p.Version && m.has(old.File) {
			m.done.Kept++
			continue
		}
		if err := m.write(ctx, c, p); err != nil {
			return fmt.Errorf("mirror %s: %w", p.URL, err)
		}
		m.done.Written++
	}
	for at, page := range m.list.Pages {
		if _, still := m.paths[at]; still {
			continue
		}
		if err := m.root.Remove(page.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(m.list.Pages, at)
		m.done.Deleted++
	}
	return nil
}

// captured returns the pages that there are captures of, the first of the site among
// them.
func (m *mirror) captured(ctx context.Context, c *client.Client) (pages []client.SitePage, err error) {
	take := func(p client.SitePage) error {
		if p.Version > 0 && m.paths[p.URL] == "" {
			pages = append(pages, p)
			m.paths[p.URL] = sites.FilePath(p.URL)
		}
		return nil
	}
	s, err := c.Sites.Get(ctx, m.list.Site)
	if err != nil {
		return nil, err
	}
	first, err := sites.Normalise("", s.Source.URL)
	if err != nil {
		return nil, err
	}
	_ = take(client.SitePage{URL: first, Source: s.Source.ID, Version: s.Source.Standing.Version})
	err = c.Sites.Pages(ctx, m.list.Site, client.SitePageQuery{State: crawl.PageWatched}, take)
	return pages, err
}

func (m *mirror) has(file string) bool {
	_, err := m.root.Stat(file)
	return err == nil
}

// write writes the newest version of a page.
func (m *mirror) write(ctx context.Context, c *client.Client, p client.SitePage) error {
	v, err := c.Sources.Version(ctx, p.Source, p.Version)
	if err != nil {
		return err
	}
	raw, err := c.Sources.Raw(ctx, p.Source, p.Version)
	if err != nil {
		return err
	}
	file := m.paths[p.URL]
	if strings.Contains(v.MediaType, "html") {
		raw = sites.Relink(raw, p.URL, func(to string) (string, bool) { return m.link(file, to) })
	}
	if dir := filepath.Dir(file); dir != "." {
		if err := m.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	fresh := file + ".new"
	if err := m.root.WriteFile(fresh, raw, 0o644); err != nil {
		return err
	}
	if err := m.root.Rename(fresh, file); err != nil {
		return err
	}
	m.list.Pages[p.URL] = mirroredPage{File: file, Source: p.Source, Version: p.Version}
	return nil
}

// link returns the way from one file to the page of a URL, if the mirror has it.
func (m *mirror) link(from, to string) (string, bool) {
	file, ok := m.paths[to]
	if !ok {
		return "", false
	}
	way, err := filepath.Rel(filepath.Dir(from), file)
	return filepath.ToSlash(way), err == nil
}

// save writes down what is in the mirror.
func (m *mirror) save() error {
	text, err := json.MarshalIndent(m.list, "", "  ")
	if err != nil {
		return err
	}
	if err := m.root.WriteFile(mirrorList+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return errors.Join(m.root.Rename(mirrorList+".new", mirrorList), m.root.Close())
}
