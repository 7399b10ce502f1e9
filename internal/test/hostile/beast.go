package hostile

import (
	"io"
	"net"
	"strings"
)

// A Beast is a server that does harm in one way.
type Beast struct {
	ID     string         // of its case, such as "slow-header_drip"
	Harm   string         // what it does, in words
	Secure bool           // whether its URL begins with https
	Talk   func(net.Conn) // treats one connection, which is closed after that
}

// Beasts returns all of them, always in the same order.
func Beasts() []Beast {
	var all []Beast
	for _, family := range [][]Beast{slow(), large(), headers(), frames(), rude()} {
		all = append(all, family...)
	}
	return all
}

// ok is how most of them begin, to look harmless.
const ok = "HTTP/1.1 200 OK\r\n"

// hear reads one request header.
func hear(conn net.Conn) bool {
	var got strings.Builder
	b := make([]byte, 1)
	for !strings.HasSuffix(got.String(), "\r\n\r\n") {
		if _, err := conn.Read(b); err != nil || got.Len() > 64<<10 {
			return false
		}
		got.Write(b)
	}
	return true
}

// say answers one request with reply as it is, and hangs up.
func say(reply string) func(net.Conn) {
	return func(conn net.Conn) {
		if hear(conn) {
			io.WriteString(conn, reply)
		}
	}
}

// flood says head and then tail for as long as anybody listens.
func flood(head, tail string) func(net.Conn) {
	many := strings.Repeat(tail, 1+4096/len(tail))
	return func(conn net.Conn) {
		if !hear(conn) {
			return
		}
		_, err := io.WriteString(conn, head)
		for err == nil {
			_, err = io.WriteString(conn, many)
		}
	}
}

// answer is a whole reply with a length, as an honest server would send it.
func answer(status, body string, header ...string) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 " + status + "\r\n")
	for i := 0; i < len(header); i += 2 {
		b.WriteString(header[i] + ": " + header[i+1] + "\r\n")
	}
	b.WriteString("Connection: close\r\nContent-Length: " + itoa(len(body)) + "\r\n\r\n" + body)
	return b.String()
}
