// Package archive replays saved versions of a page through the code that polls use: a
// hand looks at one after the other, and a store records what it found.
package archive
