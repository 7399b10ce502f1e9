package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try takes an open file for this process alone, until the file is closed or the process
// ends. It reports whether it has: another may have it.
func Try(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
