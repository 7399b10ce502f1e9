package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// What is not HTTP leaves by the same rules: by the address that a name resolves to, and
// by ports.
func TestDialer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	resolve := func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "inside.example" {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	unreached := errors.New("the network is not for tests")
	closed := fetch.Config{Resolver: resolve, Connect: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, unreached }}
	open := closed
	open.Allow, open.Connect = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil
	_, at, _ := net.SplitHostPort(l.Addr().String())
	tests := []struct {
		name    string
		cfg     fetch.Config
		address string
		ports   []uint16
		want    failure.Class
	}{
		{"loopback", closed, "127.0.0.1:" + at, []uint16{port}, failure.BlockedEgress},
		{"a name of loopback", closed, "inside.example:" + at, []uint16{port}, failure.BlockedEgress},
		{"metadata", open, "169.254.169.254:" + at, []uint16{port}, failure.BlockedEgress},
		{"loopback that was opened", open, "127.0.0.1:" + at, nil, ""},
		{"a name of loopback that was opened", open, "inside.example:" + at, nil, ""},
		{"a port of another protocol", closed, "outside.example:25", []uint16{4222}, failure.BlockedPort},
		{"a port of the protocol", closed, "outside.example:4222", []uint16{4222}, failure.Connect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := tt.cfg.Dialer(tt.ports...)(t.Context(), "tcp", tt.address)
			if err == nil {
				conn.Close()
			}
			got, _ := errors.AsType[*freshet.FetchError](err)
			if tt.want == "" && err != nil || tt.want != "" && (got == nil || got.Class != tt.want) {
				t.Errorf("connecting gives %v, want %q", err, tt.want)
			}
		})
	}
}
