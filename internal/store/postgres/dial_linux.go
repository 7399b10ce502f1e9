package postgres

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter breaks a connection when nothing that was sent has arrived for so long.
func giveUpAfter(conn *net.TCPConn, patience time.Duration) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(patience.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return set
}
