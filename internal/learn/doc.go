// Package learn finds out when sources change, from nothing but what polls of
// them saw.
//
// A poll says little: that a source differs from the last time it was seen, or
// does not. How often it changed in between, and when, stays hidden, and the
// times of the polls are the poller's choice. A [Learner] makes of that, for
// each source, how many changes to expect since it was last seen:
//
//	expected = rate * mass * correction
//
// The rate is the source's own, a distribution over a grid of rates learned by
// Bayes' rule with the exact chance of what each poll saw, in three memories of
// different length that are mixed by how well each predicts. Where little is
// known of a source, others stand in: those of its site, those with its tags,
// all of them, in this order.
//
// The mass is the time since the source was last seen, measured on a clock that
// runs fast in the hours, on the weekdays and in the minutes in which its site,
// and the source itself, tend to change.
//
// The correction holds what has been seen in just that stretch of time on other
// pages of the site and elsewhere (a site that changes all its pages shows on
// the first few), and how far all of this has been right, learned by a
// regression that can also switch any of it off.
//
// A Learner takes constant memory a source and constant time a poll. It is a
// function of the outcomes that it observed and of the sources it knew then: the
// same input gives the same state to the bit.
package learn
