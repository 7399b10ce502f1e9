package hostile

import (
	"io"
	"net"
	"strings"
	"time"
)

// slow returns those that hold a connection for as long as they are let.
func slow() []Beast {
	return []Beast{
		{ID: "slow-accept_silent", Harm: "accepts the connection and never answers", Talk: wait},
		{ID: "slow-tls_stall", Harm: "stalls in the TLS handshake", Secure: true, Talk: wait},
		{ID: "slow-header_drip", Harm: "sends one header line each 300 ms", Talk: drip(ok, "X-Slow: line\r\n", 300*time.Millisecond)},
		{ID: "slow-header_bytes", Harm: "sends its header byte by byte", Talk: drip("HTTP/1.1 200 OK\r\nX-Slow: ", "x", 100*time.Millisecond)},
		{ID: "slow-body_silent", Harm: "sends a header and never a body", Talk: drip(ok+"Content-Length: 1000\r\n\r\n", "", time.Hour)},
		{ID: "slow-body_drip", Harm: "sends a body byte by byte", Talk: drip(ok+"Content-Length: 100000\r\n\r\n", "x", 300*time.Millisecond)},
		{ID: "slow-chunk_drip", Harm: "sends a body in chunks of a byte", Talk: drip(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", 300*time.Millisecond)},
		{ID: "slow-total", Harm: "sends 2 KiB a second for ever", Talk: drip(ok+"\r\n", strings.Repeat("0123456789abcde\n", 128), time.Second)},
		{ID: "slow-sse_endpoint", Harm: "streams events for ever", Talk: drip(ok+"Content-Type: text/event-stream\r\n\r\n", "data: "+strings.Repeat("tick ", 400)+"\n\n", time.Second)},
		{ID: "slow-1xx_drip", Harm: "sends interim responses for ever", Talk: drip("", "HTTP/1.1 102 Processing\r\n\r\n", 300*time.Millisecond)},
	}
}

// wait hears whatever comes, and says nothing until the other side hangs up.
func wait(conn net.Conn) { io.Copy(io.Discard, conn) }

// drip says head at once, and drop after every pause.
func drip(head, drop string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		if !hear(conn) {
			return
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			wait(conn)
		}()
		_, err := io.WriteString(conn, head)
		for tick := time.NewTicker(pause); err == nil; {
			select {
			case <-gone:
				tick.Stop()
				return
			case <-tick.C:
				_, err = io.WriteString(conn, drop)
			}
		}
	}
}
