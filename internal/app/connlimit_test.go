package app_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"freshet/internal/app"
)

// A line hands out connections from given addresses, and then none.
type line struct {
	net.Listener
	from []string
}

func (l *line) Accept() (net.Conn, error) {
	if len(l.from) == 0 {
		return nil, errors.New("no more")
	}
	at := netip.MustParseAddr(l.from[0])
	l.from = l.from[1:]
	conn, other := net.Pipe()
	return caller{conn, other, net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, 4711))}, nil
}

type caller struct {
	net.Conn
	other net.Conn
	at    net.Addr
}

func (c caller) RemoteAddr() net.Addr { return c.at }

func (c caller) Close() error { return errors.Join(c.Conn.Close(), c.other.Close()) }

// One address cannot take the places of all: it has a quarter, whatever it does with them.
func TestConnectionsOfOneAddress(t *testing.T) {
	const most = 40
	for _, tt := range []struct {
		from string
		want int
	}{
		{"198.51.100.7", 10}, {"2001:db8::7", 10}, {"::ffff:198.51.100.7", 10},
		{"127.0.0.1", most}, {"::1", most}, {"10.0.0.3", most},
	} {
		var from []string
		for range 100 {
			from = append(from, tt.from)
		}
		in := &line{from: from}
		l := app.LimitConns(in, most, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
		var open []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			open = append(open, c)
		}
		if len(open) != tt.want {
			t.Errorf("%s has %d of %d places, want %d", tt.from, len(open), most, tt.want)
		}
		if tt.want < most { // others are let in
			in.from = []string{"203.0.113.1"}
			if _, err := l.Accept(); err != nil {
				t.Errorf("beside %s another address is kept out", tt.from)
			}
		}
		for _, c := range open { // and a place that is given back can be taken again
			c.Close()
			c.Close()
		}
		in.from = []string{tt.from}
		if _, err := l.Accept(); err != nil {
			t.Errorf("%s is kept out after it left", tt.from)
		}
	}
}
