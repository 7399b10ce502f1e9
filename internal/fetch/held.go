package fetch

import "net"

// A heldConn is a connection that is written to only while that is allowed. A request can
// wait for a name, a connection and a handshake after it had leave; this is the last door.
type heldConn struct {
	net.Conn
	may func() error
}

// Write implements [net.Conn].
func (c *heldConn) Write(b []byte) (int, error) {
	if err := c.may(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
