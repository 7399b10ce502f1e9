package storetest

import (
	"os"
)

// A twin is a copy of all that a store has on disk.
type twin string

// copyPlace returns a copy of the store as it is, closed and opened again. A store
// that is not in its directory cannot be copied here.
func (b *bench) copyPlace() twin {
	b.Helper()
	b.ok("close", b.Close())
	if files, err := os.ReadDir(b.place); err != nil || len(files) == 0 {
		b.Skip("the store is not kept in files")
	}
	copied := twin(b.TempDir())
	b.ok("copy", os.CopyFS(string(copied), os.DirFS(b.place)))
	b.use(b.open(b.T, b.place))
	return copied
}

// restore puts a copy in the place of the store.
func (b *bench) restore(from twin) {
	b.Helper()
	b.ok("close", b.Close())
	b.ok("restore", putBack(from, b.place))
	b.use(b.open(b.T, b.place))
}

// putBack makes place what the copy is.
func putBack(from twin, place string) error {
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.CopyFS(place, os.DirFS(string(from)))
}
