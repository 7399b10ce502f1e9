// Package auth asks for sources that a plain GET does not bring.
//
// A [Client] is a [freshet.Fetcher] around that of package fetch. It takes the
// [freshet.Profile] of a source, fills in the secrets that it refers to, gets the
// token that it needs, keeps its cookies, and judges the answer by what the source
// expects. All requests that this takes ask for leave like every other, so that they
// count in the budget and keep to the politeness.
//
// Files, commands, DNS records and certificates are asked for here too.
//
// Secrets are looked up when a request is about to leave and nowhere else. What comes
// back, answers and errors, is searched for them: a server that repeats what it was
// sent puts no secret into the store or the log.
package auth
