package fetch_test

import (
	"bytes"
	"compress/gzip"
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

// wideZstd is a frame that declares a window of 512 MiB for a few bytes: magic,
// descriptor, window, and one raw block.
const wideZstd = "\x28\xb5\x2f\xfd" + "\x00" + "\x98" + "\x21\x00\x00page"
