// Package cyclic plans when to poll a page within a period that repeats, from the
// history of its changes: the cyclic strategies. A plan is a set of offsets in
// the period. [Plan] makes one by a [Method], and [Timeline.Count] says what it
// would have captured.
package cyclic
