package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// nextAfter is how long a server may take to accept a connection before the next one of the URL is
// tried, too. One whose machine is gone does not even refuse.
const nextAfter = 300 * time.Millisecond

// newConnector returns what connects to the servers of a URL.
func newConnector(cfg *pgx.ConnConfig, lease time.Duration) connector {
	c := connector{rebound: new(sync.Map), lines: newLines()}
	for _, one := range apart(cfg) {
		one.DialFunc = c.lines.dial(one.DialFunc, lease)
		c.servers = append(c.servers, stdlib.GetConnector(*one))
	}
	return c
}

// apart returns a configuration for each server.
func apart(cfg *pgx.ConnConfig) (each []*pgx.ConnConfig) {
	type server struct {
		host string
		port uint16
	}
	at := map[server]*pgx.ConnConfig{}
	for _, f := range append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...) {
		s := server{f.Host, f.Port}
		if one := at[s]; one != nil { // with and without TLS
			one.Fallbacks = append(one.Fallbacks, f)
			continue
		}
		one := cfg.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = f.Host, f.Port, f.TLSConfig, nil
		at[s], each = one, append(each, one)
	}
	return each
}

// dial returns what dials so that a machine which is gone is noticed in about two leases, and
// not after the quarter of an hour for which what was sent is sent again.
func (l *lines) dial(dial pgconn.DialFunc, lease time.Duration) pgconn.DialFunc {
	patience := max(2*lease, 5*time.Second)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			// What a system does not know it does without.
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: patience / 2, Interval: patience / 6, Count: 3})
			_ = giveUpAfter(tcp, patience)
		}
		return l.add(conn), nil
	}
}

// open connects to the first of the servers that lets us in. Each has a head start over the next.
func (c connector) open(ctx context.Context) (*stdlib.Conn, error) {
	type answer struct {
		conn driver.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(c.servers))
	asked, open := 0, 0
	ask := func() {
		one := c.servers[asked]
		asked, open = asked+1, open+1
		go func() {
			conn, err := one.Connect(ctx)
			answers <- answer{conn, err}
		}()
	}
	ask()
	var errs []error
	for {
		var late <-chan time.Time
		if asked < len(c.servers) {
			late = time.After(nextAfter)
		}
		select {
		case <-late:
			ask()
		case a := <-answers:
			open--
			if a.err == nil {
				go func() {
					for range open {
						if other := <-answers; other.err == nil {
							_ = other.conn.Close() // nothing was done over it
						}
					}
				}()
				return a.conn.(*stdlib.Conn), nil
			}
			if errs = append(errs, a.err); asked < len(c.servers) {
				ask()
			} else if open == 0 {
				return nil, errors.Join(errs...)
			}
		}
	}
}
