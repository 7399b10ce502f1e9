package warc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// originalPrefix begins the name of a header that is no longer true of a decoded body, as other archives
// have it.
const originalPrefix = "X-Archive-Orig-"

// coded are the headers that say how a body was sent.
var coded = []string{"Connection", "Content-Encoding", "Content-Length", "Keep-Alive", "Transfer-Encoding"}

// AppendResponse appends a response as a message of HTTP/1.1. The body is as it was after decoding, so that headers
// which say how it was sent are renamed.
func AppendResponse(b []byte, status int, header http.Header, body []byte) []byte {
	b = fmt.Appendf(b, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		written := name
		if slices.Contains(coded, name) {
			written = originalPrefix + name
		}
		for _, value := range header[name] {
			b = fmt.Appendf(b, "%s: %s\r\n", written, strings.NewReplacer("\r", " ", "\n", " ").Replace(value))
		}
	}
	b = fmt.Appendf(b, "Content-Length: %d\r\n\r\n", len(body))
	return append(b, body...)
}

// A Message is a response out of a record.
type Message struct {
	Status int
	Header http.Header
	Body   []byte // decoded from its transfer coding; a Content-Encoding is left as it is

	Decoded bool // the body has none of the Content-Encoding of the header
}

// ReadResponse reads a message of HTTP: what AppendResponse wrote, or the block of a record.
func ReadResponse(block []byte) (*Message, error) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(block)), nil)
	if err != nil {
		return nil, fmt.Errorf("reading a response: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil && len(resp.TransferEncoding) > 0 { // archives keep decoded bodies under this header, too
		_, body, _ = bytes.Cut(block, []byte("\r\n\r\n"))
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a response: %w", err)
	}
	m := &Message{Status: resp.StatusCode, Header: resp.Header, Body: body, Decoded: resp.Header[originalPrefix+"Content-Encoding"] != nil}
	for _, name := range coded {
		if original := resp.Header[originalPrefix+name]; original != nil {
			resp.Header[name] = original
			delete(resp.Header, originalPrefix+name)
		} else if name == "Content-Length" {
			if n, err := strconv.Atoi(resp.Header.Get(name)); err == nil && n == len(body) {
				delete(resp.Header, name)
			}
		}
	}
	return m, nil
}
