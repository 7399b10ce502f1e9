package torture

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A hostility is how the hostile hosts answer. None of their answers may become
// a version, but for those of the heavy ones, which are only large.
type hostility struct {
	once  sync.Once
	heavy []byte // gzip of a large page
	bomb  []byte // gzip of far more than may be decoded
}

// heavyBytes is the size of a large page when it is decoded.
const heavyBytes = 12 << 20

// answers reports whether a host is a hostile one.
func (*hostility) answers(host string) bool { return slices.Contains(hostileHosts, host) }

func (h *hostility) answer(rw http.ResponseWriter, r *http.Request, host string) {
	h.once.Do(h.prepare)
	switch {
	case host == "drip":
		drip(rw, r.Context())
	case host == "hang":
		<-r.Context().Done()
	case host == "huge":
		huge(rw)
	case host == "bomb":
		sendGzip(rw, h.bomb)
	case host == "reset":
		reset(rw)
	case host == "garbage":
		garbage(rw)
	case host == "short":
		rw.Header().Set("Content-Length", "1000")
		fmt.Fprint(rw, "edition 1: the rest never comes")
	case strings.HasPrefix(host, "heavy"):
		sendGzip(rw, h.heavy)
	}
}

// prepare packs what is large.
func (h *hostility) prepare() {
	pack := func(size int, line string) []byte {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		for n := 0; n < size; n += len(line) {
			io.WriteString(zw, line)
		}
		zw.Close()
		return b.Bytes()
	}
	// Lines that differ keep the ratio below what counts as a bomb.
	var line strings.Builder
	for i := range 300 {
		fmt.Fprintf(&line, "line %d of a large page, %x\n", i, i*i*7919)
	}
	h.heavy = pack(heavyBytes, line.String())
	h.bomb = pack(300<<20, strings.Repeat("0", 1<<16))
}

func sendGzip(rw http.ResponseWriter, packed []byte) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("Content-Encoding", "gzip")
	rw.Write(packed)
}

// drip sends a byte now and then.
func drip(rw http.ResponseWriter, ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := rw.Write([]byte(".")); err != nil {
			return
		}
		if err := http.NewResponseController(rw).Flush(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// huge sends more than may be taken off the wire.
func huge(rw http.ResponseWriter) {
	block := bytes.Repeat([]byte("much too much "), 4096)
	for range 1024 {
		if _, err := rw.Write(block); err != nil {
			return
		}
	}
}

// reset breaks the connection off in the midst of an answer.
func reset(rw http.ResponseWriter) {
	c, b, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 500\r\n\r\nedition 1")
	b.Flush()
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
}

// garbage answers with what is not HTTP.
func garbage(rw http.ResponseWriter) {
	c, b, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	b.WriteString("\x00\xff\x17nonsense\r\n\r\n")
	b.Flush()
}
