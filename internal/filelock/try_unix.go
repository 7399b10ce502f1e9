//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes an open file for this process alone, until the file is closed or the process
// ends. It reports whether it has: another may have it.
func Try(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
