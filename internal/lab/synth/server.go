package synth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"freshet/internal/freshet"
)

// A Server serves a web on loopback, each virtual host at an address of its
// own, so that a poller can be seen to be polite to each.
type Server struct {
	web       *Web
	listeners []net.Listener // of the hosts in their order
}

// Listen binds an address for every host. Clients may connect from then on;
// they are answered while [Server.Run] runs, which must be called to let go of
// the addresses again.
func (w *Web) Listen(ctx context.Context) (*Server, error) {
	listeners, err := Loopback(ctx, len(w.hosts))
	if err != nil {
		return nil, err
	}
	return &Server{web: w, listeners: listeners}, nil
}

// Loopback listens on n addresses of 127.0.0.0/8, all with the same port where it
// is free. Linux has all those addresses; elsewhere they are ports of 127.0.0.1.
func Loopback(ctx context.Context, n int) ([]net.Listener, error) { return loopbackAt(ctx, n, 0) }

// loopbackAt is Loopback with a port to take if it is free; 0 means any.
func loopbackAt(ctx context.Context, n, want int) ([]net.Listener, error) {
	listeners := make([]net.Listener, 0, n)
	port := strconv.Itoa(want)
	for i := range n {
		own := fmt.Sprintf("127.0.%d.%d:", 1+i/250, 1+i%250)
		l, err := listenFirst(ctx, own+port, own+"0", "127.0.0.1:0")
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return nil, fmt.Errorf("listening on loopback for host %d of %d: %w", i+1, n, err)
		}
		if i == 0 {
			_, port, _ = net.SplitHostPort(l.Addr().String())
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// listenFirst listens on the first of the addresses that can be had.
func listenFirst(ctx context.Context, addresses ...string) (l net.Listener, err error) {
	var config net.ListenConfig
	for _, a := range addresses {
		if l, err = config.Listen(ctx, "tcp4", a); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// Run answers requests until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	hosts := make(map[string]int, len(s.listeners))
	for i, l := range s.listeners {
		hosts[l.Addr().String()] = i
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
			s.web.serve(rw, r, hosts[local.String()])
		}),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	errs := make([]error, len(s.listeners))
	var serving sync.WaitGroup
	for i, l := range s.listeners {
		serving.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				errs[i] = fmt.Errorf("serving %s on %s: %w", s.web.hosts[i], l.Addr(), err)
				server.Close()
			}
		})
	}
	serving.Wait()
	return errors.Join(errs...)
}

// Addr returns the address of a virtual host, such as 127.0.1.3:41201, or ""
// if there is no such host.
func (s *Server) Addr(host string) string {
	for i, h := range s.web.hosts {
		if h == host {
			return s.listeners[i].Addr().String()
		}
	}
	return ""
}

// URL returns the address of a page, or "" if there is none.
func (s *Server) URL(id freshet.SourceID) string {
	p := s.web.byID[id]
	if p == nil {
		return ""
	}
	return "http://" + s.listeners[p.host].Addr().String() + p.Path
}

// Sources returns the pages as sources to watch over the sockets.
func (s *Server) Sources() []freshet.Source { return s.web.sources(s.URL) }
