package fetch

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"

	"freshet"
)

// The classes of failed fetches. Some carry a status as one more word, such as
// "http.404"; test for a class with [freshet.Failure.Is].
const (
	FailCanceled freshet.Failure = "canceled" // the caller gave up

	FailDNS           freshet.Failure = "dns"                // the name has no address, or nobody says in time
	FailConnect       freshet.Failure = "connect"            // no connection: refused, unreachable
	FailTLS           freshet.Failure = "tls"                // no trust in the server, or no common ground with it
	FailTimeout       freshet.Failure = "timeout"            // all of the following
	FailTimeoutDial   freshet.Failure = "timeout.dial"       // nobody took the connection
	FailTimeoutTLS    freshet.Failure = "timeout.tls"        // the handshake did not end
	FailTimeoutHeader freshet.Failure = "timeout.header"     // the response header did not end
	FailTimeoutIdle   freshet.Failure = "timeout.body_idle"  // the body stood still
	FailTimeoutRate   freshet.Failure = "timeout.rate"       // the body trickled
	FailTimeoutTotal  freshet.Failure = "timeout.total"      // the whole took too long
	FailTooLarge      freshet.Failure = "too_large"          // all of the following
	FailLargeHeader   freshet.Failure = "too_large.header"   // the response header
	FailLargeWire     freshet.Failure = "too_large.wire"     // the body as it came
	FailLargeDecoded  freshet.Failure = "too_large.decoded"  // the body without its coding
	FailTruncated     freshet.Failure = "truncated"          // the body broke off
	FailDecode        freshet.Failure = "decode"             // the content coding is unknown or broken
	FailProtocol      freshet.Failure = "protocol"           // not HTTP as it should be
	FailNoContent     freshet.Failure = "protocol.nothing"   // a 204 or 205: no content is not empty content
	FailPartial       freshet.Failure = "protocol.partial"   // a 206 that nobody asked for
	FailUnasked304    freshet.Failure = "protocol.unasked"   // a 304 to an unconditional request
	FailRedirect      freshet.Failure = "redirect"           // all of the following
	FailRedirectLimit freshet.Failure = "redirect.limit"     // too many
	FailNoLocation    freshet.Failure = "redirect.missing"   // to nowhere
	FailDowngrade     freshet.Failure = "redirect.downgrade" // from https to http
	FailBadLocation   freshet.Failure = "redirect.invalid"   // to a URL that is not acceptable

	FailHTTP        freshet.Failure = "http"         // a status that brings no page, such as http.404
	FailGone        freshet.Failure = "gone"         // 410: it will not come back
	FailRetryAfter  freshet.Failure = "retry_after"  // 429 or 503, and when to come back
	FailServerError freshet.Failure = "server_error" // 5xx or 429, and not when

	FailBlocked       freshet.Failure = "blocked"        // all of the following: no request was made
	FailBlockedURL    freshet.Failure = "blocked.url"    // the URL is malformed or ambiguous
	FailBlockedScheme freshet.Failure = "blocked.scheme" // neither http nor https
	FailBlockedPort   freshet.Failure = "blocked.port"   // a port that no web server listens on
	FailBlockedEgress freshet.Failure = "blocked.egress" // an address that is not public
)

// fail returns a failure of a class, told by format.
func fail(class freshet.Failure, format string, args ...any) *freshet.FetchError {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...)}
}

// hinted returns e with advice for the operator.
func hinted(e *freshet.FetchError, format string, args ...any) *freshet.FetchError {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// bare returns what is at the bottom of a network error, without the
// addresses and system calls around it, and fit to be shown.
func bare(err error) error {
	for {
		op, ok := errors.AsType[*net.OpError](err)
		if !ok {
			return tamed{err}
		}
		err = op.Err
	}
}

// A tamed error may quote what a server sent: it is cut to a line's length and
// holds no control characters.
type tamed struct{ error }

// Error returns the text, tamed.
func (t tamed) Error() string {
	const most = 300
	text := t.error.Error()
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// Unwrap returns the error as it was.
func (t tamed) Unwrap() error { return t.error }
