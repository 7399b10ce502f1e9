package extract

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

// A Reader and its children talk in messages: the length of a JSON head and of
// a body, both as 32 bits in big-endian order, then the head and the body.

// greeting is what a child says when it is ready.
const greeting = "freshet content 1\n"

// maxMessage bounds a head and a body each, against a child that writes noise.
const maxMessage = 64 << 20

// A question asks a child to read a response. The body follows it.
type question struct {
	Recipe    reading.Recipe `json:"recipe"`
	MediaType string         `json:"media_type"`
	URL       string         `json:"url,omitempty"`
	Header    http.Header    `json:"header,omitempty"` // as far as it counts
	Timeout   time.Duration  `json:"timeout"`
	Memory    int64          `json:"memory"`
	Trace     bool           `json:"trace,omitempty"` // tell what each step made
}

// header returns what counts of the header of a response.
func header(h http.Header) http.Header {
	some := http.Header{}
	for _, name := range []string{"Date", "Content-Disposition"} {
		if h[name] != nil {
			some[name] = h[name]
		}
	}
	return some
}

func (q question) response(body []byte) freshet.Response {
	return freshet.Response{URL: q.URL, MediaType: q.MediaType, Body: body, Header: q.Header}
}

// An answer is what a child read. The text follows it.
type answer struct {
	Reading
	Items []freshet.Item `json:"items,omitempty"`
	Class failure.Class  `json:"class,omitempty"` // set if it could not be read
	Err   string         `json:"err,omitempty"`
	Hint  string         `json:"hint,omitempty"`
	Field string         `json:"field,omitempty"` // of a recipe that is wrong
}

func answerOf(rd Reading, err error) (answer, []byte) {
	if err == nil {
		return answer{Reading: rd, Items: rd.Items.All()}, rd.Text
	}
	a := answer{Reading: Reading{Steps: rd.Steps}, Class: FailParse, Err: err.Error(), Hint: freshet.HintOf(err)}
	if e, ok := errors.AsType[*Error](err); ok {
		a.Class = e.Class
	}
	if e, ok := errors.AsType[*invalid.Error](err); ok {
		a.Field, a.Err = e.Field, e.Reason
	}
	return a, nil
}

func (a answer) reading(text []byte) (Reading, error) {
	switch {
	case a.Field != "":
		return Reading{}, &invalid.Error{Field: a.Field, Reason: a.Err}
	case a.Class != "":
		return Reading{Steps: a.Steps}, fail(a.Class, a.Hint, "%s", a.Err)
	}
	a.Text = text
	withLists(a.Fields)
	for _, item := range a.Items {
		withLists(item.Fields)
	}
	a.Reading.Items = ListOf(a.Items)
	return a.Reading, nil
}

// withLists gives fields the types that they had before they were JSON.
func withLists(f freshet.Fields) {
	for name, v := range f {
		if list, ok := v.([]any); ok {
			texts := make([]string, len(list))
			for i, x := range list {
				texts[i], _ = x.(string)
			}
			f[name] = texts
		}
	}
}

func writeMessage(w io.Writer, head any, body []byte) error {
	h, err := json.Marshal(head)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	var sizes [8]byte
	binary.BigEndian.PutUint32(sizes[:4], uint32(len(h)))
	binary.BigEndian.PutUint32(sizes[4:], uint32(len(body)))
	b.Write(sizes[:]) // a bufio.Writer keeps its first error for Flush
	b.Write(h)
	b.Write(body)
	return b.Flush()
}

func readMessage(r io.Reader, head any) (body []byte, err error) {
	var sizes [8]byte
	if _, err := io.ReadFull(r, sizes[:]); err != nil {
		return nil, err
	}
	n, m := binary.BigEndian.Uint32(sizes[:4]), binary.BigEndian.Uint32(sizes[4:])
	if n > maxMessage || m > maxMessage {
		return nil, fmt.Errorf("a message of %d and %d bytes", n, m)
	}
	h, body := make([]byte, n), make([]byte, m)
	if _, err := io.ReadFull(r, h); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	return body, json.Unmarshal(h, head)
}
