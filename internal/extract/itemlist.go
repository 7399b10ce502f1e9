package extract

import (
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// Items are the items of a document. Those of JSON stand in it as they were sent: most are the same in the next version,
// and nobody needs them decoded.
type Items struct {
	list []freshet.Item
	doc  *jsonDoc // nil if they are in the list
	at   []int32  // places of objects in the document
	keys []string
}

// ListOf returns items that are decoded.
func ListOf(list []freshet.Item) Items { return Items{list: list} }

// Len returns how many there are.
func (s Items) Len() int { return len(s.list) + len(s.at) }

// All returns the items decoded.
func (s Items) All() []freshet.Item {
	if s.doc == nil {
		return s.list
	}
	list := make([]freshet.Item, len(s.at))
	for i := range list {
		list[i] = s.item(i)
	}
	return list
}

// item returns one of them decoded.
func (s Items) item(i int) freshet.Item {
	if s.doc == nil {
		return s.list[i]
	}
	item := freshet.Item{Fields: freshet.Fields{}}
	if s.keys != nil {
		item.Key = s.keys[i]
	}
	for name, v := range s.doc.members(s.at[i]) {
		item.Fields[strings.Clone(s.doc.text(name))] = s.doc.bounded(v) // it is kept longer than the document
	}
	return item
}

// key returns what an item is known by.
func (s Items) key(i int) string {
	if s.doc == nil {
		return s.list[i].Key
	}
	return s.keys[i]
}

// title returns that of an item; objects have none.
func (s Items) title(i int) string {
	if s.doc == nil {
		return s.list[i].Title
	}
	return ""
}

// appendValues adds the values of an item as they are remembered, in the order of their names.
func (s Items) appendValues(all knownValues, i int, say bool) knownValues {
	if s.doc == nil {
		return all.appendItem(s.list[i], say)
	}
	from := len(all)
	for name, v := range s.doc.members(s.at[i]) {
		all = append(all, s.doc.known(s.doc.text(name), v, say))
	}
	slices.SortStableFunc(all[from:], func(a, b knownValue) int { return strings.Compare(a.name, b.name) })
	kept := from
	for i := range all[from:] { // of values with one name, the last counts
		if last := from + i; last+1 == len(all) || all[last+1].name != all[last].name {
			all[kept] = all[last]
			kept++
		}
	}
	return all[:kept]
}
