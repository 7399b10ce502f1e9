package api

import (
	"context"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
)

// LabRuns gives the queue of the lab to its test, with other work.
type LabRuns struct{ *labRuns }

// NewLabRuns returns a queue whose runs do some work, which is told when nobody wants it.
func NewLabRuns(work func(id string, cancelled <-chan struct{}) (*client.LabResult, error)) LabRuns {
	return LabRuns{&labRuns{now: time.Now, work: func(_ labTask, r *labRun) (*client.LabResult, error) {
		return work(r.told.ID, r.cancel)
	}}}
}

// Add, All, Run and End are what routes do.
func (l LabRuns) Add() (client.LabRun, error)         { return l.add(client.LabRequest{}, labTask{}) }
func (l LabRuns) All() []client.LabRun                { return l.list() }
func (l LabRuns) Run(id string) (client.LabRun, bool) { return l.run(id) }
func (l LabRuns) End(id string) bool                  { return l.end(id) }

// NewPacer gives the pace of the lab to its test.
func NewPacer(ctx context.Context) func() { return newPacer(ctx).rest }

// PartByNext returns the IDs of a page of sources in the order of their next polls, and where
// the next page goes on.
func PartByNext(ids []freshet.SourceID, next []time.Time, reverse bool, after *freshet.SourceRank, offset, limit int) (page []freshet.SourceID, end *freshet.SourceRank) {
	keys := make([]int64, len(ids))
	for i, at := range next {
		if keys[i] = unranked; !at.IsZero() {
			keys[i] = at.UnixNano()
		}
	}
	part, more := newRanking(ids, keys).part(&listSourcesInput{Reverse: reverse, Offset: offset, Limit: limit}, after)
	for _, r := range part {
		page = append(page, r.ID)
	}
	if more {
		end = &part[len(part)-1]
	}
	return page, end
}

// FromStore are the routes that a node which does not decide answers itself, and whether each is
// a route.
func FromStore() map[string]bool {
	found := map[string]bool{}
	for pattern := range fromStore {
		_, found[pattern] = rules[pattern]
	}
	return found
}

// KeyOf returns where a source stands in an order.
func KeyOf(sort string, o outlook.Outlook) int64 { return keyOf(sort, o) }
