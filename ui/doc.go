// Package ui is the page of the daemon: a shell, a script and a style, embedded in the
// binary. The page reads and writes through the API alone, so there is nothing here
// but files and the headers that keep a browser from running anything else.
//
// The sources are in src, TypeScript with Preact, whose files are kept in vendor. After
// an edit, "go generate ./ui" bundles them into dist; a test says if that was forgotten.
package ui

//go:generate go run ./build .
