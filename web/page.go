package web

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"freshet"
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
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	items = []T{}
	for _, item := range all {
		switch {
		case in.After != "" && key(item) <= in.After:
		case len(items) == in.Limit:
			return items, key(items[len(items)-1])
		default:
			items = append(items, item)
		}
	}
	return items, ""
}

// newestFirst gives passes their places: the newest comes first.
func newestFirst(p freshet.Pass) string {
	return fmt.Sprintf("%020d-%s", math.MaxInt64-p.Created.UnixNano(), p.ID)
}
