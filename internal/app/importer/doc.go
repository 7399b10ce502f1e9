// Package importer reads lists of pages that other programs keep: what each entry becomes as
// a source, and which of its settings cannot be carried over.
//
// It knows lists of addresses, CSV, OPML of feed readers, bookmarks of browsers, jobs of
// urlwatch and webchanges, and exports of changedetection.io, Distill and Huginn. It fetches
// nothing and judges no address.
package importer
