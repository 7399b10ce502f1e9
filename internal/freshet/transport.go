package freshet

import (
	"context"
	"net/http"
	"time"

	"freshet/internal/freshet/failure"
)

// A Request asks for a source's present state, unless it is as last received.
type Request struct {
	URL string
	Validators

	ID SourceID // of the source that the request is for; "" if it is for something else

	// Source is what the request is for, if that is asked for otherwise than by a
	// plain GET or expects certain answers. Bare says that only how the server is
	// reached counts of it, as for a robots.txt.
	Source *Source
	Bare   bool

	// Leave is asked before each request leaves: the first, each that follows a
	// redirect, and one that is sent again over another connection. It may wait.
	// If it returns an error nothing is sent, and Fetch returns the error. Nil
	// means that all may leave.
	Leave func(context.Context, Hop) error

	// Room is asked before the body takes more memory than it was granted: the
	// body will have up to so many bytes. It may wait, and no clock of the fetch
	// runs meanwhile. If it returns an error the body is not read any further,
	// and Fetch returns the error. Nil means that there is always room.
	Room func(ctx context.Context, size int64) error

	// Enough is how many bytes of the body are wanted: the rest is not read, however
	// long it is. 0 means that all of it is.
	Enough int64

	// Slow is called, from another goroutine, when the server takes longer than a
	// second, and once more when it then begins to answer: seen says whether it has.
	// Nil means that nobody wants to know.
	Slow func(seen bool)
}

// A Hop is one request of a poll that is about to leave.
type Hop struct {
	URL  string        // to ask
	Wait time.Duration // that the redirect asked us to wait before it

	// Aside says that the request is for something else than the page, such as a login
	// or a token.
	Aside bool

	// Part says that the request is for a part of a page that is being shown in a
	// browser. Parts are asked for side by side, and none waits for the delay of
	// its host.
	Part bool
}

// A Response is what came back from a poll's last request.
type Response struct {
	Status      int
	URL         string // that answered, after redirects
	NotModified bool   // there is no body: the source is as the validators said
	Header      http.Header
	Body        []byte // whole or as much as is Enough, and without its content coding
	Validators

	// Own says that the source was asked for with cookies that no other source has, so
	// that another might be answered otherwise.
	Own bool

	MediaType string   // Content-Type as received
	Cookies   []string // Set-Cookie as received, for a browser that shows the page; kept nowhere
	Along     *Along   // for such a browser, likewise; nil means nothing
	WireBytes int64    // body bytes as they came, before decoding
	Requests  int      // made in all, redirects included
	Moved     string   // where permanent redirects from the URL asked for lead; "" if there are none
	Modified  time.Time

	// FreshFor is for how long the server says that the response stays as it is.
	FreshFor time.Duration

	// RetryAfter is how long the server asked us to stay away.
	RetryAfter time.Duration
}

// An Along is what a page was asked for with, and what the parts of it that come from
// the same place are asked for with, too.
type Along struct {
	URL    string      // of the page; its parts are those of the same scheme, host and port
	Header http.Header // with cookies and credentials

	// Scrub takes the secrets that are in Header, and that servers may repeat, out of a
	// text. Nil means that there are none.
	Scrub func([]byte) []byte
}

// A Fetcher brings a source's present state.
type Fetcher interface {
	// Fetch returns an error if there is no whole, decoded body to compare
	// and the source is not known to be unmodified. The error is then a
	// *FetchError. The Response says what is known even so, such as the
	// status, the number of requests and when to come back.
	Fetch(context.Context, Request) (Response, error)
}

// A FetchError says why a source could not be seen.
type FetchError struct {
	Class failure.Class
	Err   error
	Hint  string // what the operator can do, if anything
}

// Error returns the reason in words.
func (e *FetchError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *FetchError) Unwrap() error { return e.Err }
