// Package migrate takes everything that a store has from one database into another: from a data
// directory into PostgreSQL, or back.
//
// At no moment can both stores be used. The target is marked as incomplete before the first
// row is written to it. When all rows are in, are the same as in the source, and have been
// verified, the target is marked as complete, the source as left, and then the mark of the
// target is taken away. A move that is cut off leaves the source as it was, until it is
// marked; one that is run again starts over, or does what is left if the source is marked.
package migrate
