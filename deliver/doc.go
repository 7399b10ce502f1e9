// Package deliver brings changes to those who asked to be told of them.
//
// A change leaves Freshet as an [Event], a CloudEvents 1.0 envelope around a
// [Change]. A [Webhook] posts events to an endpoint, signed in the manner of
// Standard Webhooks. A [Follower] reads the change log on behalf of one sink:
// it owes a delivery for every change that the sink wants, and tries each debt
// on a schedule of its own until it is accepted or given up.
//
// A delivery is made at least once and under the same id however often it is
// tried; it can come twice, and deliveries can overtake each other. Receivers
// drop what they have seen by its id and put changes of one source in order by
// their seq. The message of a delivery is kept with the debt and sent as the same
// bytes on every attempt. All of a Follower's state is in the store, so that a
// restart forgets no debt.
package deliver
