package extract

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
)

const (
	maxKnownTitle = 100 // runes
	mostSaidBytes = 100 // of a value that is remembered as it is
	maxMemory     = 8 << 20
)

// A knownItem is an item as it is remembered. Its values are in the order of their names.
type knownItem struct {
	key, title string
	values     knownValues
}

// A knownValue is a value of an item: as it is if it is short, else by a hash of its text.
type knownValue struct {
	name string
	kind valueKind
	text string
	bits uint64 // the hash, or those of the number; 1 for true
}

// A valueKind is how a value is remembered.
type valueKind byte

const (
	hashedValue valueKind = iota
	textualValue
	numberValue
	truthValue
)

// knownValues are the values of an item, or of several one after the other.
type knownValues []knownValue

// appendItem adds the values of an item: those that all items can have, and its fields, which come first if they have
// the same name. A list is a text. Unless say is set, all are hashed.
func (all knownValues) appendItem(item freshet.Item, say bool) knownValues {
	from := len(all)
	for name, v := range item.Fields {
		all = append(all, knownValueOf(name, v, say))
	}
	for _, own := range [...]struct{ name, text string }{{"title", item.Title}, {"link", item.Link}, {"date", item.Date}, {"text", item.Text}} {
		if _, field := item.Fields[own.name]; own.text != "" && !field {
			all = append(all, knownValueOf(own.name, own.text, say))
		}
	}
	slices.SortFunc(all[from:], func(a, b knownValue) int { return strings.Compare(a.name, b.name) })
	return all
}

func knownValueOf(name string, v any, say bool) knownValue {
	switch v := v.(type) {
	case float64:
		if say {
			return knownValue{name: name, kind: numberValue, bits: math.Float64bits(v)}
		}
	case bool:
		if say {
			return knownValue{name: name, kind: truthValue, bits: bitOf(v)}
		}
	}
	text := textOf(v)
	if say && len(text) <= mostSaidBytes {
		return knownValue{name: name, kind: textualValue, text: text}
	}
	return knownValue{name: name, bits: xxhash.Sum64String(text)}
}

func bitOf(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// said returns the value as it is; nil if it is empty or was too long to be remembered.
func (v knownValue) said() any {
	switch {
	case v.kind == textualValue && v.text != "":
		return v.text
	case v.kind == numberValue:
		return math.Float64frombits(v.bits)
	case v.kind == truthValue:
		return v.bits == 1
	}
	return nil
}

// equals reports whether two values have the same text.
func (v knownValue) equals(w knownValue) bool {
	if v.kind == w.kind {
		return v.bits == w.bits && v.text == w.text
	}
	return v.hash() == w.hash()
}

// hash returns the hash of the text of a value.
func (v knownValue) hash() uint64 {
	switch v.kind {
	case hashedValue:
		return v.bits
	case textualValue:
		return xxhash.Sum64String(v.text)
	}
	return xxhash.Sum64String(textOf(v.said()))
}

// find returns the value with a name.
func (all knownValues) find(name string) knownValue {
	i, found := slices.BinarySearchFunc(all, name, func(v knownValue, name string) int { return strings.Compare(v.name, name) })
	if !found {
		return knownValue{}
	}
	return all[i]
}

// differing returns the names of the values that differ, in order.
func (all knownValues) differing(now knownValues) (names []string) {
	for len(all) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(all) > 0 && all[0].name < now[0].name:
			names, all = append(names, all[0].name), all[1:]
		case len(all) == 0 || now[0].name < all[0].name:
			names, now = append(names, now[0].name), now[1:]
		default:
			if !all[0].equals(now[0]) {
				names = append(names, now[0].name)
			}
			all, now = all[1:], now[1:]
		}
	}
	return names
}

// changes returns what the named values were and are. Those that are long now are left out.
func (all knownValues) changes(now knownValues, names []string) (changes []freshet.FieldChange) {
	for _, name := range names {
		is := now.find(name)
		if is.name != "" && is.kind == hashedValue {
			continue
		}
		if from, to := all.find(name).said(), is.said(); from != nil || to != nil {
			changes = append(changes, freshet.FieldChange{Name: name, From: from, To: to})
		}
	}
	return changes
}

// ItemValuesThatDiffer returns which values of an item are other than before, by name.
func ItemValuesThatDiffer(before, now freshet.Item) []string {
	return knownValues{}.appendItem(before, true).differing(knownValues{}.appendItem(now, true))
}

// itemMemoryVersion is that of the layout; another one begins again.
const itemMemoryVersion = 2

// MarshalBinary returns the memory as it is stored. Names of values are written once, in a table.
func (m *ItemMemory) MarshalBinary() []byte {
	var w binenc.Writer
	w.Uvarint(uint64(len(m.seen)))
	for _, h := range m.seen {
		w.Uint64(h)
	}
	var names []string
	places := map[string]uint64{}
	for _, k := range m.items {
		for _, v := range k.values {
			if _, known := places[v.name]; !known {
				places[v.name] = uint64(len(names))
				names = append(names, v.name)
			}
		}
	}
	w.Uvarint(uint64(len(names)))
	for _, name := range names {
		w.String(name)
	}
	w.Uvarint(uint64(len(m.items)))
	for _, k := range m.items {
		w.String(k.key)
		w.String(k.title)
		w.Uvarint(uint64(len(k.values)))
		for _, v := range k.values {
			w.Uvarint(places[v.name]<<2 | uint64(v.kind))
			switch v.kind {
			case textualValue:
				w.String(v.text)
			case truthValue:
				w.Byte(byte(v.bits))
			default:
				w.Uint64(v.bits)
			}
		}
	}
	packed := make([]byte, 1+max(0, s2.MaxEncodedLen(len(w))))
	packed[0] = itemMemoryVersion
	return packed[:1+len(s2.Encode(packed[1:], w))]
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
	if n, err := s2.DecodedLen(b[1:]); err != nil || n > maxMemory {
		return binenc.ErrMalformed
	}
	data, err := s2.Decode(nil, b[1:])
	if err != nil {
		return err
	}
	r := binenc.NewReader(data)
	read := ItemMemory{seen: make([]uint64, r.Count(maxSeen, 8))}
	for i := range read.seen {
		read.seen[i] = r.Uint64()
	}
	names := make([]string, r.Count(maxMemory, 1))
	for i := range names {
		names[i] = r.String(maxMemory)
	}
	read.items = readItems(r, names)
	if err := r.Close(); err != nil {
		return err
	}
	*m = read
	return nil
}

// readItems reads the items of a memory. All texts are parts of one string.
func readItems(r *binenc.Reader, names []string) []knownItem {
	all := string(r.Rest())
	text := func() string {
		n := r.UvarintMax(uint64(r.Len()))
		at := len(all) - r.Len()
		if r.Bytes(n); r.Err() != nil {
			return ""
		}
		return all[at : at+int(n)]
	}
	items := make([]knownItem, 0, r.Count(maxMemory, 3))
	var values knownValues
	for range cap(items) {
		k := knownItem{key: text(), title: text()}
		from := len(values)
		for range r.Count(maxMemory, 2) {
			head := r.Uvarint()
			if r.Require(head>>2 < uint64(len(names))); r.Err() != nil {
				return nil
			}
			v := knownValue{name: names[head>>2], kind: valueKind(head & 3)}
			switch v.kind {
			case textualValue:
				v.text = text()
			case truthValue:
				v.bits = uint64(r.Byte())
			default:
				v.bits = r.Uint64()
			}
			values = append(values, v)
		}
		k.values = values[from:len(values):len(values)]
		items = append(items, k)
	}
	return items
}
