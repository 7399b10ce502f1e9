package rest

import (
	"slices"
	"strings"
)

// MaxPage is the most items that a page holds.
const MaxPage = 1000

// Paging selects a part of a list that is short enough to be read as a whole.
type Paging struct {
	After string `query:"after" maxLength:"200" doc:"Continue after this: the next of the previous page"`
	Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"1000" doc:"At most this many"`
}

// Page returns the selected part of a list, and the after of the next part; "" if there is
// none. The key gives each item its place, so that nothing is left out or comes
// twice when others are added or removed in between.
func Page[T any](in Paging, all []T, key func(T) string) (items []T, next string) {
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
