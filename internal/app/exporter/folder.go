package exporter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"freshet/client"
	"freshet/internal/freshet"
)

// Folder writes versions as files: SOURCE/NUMBER.txt and, with raw, SOURCE/NUMBER.raw, with all lines but for the texts in
// index.jsonl. Files that are there are not written again. It returns how many versions.
func (s *Selection) Folder(ctx context.Context, dir string, raw bool) (n int, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir) // a server must not choose files outside of it
	if err != nil {
		return 0, err
	}
	defer root.Close()
	index, err := root.Create("index.jsonl")
	if err != nil {
		return 0, err
	}
	b := bufio.NewWriter(index)
	lines := jsonLines(b)
	changes := changeReader{Selection: s}
	err = s.eachVersion(ctx, place{}, func(of source, v client.Version) error {
		err := s.files(ctx, root, v, raw)
		if errors.Is(err, freshet.ErrNotFound) { // pruned meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		line := Line{Version: v}
		if line.Change, err = changes.changeTo(ctx, v); err != nil {
			return err
		}
		n++
		return lines.Encode(line)
	})
	return n, errors.Join(err, b.Flush(), index.Close())
}

// files writes a version into the folder, unless it is there.
func (s *Selection) files(ctx context.Context, root *os.Root, v client.Version, raw bool) error {
	dir := string(v.Source)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, strconv.Itoa(v.Number))
	err := writeNew(root, name+".txt", func() ([]byte, error) { return s.Client.Sources.Text(ctx, v.Source, v.Number) })
	if err != nil || !raw {
		return err
	}
	return writeNew(root, name+".raw", func() ([]byte, error) { return s.Client.Sources.Raw(ctx, v.Source, v.Number) })
}

// writeNew writes a file of the folder that is not there yet, whole or not at all.
func writeNew(root *os.Root, name string, read func() ([]byte, error)) error {
	if _, err := root.Stat(name); err == nil {
		return nil
	}
	body, err := read()
	if err != nil {
		return err
	}
	part := name + ".part"
	if err := root.WriteFile(part, body, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, root.Remove(part)))
	}
	return root.Rename(part, name)
}
