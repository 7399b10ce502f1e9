package postgres_test

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"freshet/internal/store/postgres"
)

// What was sent to a machine that is gone is not sent again for a quarter of an hour.
func TestGoneMachineIsNoticed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := postgres.Dial(t.Context(), l.Addr().String(), 7*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	if err := raw.Control(func(fd uintptr) {
		for _, option := range []int{unix.TCP_USER_TIMEOUT, unix.TCP_KEEPIDLE, unix.TCP_KEEPCNT} {
			got[option], err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if got[unix.TCP_USER_TIMEOUT] != 14_000 || got[unix.TCP_KEEPIDLE] != 7 || got[unix.TCP_KEEPCNT] != 3 {
		t.Errorf("the options of a connection are %v", got)
	}
}
