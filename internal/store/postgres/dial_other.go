//go:build !linux

package postgres

import (
	"net"
	"time"
)

func giveUpAfter(*net.TCPConn, time.Duration) error { return nil }
