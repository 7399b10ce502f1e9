package synth

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"sync/atomic"
)

// A BenchConfig says what a Bench serves.
type BenchConfig struct {
	Pages int // zero means 10,000
	Size  int // of a body in bytes; zero means 20 KiB
	Hosts int // addresses over which the pages are spread; zero means 1
	Port  int // of all of them, if it is free; zero means any

	// Changed is the share of requests for a page that find a new version,
	// spread evenly. With 0 conditional requests always get a 304; with 1
	// every request gets a new body.
	Changed float64

	Kind BenchKind // of all pages; "" means HTML
	Bare bool      // send no ETag, so that every answer has a body
}

// A BenchKind is what a Bench serves.
type BenchKind string

// The kinds of pages.
const (
	BenchHTML BenchKind = "html"
	BenchJSON BenchKind = "json" // an object with a list of items
	BenchFeed BenchKind = "feed" // RSS
)

// A Bench is a server for load tests. It knows one kind of page, of a
// given size, that moves on as it is asked for. All bodies are
// rendered beforehand and it speaks just enough HTTP/1.1, so that it takes
// little of the machine from what is being measured beside it.
type Bench struct {
	config    BenchConfig
	listeners []net.Listener
	asked     []atomic.Uint32 // requests for each page
	answers   []template      // a version n is answered with n modulo their number
	same      template        // the answer when there is nothing new

	requests, unmodified, bytes atomic.Int64
}

// A BenchCount says what a Bench has served.
type BenchCount struct {
	Requests    int64
	NotModified int64 // of them
	BodyBytes   int64
}

// Bodies differ for this many versions in a row and then come round again,
// save for the numbers in them.
const benchBodies = 24

// NewBench renders the bodies and binds the addresses. Clients may connect from
// then on; they are answered while [Bench.Run] runs, which must be called to
// let go of the addresses again.
func NewBench(ctx context.Context, c BenchConfig) (*Bench, error) {
	c.Pages = cmp.Or(c.Pages, 10_000)
	c.Size = cmp.Or(c.Size, 20<<10)
	c.Hosts = cmp.Or(c.Hosts, 1)
	listeners, err := loopbackAt(ctx, c.Hosts, c.Port)
	if err != nil {
		return nil, err
	}
	b := &Bench{config: c, listeners: listeners, asked: make([]atomic.Uint32, c.Pages)}
	b.same = newTemplate("304 Not Modified", benchTag, nil)
	for n := range benchBodies {
		b.answers = append(b.answers, newBenchPage(n, c))
	}
	return b, nil
}

// Pages returns how many pages there are.
func (b *Bench) Pages() int { return b.config.Pages }

// URL returns the address of page i, counted from 0. Neighbours are on
// different hosts.
func (b *Bench) URL(i int) string {
	return fmt.Sprintf("http://%s/p/%d", b.listeners[i%len(b.listeners)].Addr(), i)
}

// Count returns what has been served so far.
func (b *Bench) Count() BenchCount {
	return BenchCount{Requests: b.requests.Load(), NotModified: b.unmodified.Load(), BodyBytes: b.bytes.Load()}
}

// turn counts a request for a page and returns the version it finds. Pages are
// out of step with each other, as they would be.
func (b *Bench) turn(page int) int {
	asked := float64(b.asked[page].Add(1))
	_, phase := math.Modf(float64(page) * math.Phi)
	return 1 + int(asked*b.config.Changed+phase)
}

// A template is an answer whole, head and body, with places of fixed width for
// the numbers of the page and the version.
type template struct {
	whole           []byte
	body            int   // where the body begins
	pages, versions []int // where the numbers go
}

const (
	numberWidth = 10
	pageSlot    = "PPPPPPPPPP"
	versionSlot = "VVVVVVVVVV"
)

// benchTag is the header by which a client recognises a version.
const benchTag = "ETag: \"" + pageSlot + "." + versionSlot + "\"\r\n"

func newBenchPage(n int, c BenchConfig) template {
	mediaType, body := "text/html; charset=utf-8", []byte(nil)
	switch c.Kind {
	case BenchJSON:
		mediaType, body = "application/json", benchJSON().body(n, c.Size)
	case BenchFeed:
		mediaType, body = "application/rss+xml", benchFeed().body(n, c.Size)
	default:
		body = benchPage().body(n, c.Size)
	}
	fields := fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\n", mediaType, len(body))
	if !c.Bare {
		fields += benchTag
	}
	return newTemplate("200 OK", fields, body)
}

func newTemplate(status, fields string, body []byte) template {
	head := fmt.Sprintf("HTTP/1.1 %s\r\n%s\r\n", status, fields)
	whole := append([]byte(head), body...)
	return template{whole: whole, body: len(head), pages: slots(whole, pageSlot), versions: slots(whole, versionSlot)}
}

// slots returns where a slot is found in b.
func slots(b []byte, slot string) (at []int) {
	for i := 0; ; {
		j := bytes.Index(b[i:], []byte(slot))
		if j < 0 {
			return at
		}
		at = append(at, i+j)
		i += j + numberWidth
	}
}

// fill appends the answer for a page and version to dst.
func (t template) fill(dst []byte, page, version int) []byte {
	from := len(dst)
	dst = append(dst, t.whole...)
	for _, at := range t.pages {
		putNumber(dst[from+at:], page)
	}
	for _, at := range t.versions {
		putNumber(dst[from+at:], version)
	}
	return dst
}

// putNumber writes n over a slot, with leading zeros.
func putNumber(slot []byte, n int) {
	for i := numberWidth - 1; i >= 0; i-- {
		slot[i] = byte('0' + n%10)
		n /= 10
	}
}
