package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"freshet/internal/filelock"
)

// One has the file until it closes it. Others do not meanwhile, and that is no error.
func TestTry(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	for i, step := range []struct {
		file *os.File
		want bool
	}{{first, true}, {second, false}, {second, false}} {
		if ok, err := filelock.Try(step.file); ok != step.want || err != nil {
			t.Fatalf("step %d: %t, %v, want %t", i, ok, err, step.want)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if ok, err := filelock.Try(second); !ok || err != nil {
		t.Errorf("when the first has closed it: %t, %v", ok, err)
	}
}
