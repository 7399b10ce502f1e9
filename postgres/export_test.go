package postgres

import (
	"context"
	"net"
	"time"
)

// What tests hold to themselves: see driver.go.
var (
	Escape   = escape
	Unescape = unescape
	Rebind   = rebind
)

// Dial dials as stores do.
func Dial(ctx context.Context, address string, lease time.Duration) (net.Conn, error) {
	conn, err := newLines().dial((&net.Dialer{}).DialContext, lease)(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*line).Conn, nil
}
