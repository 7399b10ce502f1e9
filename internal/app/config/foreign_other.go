//go:build !unix

package config

import "io/fs"

// foreign cannot tell here.
func foreign(fs.FileInfo) bool { return false }
