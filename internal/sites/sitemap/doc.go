// Package sitemap reads lists of pages: sitemaps, indexes of sitemaps, plain lists
// of URLs, and the feeds that sites offer in their place.
//
// Read goes through a list of any size in a few hundred kilobytes of memory and
// hands over one entry after another. It takes what it is given: gzip, any encoding,
// wrong namespaces, unescaped ampersands, elements that were never closed. What is
// wrong with a list is reported as problems, with lines, and costs no more than the entries
// that it is about. Only what could harm the reader is refused: entities that
// a document defines itself, and gzip that blows up.
//
// The package fetches nothing and follows nothing. The sitemaps that an index lists
// are entries like others, marked as such.
package sitemap
