package extract

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// itemsOf returns the items of a value: the objects of a list, or of the one list that an object has. It finds the same
// items as [itemsOf] does in the decoded document, and decodes none of them.
func (d *jsonDoc) itemsOf(at int32) Items {
	if d.starts(at, '{') {
		if at = d.onlyList(at); at == 0 {
			return Items{} // one object is a document, not a list
		}
	}
	if !d.starts(at, '[') {
		return Items{}
	}
	all := Items{doc: d}
	for i := range d.elements(at) {
		if len(all.at) == maxItems {
			break
		}
		if !d.starts(i, '{') {
			return Items{}
		}
		if all.at == nil { // most items have as many values as the first
			all.at = make([]int32, 0, min(maxItems, 1+(d.values[at].next-i)/(d.values[i].next-i)))
		}
		all.at = append(all.at, i)
	}
	if len(all.at) == 0 {
		return Items{}
	}
	if !all.findKeys() {
		all.keys = nil
		return ListOf(keyed(all.All(), nil))
	}
	return all
}

// findKeys finds the field that tells the items apart, as [keyed] does, and reports whether there is one.
func (s *Items) findKeys() bool {
	s.keys = make([]string, len(s.at))
	for _, known := range keyNames {
		for name := range s.doc.members(s.at[0]) {
			if name := s.doc.text(name); strings.EqualFold(name, known) && s.keysBy(name) {
				return true
			}
		}
	}
	return false
}

// keysBy takes the values of a field for keys, and reports whether they tell the items apart.
func (s *Items) keysBy(field string) bool {
	seen := make(map[string]struct{}, len(s.at))
	for i, at := range s.at {
		value := ""
		for name, v := range s.doc.members(at) {
			if s.doc.text(name) == field {
				value = s.doc.line(v)
			}
		}
		if seen[value] = struct{}{}; value == "" || len(seen) == i {
			return false
		}
		s.keys[i] = oneLine(value, 500)
	}
	return true
}

// starts reports whether the value at a place begins with c.
func (d *jsonDoc) starts(at int32, c byte) bool { return d.src[d.values[at].start] == c }

// elements yields the places of the values of a list, or of the names of an object.
func (d *jsonDoc) elements(at int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := at + 1; i < d.values[at].next; i = d.values[i].next {
			if !yield(i) {
				return
			}
		}
	}
}

// members yields the places of the names of an object and of their values.
func (d *jsonDoc) members(at int32) iter.Seq2[int32, int32] {
	return func(yield func(name, value int32) bool) {
		for i := range d.elements(at) {
			if !yield(i, i+1) {
				return
			}
		}
	}
}

// onlyList returns the place of the list that [onlyList] finds; 0 means none. Of members with one name the last counts.
func (d *jsonDoc) onlyList(at int32) (found int32) {
	lists := map[string]int32{} // all that are not empty, and 0 for other values
	for name, v := range d.members(at) {
		place := int32(0)
		if d.starts(v, '[') && d.values[v].next > v+1 {
			place = v
		}
		lists[d.text(name)] = place
	}
	for _, name := range listNames {
		if v := lists[name]; v != 0 {
			return v
		}
	}
	for _, v := range lists {
		if v == 0 || !d.starts(v+1, '{') {
			continue
		}
		if found != 0 {
			return 0
		}
		found = v
	}
	return found
}

// text returns a name or a string. All of them share the memory of the document.
func (d *jsonDoc) text(at int32) string {
	quoted := d.raw(at)
	if bytes.IndexByte(quoted, '\\') < 0 {
		return d.source()[d.values[at].start+1 : d.values[at].end-1]
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		panic("a string that was parsed is not one")
	}
	return s
}

// source returns the document as a string.
func (d *jsonDoc) source() string {
	if d.whole == "" {
		d.whole = string(d.src)
	}
	return d.whole
}

// raw returns a value as it is written.
func (d *jsonDoc) raw(at int32) []byte { return d.src[d.values[at].start:d.values[at].end] }

// bounded returns a value as a field keeps it.
func (d *jsonDoc) bounded(at int32) any {
	raw := d.raw(at)
	switch raw[0] {
	case '"':
		return oneLine(d.text(at), maxCell)
	case '{', '[':
		values, err := parseValues(raw)
		if err != nil || len(values) != 1 {
			panic("a value that was parsed is not one")
		}
		return bounded(values[0])
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return f
	}
	return string(raw)
}

// line returns a value in one line, as [textOf] returns what a field keeps of it.
func (d *jsonDoc) line(at int32) string {
	const exact = 15 // digits of a whole number, which are written as they are
	switch raw := d.raw(at); {
	case raw[0] == '"':
		return oneLine(d.text(at), maxCell)
	case len(raw) <= exact && len(bytes.Trim(raw, "0123456789")) == 0:
		return d.source()[d.values[at].start:d.values[at].end]
	}
	return textOf(d.bounded(at))
}

// known returns a value as a memory of items keeps what a field keeps of it.
func (d *jsonDoc) known(name string, at int32, say bool) knownValue {
	raw := d.raw(at)
	switch {
	case raw[0] == '"':
		return knownText(name, oneLine(d.text(at), maxCell), say)
	case say && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
			return knownNumber(name, f)
		}
	}
	return knownValueOf(name, d.bounded(at), say)
}
