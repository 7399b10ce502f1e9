// Package extract says what a response says, and how two of them differ.
//
// [Extract] turns a response into text that stays the same for as long as the
// source says the same: an HTML page becomes its visible text, one block a
// line; a JSON document is written in a canonical form; a feed becomes its
// items; plain text is kept. Attribute order, nonces, comments, markup and
// white space do not show. Whatever the charset, the text is valid UTF-8 with
// "\n" line ends, no trailing spaces, no control characters but tabs, and one
// newline at its end unless it is empty.
//
// A recipe may narrow a page with a CSS selector or a JSON document with a
// JSONPath. A selector that matches nothing is an error and never an empty
// text: an element that has vanished must not look like one that was emptied.
//
// Extraction fails whole: a response over a limit, or one that does not parse
// as its recipe says, gives an [*Error] with a class and never part of a text.
//
// Selectors and paths can be made to run for very long and cannot be
// interrupted, so a [Reader] runs them in child processes ([Serve]) that it
// kills when their time is up. Everything else costs time in proportion to the
// size of the response, and is read in the calling goroutine.
//
// [Diff] compares two texts by lines.
package extract
