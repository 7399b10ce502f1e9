package extract

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

const (
	maxSeen     = 20_000 // keys of items that a source had once
	maxTold     = 50     // items of each kind that a change tells of
	maxToldText = 500    // runes of the text of an item that is told
	maxMemory   = 8 << 20
)

// An ItemMemory is which items a source has, and which it has ever had: an item that
// comes back is not new. The zero ItemMemory knows none.
type ItemMemory struct {
	items []knownItem // of the newest version
	seen  []uint64    // hashes of keys, the oldest first
}

// A knownItem is an item as it is remembered: by its key, and by hashes of its
// values.
type knownItem struct {
	Key    string            `json:"k"`
	Title  string            `json:"t,omitempty"`
	Values map[string]uint64 `json:"v,omitempty"`
	Said   map[string]any    `json:"s,omitempty"` // short values as they are, of the first items
}

// How much of what items say is remembered as it is, so that a change can tell what it was.
const (
	mostSaid      = 500 // items
	mostSaidBytes = 100 // of a value
)

// say remembers short values as they are.
func (k *knownItem) say(item freshet.Item) {
	k.Said = map[string]any{}
	for name, v := range valuesOf(item) {
		if s, ok := v.(string); !ok && v != nil || ok && s != "" && len(s) <= mostSaidBytes {
			k.Said[name] = v
		}
	}
}

// valuesOf returns what an item says: texts, numbers, true or false. A list is a text.
func valuesOf(item freshet.Item) map[string]any {
	all := map[string]any{"title": item.Title, "link": item.Link, "date": item.Date, "text": item.Text}
	for name, v := range item.Fields {
		switch v := v.(type) {
		case float64, bool, string:
			all[name] = v
		case nil:
		default:
			all[name] = textOf(v)
		}
	}
	return all
}

// valueChanges returns what values of an item were and are. Long ones are left out.
func valueChanges(old knownItem, now freshet.Item, names []string) (changes []freshet.FieldChange) {
	values := valuesOf(now)
	for _, name := range names {
		from, to := old.Said[name], values[name]
		if s, ok := to.(string); ok && (s == "" || len(s) > mostSaidBytes) {
			if to = nil; s != "" {
				continue
			}
		}
		if from != nil || to != nil {
			changes = append(changes, freshet.FieldChange{Name: name, From: from, To: to})
		}
	}
	return changes
}

func remembered(item freshet.Item) knownItem {
	k := knownItem{Key: item.Key, Title: oneLine(item.Title, 100), Values: map[string]uint64{}}
	for name, v := range map[string]string{"title": item.Title, "link": item.Link, "date": item.Date, "text": item.Text} {
		if v != "" {
			k.Values[name] = xxhash.Sum64String(v)
		}
	}
	for name, v := range item.Fields {
		k.Values[name] = xxhash.Sum64String(textOf(v))
	}
	return k
}

// Compare takes over the items of a new version, and returns how they differ from
// those before; nil if they do not.
func (m *ItemMemory) Compare(items []freshet.Item) *freshet.ItemChanges {
	before := make(map[string]knownItem, len(m.items))
	for _, k := range m.items {
		before[k.Key] = k
	}
	seen := make(map[uint64]bool, len(m.seen))
	for _, h := range m.seen {
		seen[h] = true
	}
	var c freshet.ItemChanges
	now := make([]knownItem, 0, len(items))
	for _, item := range items {
		k := remembered(item)
		if len(now) < mostSaid {
			k.say(item)
		}
		now = append(now, k)
		old, there := before[k.Key]
		delete(before, k.Key)
		hash := xxhash.Sum64String(k.Key)
		switch {
		case there:
			if names := differing(old.Values, k.Values); len(names) > 0 {
				c.UpdatedCount++
				c.Updated = appendSome(c.Updated, freshet.ItemChange{Key: k.Key, Title: k.Title, Fields: names, Values: valueChanges(old, item, names)})
			}
		case seen[hash]:
			c.BackCount++
			c.Back = appendSome(c.Back, freshet.ItemMention{Key: k.Key, Title: k.Title})
		default:
			c.AddedCount++
			c.Added = appendSome(c.Added, told(item))
		}
		if !seen[hash] {
			seen[hash] = true
			m.seen = append(m.seen, hash)
		}
	}
	for _, k := range m.items {
		if _, gone := before[k.Key]; gone {
			c.GoneCount++
			c.Gone = appendSome(c.Gone, freshet.ItemMention{Key: k.Key, Title: k.Title})
		}
	}
	m.items, m.seen = now, m.seen[max(0, len(m.seen)-maxSeen):]
	if c.AddedCount+c.UpdatedCount+c.GoneCount+c.BackCount == 0 {
		return nil
	}
	return shortened(&c)
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

// ItemValuesThatDiffer returns which values of an item are other than before, by name.
func ItemValuesThatDiffer(before, now freshet.Item) []string {
	return differing(remembered(before).Values, remembered(now).Values)
}

// differing returns the names of the values that differ.
func differing(a, b map[string]uint64) (names []string) {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]uint64{}
	}
	maps.Copy(all, b)
	for name := range all {
		x, inA := a[name]
		y, inB := b[name]
		if x != y || inA != inB {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// told returns an item as a change tells of it, its texts cut.
func told(item freshet.Item) freshet.Item {
	item.Text = oneLine(item.Text, maxToldText)
	if len(item.Fields) == 0 {
		return item
	}
	fields := freshet.Fields{}
	for _, name := range slices.Sorted(maps.Keys(item.Fields))[:min(len(item.Fields), 30)] {
		v := item.Fields[name]
		if s, ok := v.(string); ok {
			v = oneLine(s, maxToldText)
		}
		fields[name] = v
	}
	item.Fields = fields
	return item
}

// itemMemoryVersion is that of the layout; another one begins again.
const itemMemoryVersion = 1

// MarshalBinary returns the memory as it is stored.
func (m *ItemMemory) MarshalBinary() []byte {
	out := bytes.NewBuffer([]byte{itemMemoryVersion})
	w, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	binary.Write(w, binary.LittleEndian, uint32(len(m.seen))) // into memory, which takes all
	binary.Write(w, binary.LittleEndian, m.seen)
	if err := json.NewEncoder(w).Encode(m.items); err != nil {
		panic(err) // of texts and numbers
	}
	w.Close()
	return out.Bytes()
}

// UnmarshalBinary reads what MarshalBinary returned. Nothing is the zero memory.
func (m *ItemMemory) UnmarshalBinary(b []byte) error {
	*m = ItemMemory{}
	if len(b) == 0 {
		return nil
	}
	if b[0] != itemMemoryVersion {
		return errors.New("a memory of items in another layout")
	}
	r := io.LimitReader(flate.NewReader(bytes.NewReader(b[1:])), maxMemory)
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return err
	}
	if n > maxSeen {
		return errors.New("a memory of too many items")
	}
	seen := make([]uint64, n)
	if err := binary.Read(r, binary.LittleEndian, seen); err != nil {
		return err
	}
	var items []knownItem
	if err := json.NewDecoder(r).Decode(&items); err != nil {
		return err
	}
	m.items, m.seen = items, seen
	return nil
}

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
	seen := map[string]bool{}
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
