// Package sinks has the kinds of receivers of changes: the settings of each, its default templates,
// and how a message is sent to it.
//
// [Check] judges a sink and brings it into its normal form; [Open] makes an [Outlet] of
// it. The outlet renders a change once, to bytes that are kept, and sends them as often as
// needed: the bytes hold no secret. Secrets are filled in when a message
// leaves, and are taken out of what goes wrong.
//
// All connections are opened by the functions of a [Config], which lead to package
// fetch: what it refuses to polls it refuses to sinks.
package sinks
