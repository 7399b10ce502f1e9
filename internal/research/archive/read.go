package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
)

// What a series may hold. More is not what anybody saves of a page.
const (
	mostVersions = 10_000
	mostBytes    = 1 << 30 // of all versions together
)

// A Series is the saved versions of a page, the oldest first.
type Series struct {
	Name     string
	Versions []Version
}

// A Version is a page as it was saved.
type Version struct {
	File string // without its folder
	Body []byte
}

// Read reads a series from a compressed tar file, in which each file is a version whose
// name begins with a digit. Other files are passed over. The names say the order.
func Read(name string, r io.Reader) (Series, error) {
	s := Series{Name: name}
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return s, fmt.Errorf("read series %s: it is not a .tgz file: %w", name, err)
	}
	left := int64(mostBytes)
	for files := tar.NewReader(unpacked); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, fmt.Errorf("read series %s: %w", name, err)
		}
		file := path.Base(h.Name)
		if h.Typeflag != tar.TypeReg || file[0] < '0' || file[0] > '9' {
			continue
		}
		body, err := io.ReadAll(io.LimitReader(files, left+1))
		if err != nil {
			return s, fmt.Errorf("read %s of series %s: %w", file, name, err)
		}
		if left -= int64(len(body)); left < 0 || len(s.Versions) == mostVersions {
			return s, fmt.Errorf("read series %s: it is too large; the most is %d versions and %d MiB", name, mostVersions, mostBytes>>20)
		}
		s.Versions = append(s.Versions, Version{File: file, Body: body})
	}
	if len(s.Versions) < 2 {
		return s, fmt.Errorf("read series %s: it has %d versions; it takes at least 2, in files such as 000.html", name, len(s.Versions))
	}
	slices.SortStableFunc(s.Versions, func(a, b Version) int { return cmp.Compare(a.File, b.File) })
	return s, nil
}

// mediaType returns what the version would be served as.
func (v Version) mediaType() string {
	if t := mime.TypeByExtension(path.Ext(v.File)); t != "" {
		return t
	}
	return "text/html"
}
