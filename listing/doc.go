// Package listing learns whether the dates that an index gives its pages can be
// believed: whether they may stand in for polls of the pages.
package listing
