// Package forecast answers what another budget would bring: how large a share of
// the changes would be captured and how soon, what a share or a delay costs,
// which sources eat the budget, what dropping some would free, and whether
// service levels can be kept.
//
// It takes each source to change at random at a rate that is only roughly
// known (a [Prospect]), and polls to be spread as the price of a poll says:
// each source is polled as soon as a poll has become worth the price, over the
// best later one, and the price is the one at which all polls together make up
// the budget. Doubt about a rate is carried through: a source is taken to be a
// few sources of different rates, each with its probability.
//
// Sources do not change at random. One that keeps to a rhythm can be captured
// better than is said here, if the policy has learned the rhythm; one that
// changes in bursts is captured worse. Neither is in the bounds, which are of the
// rates alone. docs/explanation/budget.md has figures.
//
// It is plain arithmetic: no clock, no chance, the same answers to the same
// questions.
package forecast
