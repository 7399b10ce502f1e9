package api

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// A paging is which part of a list is wanted, of one that is short enough to be made whole.
type paging struct {
	After string `query:"after" maxLength:"200" doc:"Only what comes after this: the next of the page before"`
	Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"1000" doc:"At most this many"`
}

// paged returns the part of a list that is wanted, and what the next one comes after; ""
// if there is none. The key gives each item its place, so that nothing is left out or comes
// twice when others are added or removed in between.
func paged[T any](in paging, all []T, key func(T) string) (items []T, next string) {
	type placed struct {
		at   string
		item T
	}
	var rest []placed
	for _, item := range all {
		if at := key(item); in.After == "" || at > in.After {
			rest = append(rest, placed{at, item})
		}
	}
	slices.SortStableFunc(rest, func(a, b placed) int { return strings.Compare(a.at, b.at) })
	items = []T{}
	for _, p := range rest[:min(in.Limit, len(rest))] {
		items, next = append(items, p.item), p.at
	}
	if len(items) == len(rest) {
		next = ""
	}
	return items, next
}

// newestFirst gives passes their places: the newest comes first.
func newestFirst(p freshet.Pass) string {
	return fmt.Sprintf("%020d-%s", math.MaxInt64-p.Created.UnixNano(), p.ID)
}
