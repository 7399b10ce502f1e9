// Package filelock takes a file for one process alone, so that no two work on the same data.
package filelock
