// Package api is Freshet seen over HTTP: a JSON API, the change stream, and
// what operators watch the daemon by.
//
// The API lives under /api/v1 and describes itself at /openapi.json. Lists
// come in pages of the form {"items": [...], "next": ...}, where next is what
// to ask for the following page with. Errors are problem details as of RFC
// 9457 and name the field that is wrong. Changes are read from the log by
// cursor, with a long poll (/api/v1/changes) or as server-sent events
// (/api/v1/changes/stream); a reader keeps its own place and can take it up
// again without a gap.
//
// Package who says who sends a request; the rules of this package say which routes they
// may use. Whatever changes something is noted in the audit log. An operator's own browser
// must not be turned on the API by another site, either: requests that change something
// must not come from another origin, the Host must be one that a rebound name cannot have,
// and nothing captured is ever served as active content.
package api
