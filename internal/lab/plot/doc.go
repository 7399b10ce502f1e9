// Package plot draws charts as SVG: lines, columns and bars with axes, ticks and
// a legend, clean enough to print and complete in themselves.
//
// Whatever a name or a caption says is shown as text and nothing else.
package plot
