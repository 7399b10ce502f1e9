//go:build unix

package app

import "syscall"

// openFiles returns how many open files this process may have, zero if nobody
// knows. Go has raised the soft limit to the hard one.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(l.Cur, 1<<20))
}
