//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign reports whether another user than this one or root can have written a file.
func foreign(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) != os.Geteuid() && s.Uid != 0 || info.Mode().Perm()&0o002 != 0
}
