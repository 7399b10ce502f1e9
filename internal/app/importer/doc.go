// Package importer reads lists of pages that other programs keep: what each entry becomes as
// a source, and what of it cannot be carried over.
//
// It knows plain lists of addresses, OPML of feed readers, jobs of urlwatch and webchanges,
// and what changedetection.io exports. It fetches nothing and judges no address.
package importer
