package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	build "freshet/ui/build"
)

// What is embedded is what the sources say.
func TestBundleIsFresh(t *testing.T) {
	files, err := build.Bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadDir("../dist"); err != nil || len(kept) != len(files) {
		t.Errorf("dist has %d files, the sources make %d (%v); run: go generate ./ui", len(kept), len(files), err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "dist", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("dist/%s is not what the sources make (%v); run: go generate ./ui", name, err)
		}
	}
}
