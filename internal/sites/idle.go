package sites

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// When a parameter is idle.
const (
	fewestVotes  = 20 // other values that brought the same text
	idleInShapes = 3  // shapes after which it is idle in all
)

// vote compares a page with others whose URL differs in one parameter only. If such
// pages say the same, the parameter makes no other page: it is a session, or says where
// a visitor came from.
func (t *Traps) vote(a *address, s *shape, text Text) {
	for _, p := range a.params {
		if q := s.parameter(p.name); q != nil && !q.idle && !a.pages(p) && !runs(p) {
			t.compare(a, s, q, p.value, text)
		}
	}
	for _, q := range s.params {
		if !q.idle && !a.has(q.name) && q.name[0] != '/' {
			t.compare(a, s, q, "", text)
		}
	}
}

// runs reports whether a parameter is a date. Other rules are for those: most days of a
// calendar look alike, and yet something happens on some.
func runs(p param) bool {
	name := strings.ToLower(p.name)
	_, _, ok := readDate(p.value, dateName(name))
	return ok || number(p.value) && (dateName(name) || strings.Contains(name, "year") || name == "y")
}

func (t *Traps) compare(a *address, s *shape, q *parameter, value string, text Text) {
	now := witness{value: uint32(xxhash.Sum64String(value)), exact: uint32(text.exact), loose: uint32(text.loose)}
	before, known := t.witnesses.remember(a.without(q.name), now)
	if !known || before.value == now.value {
		return
	}
	// Two things may differ in their numbers alone. What is drawn at random names none.
	if before.exact == now.exact || token(value) && before.loose == now.loose {
		q.same++
	} else {
		q.differ++
	}
	if q.same >= fewestVotes && q.same >= 19*q.differ {
		q.idle = true
		if t.idle == nil {
			t.idle = map[string]int{}
		}
		if q.name[0] != '/' {
			t.idle[q.name]++
		}
		s.told, s.same, s.fresh = 0, 0, 0 // the pages were the same because of the parameter
	}
}

// Clean returns a URL without the parameters that were found to make no other page. A
// segment of the path that makes none is replaced by the first one that was seen there.
func (t *Traps) Clean(url string) string {
	if len(t.idle) == 0 && !strings.ContainsAny(url, "0123456789") {
		return url
	}
	a := readAddress(url)
	s := t.shapes[a.key()]
	clean, changed := make([]string, 0, len(a.params)), false
	for _, p := range a.params {
		switch {
		case !t.idles(s, p.name):
			if !p.inPath() {
				clean = append(clean, p.written)
			}
		case p.inPath():
			q := s.find(p.name)
			changed = changed || q.first != p.value
			a.segments[p.name[1]-'a'] = q.first
		default:
			changed = true
		}
	}
	if !changed {
		return url
	}
	t.cut(Session, "a part of the URL makes no other page; it is left out", &a)
	url = a.origin + "/" + strings.Join(a.segments, "/")
	if len(clean) > 0 {
		url += "?" + strings.Join(clean, "&")
	}
	return url
}

// idles reports whether a parameter makes no other page in a shape.
func (t *Traps) idles(s *shape, name string) bool {
	if s != nil {
		if q := s.find(name); q != nil {
			if q.idle {
				return true
			}
			if q.differ > q.same || name[0] == '/' {
				return false
			}
		}
	}
	return t.idle[name] >= idleInShapes
}
