// Package paper repeats the experiments of the three papers that Freshet grows
// from, and holds what comes out against what they say.
//
// An [Experiment] is a figure, a table or an analysis of a paper: it computes
// its [Figure], which is a picture or a table together with a [Claim] for every
// statement that the paper makes about it. [Run] runs experiments side by side;
// a [Report] is what they gave, as a page that needs nothing beside itself.
//
// Chance comes from the seed alone: the same seed gives the same bytes.
package paper
