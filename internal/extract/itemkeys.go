package extract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// keyNames are what the key of an item is mostly called.
var keyNames = []string{"id", "key", "guid", "uuid", "uid", "_id", "url", "link", "href", "slug", "sku", "code", "name", "title"}

// keyed gives keys to items that have none: by the first field that tells all of
// them apart, of those that are called like a key or that come in order.
func keyed(list []freshet.Item, order []string) []freshet.Item {
	if !slices.ContainsFunc(list, func(i freshet.Item) bool { return i.Key == "" }) {
		return uniqueKeys(list)
	}
	var names []string
	if len(list) > 0 {
		for _, known := range keyNames {
			for name := range list[0].Fields {
				if strings.EqualFold(name, known) {
					names = append(names, name)
				}
			}
		}
	}
	for _, name := range append(names, order...) {
		if tellsApart(list, name) {
			for i := range list {
				list[i].Key = oneLine(textOf(list[i].Fields[name]), 500)
			}
			return list
		}
	}
	for i := range list {
		if list[i].Key == "" {
			list[i].Key = ownKey(list[i])
		}
	}
	return uniqueKeys(list)
}

// tellsApart reports whether each item has another value in a field.
func tellsApart(list []freshet.Item, name string) bool {
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		v := textOf(item.Fields[name])
		if v == "" || seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}

// ownKey returns what an item is known by that nothing else names.
func ownKey(item freshet.Item) string {
	switch {
	case item.Link != "":
		return item.Link
	case item.Title != "":
		return item.Title
	case item.Text != "":
		return oneLine(item.Text, 500)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(item.Fields)) {
		all = append(all, textOf(item.Fields[name]))
	}
	return oneLine(strings.Join(all, " | "), 500)
}

// uniqueKeys numbers the keys that occur more than once.
func uniqueKeys(list []freshet.Item) []freshet.Item {
	seen := map[string]int{}
	for i := range list {
		key := list[i].Key
		if seen[key]++; seen[key] > 1 {
			list[i].Key = fmt.Sprintf("%s #%d", key, seen[key])
		}
	}
	return list
}
