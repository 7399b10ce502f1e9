package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"freshet/internal/daemon/membudget"
)

const (
	readPatience  = 10 * time.Second // for a client to send the body of its request
	writePatience = 30 * time.Second // for a client to take what it is sent
	answerPiece   = 64 << 10         // bytes written at once, each of which a client has to take in time
	answerBytes   = 128 << 20        // of bodies and diffs that answers hold together
)

// newAnswers returns the memory budget that large answers share. A request that gets no memory
// within a few seconds is answered with 503. A client that does not read keeps its part for no
// longer than a write may take.
func newAnswers() *membudget.Budget {
	return membudget.New(membudget.Config{Bytes: answerBytes, Worst: answerBytes / 4, Small: 1 << 20, Waiters: 256, Wait: 10 * time.Second})
}

// answerKey finds the share of an answer in the context of its request.
type answerKey struct{}

// Hold makes room for an answer of a size until it has been written.
func Hold(ctx context.Context, size int64) error {
	share, ok := ctx.Value(answerKey{}).(*membudget.Share)
	if !ok {
		return nil
	}
	err := share.Hold(ctx, size)
	if errors.Is(err, membudget.ErrFull) {
		p := NewProblem(http.StatusServiceUnavailable, "too many large responses are being sent")
		p.Hint = "try again in a few seconds"
		return p
	}
	return err
}

// patient serves requests of clients that are slow, or never send or take
// anything: neither keeps a connection or memory for ever.
func (s *Server) patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		share := s.answers.Share()
		defer share.Close()
		control := http.NewResponseController(w)
		// A copy: the server has to find the body that it made.
		r = r.WithContext(context.WithValue(r.Context(), answerKey{}, share))
		if r.ContentLength != 0 {
			// Where there is no connection to set a deadline for, nobody can be slow.
			_ = control.SetReadDeadline(time.Now().Add(readPatience))
			r.Body = &timedBody{ReadCloser: r.Body, control: control}
		}
		_ = control.SetWriteDeadline(time.Now().Add(writePatience))
		next.ServeHTTP(&pieces{ResponseWriter: w, control: control}, r)
	})
}

// A timedBody is a body that has to come in time. When all of it is there the
// deadline is over: an answer may take longer.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read reads from the body.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// A pieces writer sends an answer piece by piece. A client that does not take one
// in time is cut off.
type pieces struct {
	http.ResponseWriter
	control *http.ResponseController
}

// WriteHeader implements [http.ResponseWriter].
func (p *pieces) WriteHeader(status int) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writePatience))
	p.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (p *pieces) Write(b []byte) (written int, err error) {
	for {
		_ = p.control.SetWriteDeadline(time.Now().Add(writePatience))
		piece := b[:min(len(b), answerPiece)]
		n, err := p.ResponseWriter.Write(piece)
		written += n
		if b = b[len(piece):]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// Unwrap lets a controller reach what is behind.
func (p *pieces) Unwrap() http.ResponseWriter { return p.ResponseWriter }
