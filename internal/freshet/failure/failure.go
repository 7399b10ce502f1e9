// Package failure classifies failed polls.
package failure

import (
	"strconv"
	"strings"
)

// A Class names a class of failed poll: dotted words from the general to the
// particular, such as "timeout.header" or "too_large.decoded". Operators count
// by class and clients branch on it, so classes are added but never renamed.
type Class string

// Is reports whether c is class or a subclass of it.
func (c Class) Is(class Class) bool {
	return c == class || len(c) > len(class) && c[:len(class)] == class && c[len(class)] == '.'
}

// WithStatus returns the subclass of c for an HTTP status.
func (c Class) WithStatus(status int) Class {
	return c + "." + Class(strconv.Itoa(status))
}

// Ours reports whether the cause is a temporary condition of Freshet: the
// failure says nothing about the source or its host.
func (c Class) Ours() bool { return c.Is(DeferredHost) || c.Is(Local) }

// BlamesHost reports whether the failure concerns the host rather than the one source.
func (c Class) BlamesHost() bool {
	for _, class := range [...]Class{DNS, Connect, TLS, Timeout, Protocol, ServerError, RetryAfter} {
		if c.Is(class) {
			return true
		}
	}
	return false
}

// AtTarget returns the subclass of RedirectTarget for a failure.
func (c Class) AtTarget() Class {
	parent, _, _ := strings.Cut(string(c), ".")
	return RedirectTarget + "." + Class(parent)
}

// The classes of failed polls. Test for one with [Class.Is], because some carry
// a status as a subclass, such as "http.404". Package extract divides Extract
// further.
const (
	Extract  Class = "extract"  // the recipe does not fit the response
	Internal Class = "internal" // a fault of ours, such as a full disk
	Canceled Class = "canceled" // the caller gave up

	Deferred       Class = "deferred"        // parent: a redirect has to wait
	DeferredHost   Class = "deferred.host"   // for the crawl delay or back-off of its host
	DeferredBudget Class = "deferred.budget" // for the budget

	Local        Class = "local"             // parent: this machine lacks a resource for now
	LocalMemory  Class = "local.memory"      // memory for polls in flight
	LocalFiles   Class = "local.files"       // file descriptors
	LocalBrowser Class = "local.browser"     // all browsers are busy
	LocalHand    Class = "local.hand"        // the worker was lost, or no worker can make the poll
	LocalUnsure  Class = "local.hand.unsure" // nothing was sent: the leader's lease is uncertain

	Render         Class = "render"          // parent: the browser could not render the page
	RenderMissing  Class = "render.missing"  // no browser is installed
	RenderStart    Class = "render.start"    // the browser did not start
	RenderCrashed  Class = "render.crashed"  // the browser or the page crashed
	RenderTimeout  Class = "render.timeout"  // the page did not load in time
	RenderMemory   Class = "render.memory"   // the browser exceeded its memory limit
	RenderRequests Class = "render.requests" // the page exceeded its request or byte limit
	RenderStep     Class = "render.step"     // a step or a wait matched no element

	DNS           Class = "dns"                // no address, or no answer in time
	Connect       Class = "connect"            // connection refused or host unreachable
	TLS           Class = "tls"                // certificate or handshake error
	Timeout       Class = "timeout"            // parent
	TimeoutDial   Class = "timeout.dial"       // no connection in time
	TimeoutTLS    Class = "timeout.tls"        // no TLS handshake in time
	TimeoutHeader Class = "timeout.header"     // no response header in time
	TimeoutIdle   Class = "timeout.body_idle"  // the body stalled
	TimeoutRate   Class = "timeout.rate"       // the body came too slowly
	TimeoutTotal  Class = "timeout.total"      // the whole fetch took too long
	TooLarge      Class = "too_large"          // parent
	LargeHeader   Class = "too_large.header"   // the response header
	LargeWire     Class = "too_large.wire"     // the encoded body
	LargeDecoded  Class = "too_large.decoded"  // the decoded body
	Truncated     Class = "truncated"          // the body ended early
	Decode        Class = "decode"             // unknown or broken content encoding
	Protocol      Class = "protocol"           // malformed HTTP
	NoContent     Class = "protocol.nothing"   // 204 or 205: no content differs from empty content
	Partial       Class = "protocol.partial"   // 206 without a range request
	Unasked304    Class = "protocol.unasked"   // 304 to an unconditional request
	Redirect      Class = "redirect"           // parent
	RedirectLimit Class = "redirect.limit"     // too many redirects
	NoLocation    Class = "redirect.missing"   // no Location header
	RedirectBody  Class = "redirect.body"      // a request with a body, to another host
	Downgrade     Class = "redirect.downgrade" // from https to http
	BadLocation   Class = "redirect.invalid"   // to an invalid URL

	// RedirectTarget is a failure of another host than the source's own that a remote worker
	// reported. It delays the source, but no other sources of that host.
	RedirectTarget Class = "redirect.target"

	Robots            Class = "robots"             // parent: robots.txt forbids the request, which was not sent
	RobotsDisallow    Class = "robots.disallow"    // a rule disallows the page
	RobotsUnreachable Class = "robots.unreachable" // robots.txt cannot be read

	Proxy         Class = "proxy"           // the proxy is unreachable or refuses
	Secret        Class = "secret"          // a secret is not available; nothing was sent
	Token         Class = "token"           // the token endpoint gave no token
	Exec          Class = "exec"            // the source's command failed
	File          Class = "file"            // the source's file cannot be read
	Login         Class = "login"           // the login failed
	LoginWait     Class = "login.wait"      // the login is in back-off
	Expect        Class = "expect"          // parent: the response does not meet the source's expectations
	ExpectStatus  Class = "expect.status"   // unexpected status
	ExpectMatch   Class = "expect.match"    // required pattern missing
	ExpectNoMatch Class = "expect.no_match" // forbidden pattern present

	HTTP        Class = "http"         // a status without a page, such as http.404
	Gone        Class = "gone"         // 410
	RetryAfter  Class = "retry_after"  // 429 or 503 with Retry-After
	ServerError Class = "server_error" // 5xx or 429 without Retry-After

	Blocked       Class = "blocked"        // parent: no request was sent
	BlockedURL    Class = "blocked.url"    // the URL is malformed or ambiguous
	BlockedScheme Class = "blocked.scheme" // neither http nor https
	BlockedPort   Class = "blocked.port"   // a port that is not for the Web
	BlockedEgress Class = "blocked.egress" // an address that is not public
)
