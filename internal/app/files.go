package app

import (
	"net"
	"sync"

	"freshet/internal/app/config"
	"freshet/internal/sched"
)

// ownFiles is how many open files the daemon needs for itself: the store and its
// readers, the children that apply selectors, the listener, the log.
const ownFiles = 32

// shareFiles divides the open files that this process may have between the API
// and polls, beside what it needs itself.
func shareFiles(limit int) (api, polls int) {
	rest := max(limit-ownFiles, 8)
	api = min(rest/3, 1024)
	return api, rest - api
}

// fitFiles returns settings whose polls find a file each for their connection and
// their lookups, and for connections that are kept open.
func fitFiles(s config.Settings, limit int) config.Settings {
	if limit <= 0 {
		return s
	}
	_, polls := shareFiles(limit)
	workers := s.Limits.Workers
	if workers <= 0 {
		workers = sched.DefaultLimits().Workers
	}
	s.Limits.Workers = max(1, min(workers, polls/2))
	idle := max(1, polls/4)
	s.Limits.Slow = max(1, min(8*s.Limits.Workers, polls-idle-s.Limits.Workers))
	if s.Fetch.IdleConns == 0 && idle < 1024 {
		s.Fetch.IdleConns = idle
	}
	return s
}

// A limitedListener has no more than so many connections open. One more is closed
// at once, so that those that are there go on.
type limitedListener struct {
	net.Listener
	places chan struct{}
}

// writeBuffer is how many bytes the kernel takes for a client that does not read. Left to
// itself it takes megabytes, and a stream of changes finds out only after hours that nobody
// reads it.
const writeBuffer = 128 << 10

// limitConns bounds how many clients are connected at once.
func limitConns(l net.Listener) net.Listener {
	most := 1024
	if files := openFiles(); files > 0 {
		most, _ = shareFiles(files)
	}
	return &limitedListener{l, make(chan struct{}, most)}
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetWriteBuffer(writeBuffer) // without it the kernel decides
			}
			return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			c.Close()
		}
	}
}

// A limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
