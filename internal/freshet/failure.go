package freshet

import "strconv"

// A Failure is a class of failed poll, as dotted words from the general to the
// particular, such as "timeout.header" or "too_large.decoded". Operators count
// by it and clients branch on it, so classes are added but never renamed.
type Failure string

// Is reports whether f is class or belongs to it.
func (f Failure) Is(class Failure) bool {
	return f == class || len(f) > len(class) && f[:len(class)] == class && f[len(class)] == '.'
}

// WithStatus returns f with an HTTP status as one more word.
func (f Failure) WithStatus(status int) Failure {
	return f + "." + Failure(strconv.Itoa(status))
}

// Ours reports whether a poll failed for a reason of our own that passes: it says
// nothing about the source or its host.
func (f Failure) Ours() bool { return f.Is(FailDeferredHost) || f.Is(FailLocal) }

// The classes of failed polls. Some carry a status as one more word, such as
// "http.404", so test for a class with [Failure.Is]. Package content divides
// FailExtract further.
const (
	FailExtract  Failure = "extract"  // the response could not be read as its recipe says
	FailInternal Failure = "internal" // a fault of ours, such as a full disk
	FailCanceled Failure = "canceled" // the caller gave up

	FailDeferred       Failure = "deferred"        // all of the following: a redirect could not be followed for now
	FailDeferredHost   Failure = "deferred.host"   // its host is owed a rest
	FailDeferredBudget Failure = "deferred.budget" // the budget has no room for one more request

	FailLocal        Failure = "local"             // all of the following: this machine is short of something for now
	FailLocalMemory  Failure = "local.memory"      // of memory for polls under way
	FailLocalFiles   Failure = "local.files"       // of open files, and so of connections
	FailLocalBrowser Failure = "local.browser"     // of browsers: all are busy with other pages
	FailLocalHand    Failure = "local.hand"        // of hands: the one that looked was lost, or none is there that can
	FailLocalUnsure  Failure = "local.hand.unsure" // nothing was sent, because it is not sure that the brain still decides

	FailRender         Failure = "render"          // all of the following: the page could not be shown in a browser
	FailRenderMissing  Failure = "render.missing"  // there is no browser on this machine
	FailRenderStart    Failure = "render.start"    // the browser did not start
	FailRenderCrashed  Failure = "render.crashed"  // the browser or the page in it died
	FailRenderTimeout  Failure = "render.timeout"  // the page was not there in time
	FailRenderMemory   Failure = "render.memory"   // the browser took too much memory
	FailRenderRequests Failure = "render.requests" // the page made too many requests, or too large ones
	FailRenderStep     Failure = "render.step"     // a step, or what is waited for, found nothing to act on

	FailDNS           Failure = "dns"                // the name has no address, or nobody says in time
	FailConnect       Failure = "connect"            // no connection: refused, unreachable
	FailTLS           Failure = "tls"                // no trust in the server, or no common ground with it
	FailTimeout       Failure = "timeout"            // all of the following
	FailTimeoutDial   Failure = "timeout.dial"       // nobody took the connection
	FailTimeoutTLS    Failure = "timeout.tls"        // the handshake did not end
	FailTimeoutHeader Failure = "timeout.header"     // the response header did not end
	FailTimeoutIdle   Failure = "timeout.body_idle"  // the body stood still
	FailTimeoutRate   Failure = "timeout.rate"       // the body trickled
	FailTimeoutTotal  Failure = "timeout.total"      // the whole took too long
	FailTooLarge      Failure = "too_large"          // all of the following
	FailLargeHeader   Failure = "too_large.header"   // the response header
	FailLargeWire     Failure = "too_large.wire"     // the body as it came
	FailLargeDecoded  Failure = "too_large.decoded"  // the body without its coding
	FailTruncated     Failure = "truncated"          // the body broke off
	FailDecode        Failure = "decode"             // the content coding is unknown or broken
	FailProtocol      Failure = "protocol"           // not HTTP as it should be
	FailNoContent     Failure = "protocol.nothing"   // a 204 or 205: no content is not empty content
	FailPartial       Failure = "protocol.partial"   // a 206 that nobody asked for
	FailUnasked304    Failure = "protocol.unasked"   // a 304 to an unconditional request
	FailRedirect      Failure = "redirect"           // all of the following
	FailRedirectLimit Failure = "redirect.limit"     // too many
	FailNoLocation    Failure = "redirect.missing"   // to nowhere
	FailRedirectBody  Failure = "redirect.body"      // with a body, to another host
	FailDowngrade     Failure = "redirect.downgrade" // from https to http
	FailBadLocation   Failure = "redirect.invalid"   // to a URL that is not acceptable

	FailRobots            Failure = "robots"             // all of the following: a robots.txt is obeyed, and the page was not asked for
	FailRobotsDisallow    Failure = "robots.disallow"    // it disallows the page
	FailRobotsUnreachable Failure = "robots.unreachable" // it cannot be read

	FailProxy         Failure = "proxy"           // the proxy cannot be reached, or refuses
	FailSecret        Failure = "secret"          // a secret could not be had; nothing was sent
	FailToken         Failure = "token"           // no token was given out for the source
	FailExec          Failure = "exec"            // the command of the source failed
	FailFile          Failure = "file"            // the file of the source cannot be read
	FailLogin         Failure = "login"           // the login of the source did not work
	FailLoginWait     Failure = "login.wait"      // it is not tried again for a while
	FailExpect        Failure = "expect"          // all of the following: the answer is not what the source expects
	FailExpectStatus  Failure = "expect.status"   // by its status
	FailExpectMatch   Failure = "expect.match"    // what must be there is not
	FailExpectNoMatch Failure = "expect.no_match" // what must not be there is

	FailHTTP        Failure = "http"         // a status that brings no page, such as http.404
	FailGone        Failure = "gone"         // 410: it will not come back
	FailRetryAfter  Failure = "retry_after"  // 429 or 503, and when to come back
	FailServerError Failure = "server_error" // 5xx or 429, and not when

	FailBlocked       Failure = "blocked"        // all of the following: no request was made
	FailBlockedURL    Failure = "blocked.url"    // the URL is malformed or ambiguous
	FailBlockedScheme Failure = "blocked.scheme" // neither http nor https
	FailBlockedPort   Failure = "blocked.port"   // a port that no web server listens on
	FailBlockedEgress Failure = "blocked.egress" // an address that is not public
)
