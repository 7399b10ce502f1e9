//go:build unix

package secret

import (
	"errors"
	"os"
	"syscall"

	"freshet"
)

// lockFile takes the file for this process alone, or returns ErrBusy.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return freshet.ErrBusy
	}
	return err
}
