// Package fetch makes one careful request.
//
// A [Client] brings the present state of a source: it asks conditionally,
// follows a few redirects, takes off the content coding, and hands over a body
// only if it is whole. Whatever the server does, a fetch ends in bounded time
// and bounded memory, and a response over a limit fails whole; a cut page is
// never handed over as a page. What went wrong is a dotted
// [freshet.Failure], of which this package holds the list.
//
// The package is also the only way out of the program. An [Egress] refuses to
// connect to addresses that are not of the public Internet unless the operator
// has allowed their range, and to the metadata services of clouds in any case.
// The address is judged when the URL is admitted, when the name is resolved
// and, for good, on the socket that is about to be connected, so that neither
// a redirect nor a name that changes its mind gets past.
//
// It keeps no state between fetches but idle connections: no cookies, no
// cache, no credentials, no proxy from the environment.
package fetch
