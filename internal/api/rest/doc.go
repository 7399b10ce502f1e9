// Package rest is what all handlers of the HTTP API share: problems (RFC 9457), pages of
// lists, cursors, entity tags, merge patches, server-sent events, and the way of a request
// through the gate, the audit log and the idempotency keys.
//
// A feature describes its operations with [Route] and reads nothing but this package and
// its own. Which callers may use a route is said by the rules that [Config] is given.
package rest
