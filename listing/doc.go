// Package listing keeps what an index says of its pages, at the cost of what changes.
//
// An index is a list of pages that shows many at once: a sitemap, a feed, a hub page.
// An Index holds of each page that is listed the date that the list gives it and
// since when it is listed, in 24 bytes, known by a hash of the URL. A Reading is one
// look at the list; it says what is new, gone or dated anew, and is kept if the
// caller thinks that it should be. What has to be stored then is what changed.
//
// A Trust learns whether the dates of a site are true: whether they may stand in for
// polls of the pages.
package listing
