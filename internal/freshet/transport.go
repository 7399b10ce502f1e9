package freshet

import (
	"context"
	"net/http"
	"time"

	"freshet/internal/freshet/failure"
)

// A Request fetches the current state of a source, conditionally if it has validators.
type Request struct {
	URL string
	Validators

	ID SourceID // of the source that the request is for; "" if it is for something else

	// Source is set if the source has a request profile or expectations. Bare means that
	// only its connection settings apply, as for a robots.txt.
	Source *Source
	Bare   bool

	// Leave is the request gate, called before each request: the first, each redirect,
	// and each retry over another connection. It may wait. If it returns an error nothing
	// is sent, and Fetch returns the error. Nil permits all requests.
	Leave func(context.Context, Hop) error

	// Room reserves memory before the body grows to a size. It may wait, and time limits
	// of the fetch pause meanwhile. If it returns an error the body is not read further,
	// and Fetch returns the error. Nil means that memory is unlimited.
	Room func(ctx context.Context, size int64) error

	// Enough is the number of body bytes to read; 0 means all.
	Enough int64

	// Slow, if not nil, is called from another goroutine when the server has not answered
	// within a second, and again with seen set when it begins to answer.
	Slow func(seen bool)
}

// A Hop is one request of a poll that asks for a permit.
type Hop struct {
	URL  string        // to ask
	Wait time.Duration // that the redirect asked for

	// Aside marks a request for something other than the page, such as a login or a token.
	Aside bool

	// Part marks a subresource of a rendered page. Subresources are requested in
	// parallel, without the delay of their host.
	Part bool
}

// A Response is what came back from a poll's last request.
type Response struct {
	Method      string // of the request that was answered
	Status      int
	URL         string // that answered, after redirects
	NotModified bool   // 304: there is no body
	Header      http.Header
	Body        []byte // decoded; whole, or Enough of it
	Validators

	// Own means that the request had cookies of this source alone, so that another
	// source may get another response.
	Own bool

	MediaType string   // Content-Type as received
	Cookies   []string // Set-Cookie as received, for a browser that renders the page; not stored
	Along     *Along   // likewise; nil means nothing
	WireBytes int64    // body bytes as they came, before decoding
	Requests  int      // made in all, redirects included
	Moved     string   // where permanent redirects from the URL asked for lead; "" if there are none
	Modified  time.Time

	// FreshFor is how long the response stays fresh according to the server.
	FreshFor time.Duration

	// RetryAfter is the back-off that the server asked for.
	RetryAfter time.Duration
}

// An Along holds the headers of a page request, which its subresources of the same origin
// share.
type Along struct {
	URL    string      // of the page; its parts are those of the same scheme, host and port
	Header http.Header // with cookies and credentials

	// Scrub removes the secrets in Header, which servers may echo, from a text. Nil means
	// that there are none.
	Scrub func([]byte) []byte
}

// A Fetcher fetches the current state of a source.
type Fetcher interface {
	// Fetch returns a *FetchError unless there is a whole, decoded body or a 304. The
	// Response of a failed fetch still holds what is known, such as the status, the
	// number of requests and the back-off.
	Fetch(context.Context, Request) (Response, error)
}

// A FetchError says why a fetch failed.
type FetchError struct {
	Class failure.Class
	Err   error
	Hint  string // what the operator can do, if anything
}

// Error returns the reason in words.
func (e *FetchError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *FetchError) Unwrap() error { return e.Err }
