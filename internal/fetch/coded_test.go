package fetch_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

func zipped(body string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

func brotliedText(body string) string {
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

func zstded(body []byte) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll(body, nil))
}

// deflatedText returns a body coded as deflate in the way of the standard.
func deflatedText(body string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

// bareText returns a body coded as deflate in the way of many servers.
func bareText(body string) string {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, body)
	w.Close()
	return b.String()
}

// wideZstd is a frame that declares a window of 512 MiB for a few bytes: magic,
// descriptor, window, and one raw block.
const wideZstd = "\x28\xb5\x2f\xfd" + "\x00" + "\x98" + "\x21\x00\x00page"
