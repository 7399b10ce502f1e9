// Package synth is a small synthetic web whose truth is known.
//
// A [Web] is a set of pages, feeds and endpoints that change on schedules, and of
// sitemaps that tell the truth about them or not (see [Listing]). The
// version of a page at a moment is a function of its [Schedule], the seed and
// the moment; the body is a function of the page and the version. So a
// watcher of the web can be held to what really happened: [Web.Changes] says when
// each page changed, [Web.Requests] who asked for what, and [Web.Judge] how
// many of the changes a list of captures caught. [Web.UniformRival] says how a
// poller that gives every page the same share would have fared meanwhile.
//
// The same web answers in three ways: over sockets on loopback, one address to
// a virtual host ([Web.Listen]); as one http.Handler ([Web.Handler]); and in
// process, without any socket, as a fetcher that also works inside a bubble of
// fake time ([Web.Fetch]).
//
// [Demo] and [Crash] are ready-made webs. [Bench] is another thing: a server
// that knows only how to be asked very often at little cost.
package synth
