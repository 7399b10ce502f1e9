package extract

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

const (
	maxSeen     = 20_000 // keys of items that a source had once
	maxTold     = 50     // items of each kind that a change lists
	maxToldText = 500    // runes of the text of an item in a change
	mostSaid    = 500    // items whose short values are remembered as they are
)

// An ItemMemory is which items a source has, and which it has ever had: an item that
// comes back is not new. The zero ItemMemory knows none.
//
// Items are kept as they are stored, and most of them are the same in the next version: then they are compared
// without being decoded.
type ItemMemory struct {
	names []string    // of values
	items []knownItem // of the newest version
	seen  []uint64    // hashes of keys, the oldest first
}

// Compare takes over the items of a new version, and returns how they differ from
// those before; nil if they do not.
func (m *ItemMemory) Compare(items Items) *freshet.ItemChanges {
	var c freshet.ItemChanges
	known := knownKeys{list: &m.seen}
	before := itemFinding{items: m.items}
	now := make([]knownItem, 0, items.Len())
	w := m.writer()
	for i := range items.Len() {
		k := w.item(items, i, i < mostSaid)
		now = append(now, k)
		if was, there := before.take(k.key); there {
			names := w.differing(was, k)
			if len(names) == 0 {
				continue
			}
			if c.UpdatedCount++; c.UpdatedCount <= maxTold {
				c.Updated = append(c.Updated, freshet.ItemChange{Key: strings.Clone(k.key), Title: k.title(), Fields: names, Values: w.before.changes(w.values, names)})
			}
			continue
		}
		if known.add(k.key) {
			if c.AddedCount++; c.AddedCount <= maxTold {
				c.Added = append(c.Added, told(items.item(i)))
			}
		} else {
			c.BackCount++
			c.Back = appendSome(c.Back, k.mention())
		}
	}
	for k := range before.left() {
		known.add(k.key)
		c.GoneCount++
		c.Gone = appendSome(c.Gone, k.mention())
	}
	m.names, m.items, m.seen = w.names, now, m.seen[max(0, len(m.seen)-maxSeen):]
	if c.AddedCount+c.UpdatedCount+c.GoneCount+c.BackCount == 0 {
		return nil
	}
	return shortened(&c)
}

// An itemFinding finds items by their keys, each once. Most stand behind the one that was found before.
type itemFinding struct {
	items []knownItem
	taken []bool
	count int            // of those taken
	next  int            // behind the last one taken
	place map[string]int // of all items; nil until one stands elsewhere
}

// take returns the item with a key, if it is there and was not taken yet.
func (f *itemFinding) take(key string) (knownItem, bool) {
	if f.taken == nil {
		f.taken = make([]bool, len(f.items))
	}
	at := f.next
	if at == len(f.items) || f.items[at].key != key || f.taken[at] {
		if f.place == nil {
			f.place = make(map[string]int, len(f.items))
			for i := range f.items {
				f.place[f.items[i].key] = i
			}
		}
		found := false
		if at, found = f.place[key]; !found || f.taken[at] {
			return knownItem{}, false
		}
	}
	f.taken[at], f.next = true, at+1
	f.count++
	return f.items[at], true
}

// left yields the items that were not taken.
func (f *itemFinding) left() iter.Seq[knownItem] {
	return func(yield func(knownItem) bool) {
		for i := range f.items {
			if f.count == len(f.items) || (f.taken == nil || !f.taken[i]) && !yield(f.items[i]) {
				return
			}
		}
	}
}

// knownKeys are the keys that a source ever had, by their hashes. Most versions have no new key, and do not ask.
type knownKeys struct {
	list *[]uint64
	set  map[uint64]struct{}
}

// add adds a key, and reports whether it is new.
func (k *knownKeys) add(key string) bool {
	if k.set == nil {
		k.set = make(map[uint64]struct{}, len(*k.list))
		for _, hash := range *k.list {
			k.set[hash] = struct{}{}
		}
	}
	hash := xxhash.Sum64String(key)
	if _, known := k.set[hash]; known {
		return false
	}
	k.set[hash] = struct{}{}
	*k.list = append(*k.list, hash)
	return true
}

// maxDetails is how many bytes of JSON a change may tell about items.
const maxDetails = 32 << 10

// shortened returns what a change tells about items, with less of each and then
// with fewer of them until it is short enough.
func shortened(c *freshet.ItemChanges) *freshet.ItemChanges {
	long := func() bool {
		b, err := json.Marshal(c)
		return err != nil || len(b) > maxDetails
	}
	if !long() {
		return c
	}
	for i := range c.Added {
		c.Added[i].Fields, c.Added[i].Text = nil, oneLine(c.Added[i].Text, 100)
	}
	for i := range c.Updated {
		c.Updated[i].Values = nil
	}
	for long() && len(c.Added)+len(c.Updated)+len(c.Gone)+len(c.Back) > 0 {
		c.Added, c.Updated = c.Added[:len(c.Added)/2], c.Updated[:len(c.Updated)/2]
		c.Gone, c.Back = c.Gone[:len(c.Gone)/2], c.Back[:len(c.Back)/2]
	}
	return c
}

func appendSome[T any](list []T, v T) []T {
	if len(list) >= maxTold {
		return list
	}
	return append(list, v)
}

// told returns an item as changes list it, its texts cut. It keeps nothing of the document alive that the item is
// a part of.
func told(item freshet.Item) freshet.Item {
	item.Key, item.Title, item.Link = strings.Clone(item.Key), strings.Clone(item.Title), strings.Clone(item.Link)
	item.Date, item.Text = strings.Clone(item.Date), strings.Clone(oneLine(item.Text, maxToldText))
	if len(item.Fields) == 0 {
		return item
	}
	fields := freshet.Fields{}
	for _, name := range slices.Sorted(maps.Keys(item.Fields))[:min(len(item.Fields), 30)] {
		v := item.Fields[name]
		if s, ok := v.(string); ok {
			v = strings.Clone(oneLine(s, maxToldText))
		}
		fields[name] = v
	}
	item.Fields = fields
	return item
}
