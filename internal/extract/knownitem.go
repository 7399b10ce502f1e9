package extract

import (
	"bytes"
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
	maxNames      = 500 // of values, from which on those that are not used are forgotten
	mostSaidBytes = 100 // of a value that is remembered as it is
	maxMemory     = 8 << 20
)

// A knownItem is an item as it is remembered.
type knownItem struct {
	key  string
	rest []byte // its title and its values, in the order of their names
}

// title returns the title of an item.
func (k knownItem) title() string { return binenc.NewReader(k.rest).String(len(k.rest)) }

// mention returns an item as changes list one that is gone or back.
func (k knownItem) mention() freshet.ItemMention {
	return freshet.ItemMention{Key: strings.Clone(k.key), Title: k.title()}
}

// appendValues appends the values of an item.
func (k knownItem) appendValues(all knownValues, names []string) knownValues {
	r, whole := binenc.NewReader(k.rest), string(k.rest)
	r.Bytes(r.Uvarint())
	for range r.Count(maxMemory, 2) {
		head := r.Uvarint()
		if r.Require(head>>2 < uint64(len(names))); r.Err() != nil {
			return all[:0]
		}
		v := knownValue{name: names[head>>2], kind: valueKind(head & 3)}
		switch v.kind {
		case textualValue:
			text := r.Bytes(r.Uvarint())
			end := len(whole) - r.Len()
			v.text = whole[end-len(text) : end]
		case truthValue:
			v.bits = uint64(r.Byte())
		default:
			v.bits = r.Uint64()
		}
		all = append(all, v)
	}
	return all
}

// An itemWriter writes items as a memory keeps them.
type itemWriter struct {
	old     *ItemMemory
	renamed bool // the names are not those of the old memory with more behind them
	names   []string
	places  map[string]uint64 // of names
	order   []uint64          // the places of the names of the last item, one after the other
	values  knownValues       // of the item that is being written
	before  knownValues       // of the item that it is compared with
	written binenc.Writer
}

// writer returns one that adds new names to those that the memory has. If those are many, it starts with none, since
// most may be of items that are gone.
func (m *ItemMemory) writer() *itemWriter {
	w := &itemWriter{old: m, names: m.names, places: make(map[string]uint64, len(m.names))}
	if len(m.names) > maxNames {
		w.names, w.renamed = nil, true
	}
	for i, name := range w.names {
		w.places[name] = uint64(i)
	}
	size := 0
	for _, k := range m.items {
		size += len(k.rest)
	}
	w.written = make(binenc.Writer, 0, size+size/8)
	return w
}

// item returns an item as it is remembered.
func (w *itemWriter) item(items Items, i int, say bool) knownItem {
	from := len(w.written)
	w.values = items.appendValues(w.values[:0], i, say)
	w.written.String(oneLine(items.title(i), maxKnownTitle))
	w.written.Uvarint(uint64(len(w.values)))
	for i := range w.values {
		v := &w.values[i]
		v.name = w.name(i, v.name)
		w.written.Uvarint(w.order[i]<<2 | uint64(v.kind))
		switch v.kind {
		case textualValue:
			w.written.String(v.text)
		case truthValue:
			w.written.Byte(byte(v.bits))
		default:
			w.written.Uint64(v.bits)
		}
	}
	return knownItem{items.key(i), w.written[from:len(w.written):len(w.written)]}
}

// name notes the place of the name of a value of the item that is being written, and returns the name as it is kept.
func (w *itemWriter) name(i int, name string) string {
	if i == len(w.order) {
		w.order = append(w.order, 0)
	}
	if place := w.order[i]; place < uint64(len(w.names)) && w.names[place] == name { // mostly
		return w.names[place]
	}
	place, known := w.places[name]
	if !known {
		name, place = strings.Clone(name), uint64(len(w.names)) // the names outlive the document
		w.places[name] = place
		w.names = append(w.names, name)
	}
	w.order[i] = place
	return w.names[place]
}

// differing returns which values differ between an old item and the one that was written last, by name.
func (w *itemWriter) differing(old, now knownItem) []string {
	if !w.renamed && bytes.Equal(old.rest, now.rest) {
		return nil
	}
	w.before = old.appendValues(w.before[:0], w.old.names)
	return w.before.differing(w.values)
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
			return knownNumber(name, v)
		}
	case bool:
		if say {
			return knownValue{name: name, kind: truthValue, bits: bitOf(v)}
		}
	}
	return knownText(name, textOf(v), say)
}

func knownNumber(name string, v float64) knownValue {
	return knownValue{name: name, kind: numberValue, bits: math.Float64bits(v)}
}

func knownText(name, text string, say bool) knownValue {
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
	add := func(name string) {
		if names == nil {
			names = make([]string, 0, max(len(all), len(now))) // of the rest, several may differ
		}
		names = append(names, name)
	}
	for len(all) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(all) > 0 && all[0].name < now[0].name:
			add(all[0].name)
			all = all[1:]
		case len(all) == 0 || now[0].name < all[0].name:
			add(now[0].name)
			now = now[1:]
		default:
			if !all[0].equals(now[0]) {
				add(now[0].name)
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
		is.text = strings.Clone(is.text) // which shares the memory of the document
		if from, to := all.find(name).said(), is.said(); from != nil || to != nil {
			if changes == nil {
				changes = make([]freshet.FieldChange, 0, len(names))
			}
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

// MarshalBinary returns the memory as it is stored.
func (m *ItemMemory) MarshalBinary() []byte {
	size := 32 + 8*len(m.seen)
	for _, k := range m.items {
		size += len(k.key) + len(k.rest) + 6
	}
	w := make(binenc.Writer, 0, size)
	w.Uvarint(uint64(len(m.seen)))
	for _, h := range m.seen {
		w.Uint64(h)
	}
	w.Uvarint(uint64(len(m.names)))
	for _, name := range m.names {
		w.String(name)
	}
	w.Uvarint(uint64(len(m.items)))
	for _, k := range m.items {
		w.String(k.key)
		w.Uvarint(uint64(len(k.rest)))
		w.Raw(k.rest)
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
	read.names = make([]string, r.Count(maxMemory, 1))
	for i := range read.names {
		read.names[i] = r.String(maxMemory)
	}
	read.items = make([]knownItem, r.Count(maxMemory, 2))
	whole := string(data) // which all keys share
	for i := range read.items {
		key := r.Bytes(r.Uvarint())
		end := len(data) - r.Len()
		read.items[i] = knownItem{whole[end-len(key) : end], r.Bytes(r.Uvarint())}
	}
	if err := r.Close(); err != nil {
		return err
	}
	*m = read
	return nil
}
