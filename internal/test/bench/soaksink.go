package bench

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// A soakSink takes the changes of a soak: as a webhook, and from the stream.
type soakSink struct {
	listener            net.Listener
	server              *http.Server
	delivered, streamed atomic.Int64
}

func newSoakSink() (*soakSink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &soakSink{listener: l}
	s.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			s.delivered.Add(1)
		}),
	}
	go s.server.Serve(l) // ends with close
	return s, nil
}

func (s *soakSink) url() string { return "http://" + s.listener.Addr().String() }

func (s *soakSink) close() { s.server.Close() }

// follow reads the stream until ctx is done, coming back when it breaks.
func (s *soakSink) follow(ctx context.Context, api *client.Client) error {
	var at freshet.Place
	for ctx.Err() == nil {
		for e, err := range api.Stream(ctx, at, client.ChangeFilter{}) {
			if err != nil {
				break
			}
			at = e.Data.Cursor
			s.streamed.Add(1)
		}
		if pause(ctx, time.Second) != nil {
			return nil
		}
	}
	return nil
}
