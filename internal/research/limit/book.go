package limit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"freshet/internal/lab"
)

// A Book remembers limits, which can take long to work out, by grid
// and weights. It can be kept in a file. Several may use it
// at once. The zero Book is empty and ready for use.
type Book struct {
	mutex sync.Mutex
	known map[string]lab.Limit
	fresh bool // something was added since it was read
}

// OpenBook reads a book from a file. One that does not exist is empty.
func OpenBook(path string) (*Book, error) {
	b := &Book{}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, fmt.Errorf("opening limits: %w", err)
	}
	if err := json.Unmarshal(text, &b.known); err != nil {
		return nil, fmt.Errorf("reading limits from %s: %w", path, err)
	}
	return b, nil
}

// Save writes the book to a file if it holds more than when it was read. The
// file is replaced at once, so that nobody finds half of it.
func (b *Book) Save(path string) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.fresh {
		return nil
	}
	text, err := json.MarshalIndent(b.known, "", " ")
	if err != nil {
		return fmt.Errorf("writing limits: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing limits: %w", err)
	}
	defer os.Remove(f.Name()) // in vain if all went well
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("writing limits: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing limits: %w", err)
	}
	b.fresh = false
	return nil
}

// Limit returns what [lab.Grid.Limit] does, from memory if it can. Weights that are
// adjusted page by page are worked out each time.
func (b *Book) Limit(g *lab.Grid, budget float64, k lab.Weights) (lab.Limit, error) {
	if k.Adjust != nil {
		return g.Limit(budget, k)
	}
	key := fingerprint(g) + " " + strconv.FormatFloat(budget, 'g', -1, 64) + " " + k.Life.In(g.Instant).String() + " " + k.Urgency.In(g.Instant).String()
	b.mutex.Lock()
	known, ok := b.known[key]
	b.mutex.Unlock()
	if ok {
		return known, nil
	}
	l, err := g.Limit(budget, k)
	if err != nil {
		return l, err
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.known == nil {
		b.known = map[string]lab.Limit{}
	}
	b.known[key], b.fresh = l, true
	return l, nil
}

// fingerprint returns a short text that differs between grids on which limits
// differ.
func fingerprint(g *lab.Grid) string {
	sum := sha256.New()
	number := make([]byte, 8)
	put := func(n int) { sum.Write(binary.LittleEndian.AppendUint64(number[:0], uint64(n))) }
	put(g.Instants)
	first := 0
	put(first)
	for page := range g.Pages() {
		first += len(g.Of(page))
		put(first)
	}
	for page := range g.Pages() {
		for _, j := range g.Of(page) {
			put(int(j))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
