package synth

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Run answers requests until ctx is done.
func (b *Bench) Run(ctx context.Context) error {
	conns := connections{open: map[net.Conn]bool{}}
	end := func() {
		for _, l := range b.listeners {
			l.Close()
		}
		conns.closeAll()
	}
	stop := context.AfterFunc(ctx, end)
	defer stop()
	errs := make([]error, len(b.listeners))
	var serving sync.WaitGroup
	for i, l := range b.listeners {
		serving.Go(func() {
			if err := b.accept(l, &conns, &serving); !errors.Is(err, net.ErrClosed) {
				errs[i] = fmt.Errorf("accepting on %s: %w", l.Addr(), err)
				end()
			}
		})
	}
	serving.Wait()
	return errors.Join(errs...)
}

// accept takes up connections until the listener fails or is closed.
func (b *Bench) accept(l net.Listener, conns *connections, serving *sync.WaitGroup) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if !conns.add(c) {
			return net.ErrClosed
		}
		serving.Go(func() {
			defer conns.remove(c)
			b.converse(c)
		})
	}
}

// connections are those open now, so that they can be closed from outside.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	over bool
}

// add takes up a connection, or closes it and returns false if all is over.
func (cs *connections) add(c net.Conn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.over {
		c.Close()
		return false
	}
	cs.open[c] = true
	return true
}

func (cs *connections) remove(c net.Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, c)
	c.Close()
}

func (cs *connections) closeAll() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.over = true
	for c := range cs.open {
		c.Close()
	}
}

// converse answers the requests of one connection until it ends or says
// something that is not a request.
func (b *Bench) converse(c net.Conn) {
	in := bufio.NewReader(c)
	var out []byte
	for {
		r, ok := readBenchRequest(in)
		if !ok {
			return
		}
		out = b.reply(out[:0], r)
		if _, err := c.Write(out); err != nil || r.last {
			return
		}
	}
}

// A benchRequest is what matters of a request.
type benchRequest struct {
	page    int // -1 if it is for something else
	version int // named by If-None-Match; zero if none is
	last    bool
}

// readBenchRequest reads the head of a request; requests with bodies are not
// for this server.
func readBenchRequest(in *bufio.Reader) (r benchRequest, ok bool) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return r, false
	}
	r.page = -1
	if path, ours := bytes.CutPrefix(line, []byte("GET /p/")); ours {
		if n, ok := leadingNumber(path); ok {
			r.page = n
		}
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return r, false
		}
		if len(line) <= 2 {
			return r, true
		}
		if value, ok := fieldValue(line, "if-none-match:"); ok {
			if dot := bytes.LastIndexByte(value, '.'); dot >= 0 {
				r.version, _ = leadingNumber(value[dot+1:])
			}
		} else if value, ok := fieldValue(line, "connection:"); ok {
			r.last = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// fieldValue returns the value of a header line if it has the given name, which
// is in lower case and ends in a colon.
func fieldValue(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || line[0]|0x20 != name[0] || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}

// reply appends the answer to a request to dst.
func (b *Bench) reply(dst []byte, r benchRequest) []byte {
	b.requests.Add(1)
	if r.page < 0 || r.page >= b.config.Pages {
		return append(dst, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"...)
	}
	version := b.turn(r.page)
	if r.version == version {
		b.unmodified.Add(1)
		return b.same.fill(dst, r.page, version)
	}
	t := b.answers[version%len(b.answers)]
	b.bytes.Add(int64(len(t.whole) - t.body))
	return t.fill(dst, r.page, version)
}
