//go:build linux || darwin || freebsd

package app

import (
	"fmt"
	"syscall"
)

// spaceOf returns how many bytes of the disk that a directory is on are free for
// this user, and how many it has.
func spaceOf(dir string) (free, size int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}
