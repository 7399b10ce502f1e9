package hostile

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// bombBytes is what the bombs are when they go off: more than any page may be.
const bombBytes = 64 << 20

// large returns those that send more than anybody can want.
func large() []Beast {
	// A body is made when it is first asked for: bombs take a while.
	coded := func(id, harm, coding string, body func() string) Beast {
		reply := sync.OnceValue(func() string {
			return answer("200 OK", body(), "Content-Type", "text/html", "Content-Encoding", coding)
		})
		return Beast{ID: id, Harm: harm, Talk: func(conn net.Conn) { say(reply())(conn) }}
	}
	text := func(s string) func() string { return func() string { return s } }
	return []Beast{
		{ID: "size-infinite_body", Harm: "sends an endless body", Talk: flood(ok+"\r\n", "endless ")},
		{ID: "size-chunk_1byte", Harm: "sends an endless body in chunks of a byte", Talk: flood(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")},
		{ID: "size-content_length_huge", Harm: "announces 10 GB and sends them", Talk: flood(ok+"Content-Length: 10000000000\r\n\r\n", "x")},
		coded("size-gzip_bomb", "sends a gzip bomb", "gzip", func() string { return gzipped(bombBytes) }),
		coded("size-brotli_bomb", "sends a brotli bomb", "br", func() string { return brotlied(bombBytes) }),
		coded("size-zstd_bomb", "sends a zstd bomb", "zstd", func() string { return zstded(bombBytes) }),
		coded("size-zstd_window", "declares a zstd window of 512 MiB", "zstd", text(wideZstd)),
		coded("size-gzip_multi_member", "sends 10,000 gzip members, one after the other", "gzip", func() string { return strings.Repeat(gzipped(4<<10), 10_000) }),
		coded("size-gzip_nested", "sends gzip in gzip", "gzip, gzip", func() string { return gzipped(4 << 10) }),
		coded("size-encoding_lie", "says that plain text is gzip", "gzip", text("plain text all along")),
		coded("size-encoding_unknown", "uses a coding that nobody knows", "x-secret", text("page")),
	}
}

// wideZstd is a frame that declares a window of 512 MiB for a few bytes: magic,
// descriptor, window, and one raw block.
const wideZstd = "\x28\xb5\x2f\xfd" + "\x00" + "\x98" + "\x21\x00\x00page"

// nothing is a number of zero bytes to read.
func nothing(n int64) io.Reader { return io.LimitReader(zeros{}, n) }

type zeros struct{}

// Read fills b with zeros.
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func gzipped(n int64) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.Copy(w, nothing(n))
	w.Close()
	return b.String()
}

func brotlied(n int64) string {
	var b bytes.Buffer
	w := brotli.NewWriterLevel(&b, 1)
	io.Copy(w, nothing(n))
	w.Close()
	return b.String()
}

func zstded(n int64) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		panic(err) // its options are wrong
	}
	io.Copy(w, nothing(n))
	w.Close()
	return b.String()
}

func itoa(n int) string { return strconv.Itoa(n) }
