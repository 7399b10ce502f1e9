package extract

import "iter"

// A Tag is a tag of an HTML page, as it is written.
type Tag struct {
	End  bool   // an end tag
	Name []byte // in any case
	Src  []byte // all of it, from "<" to ">"
	rest []byte // what stands behind the name
}

// Attributes are the names and values of a start tag as they are written: in any case, with entities, and
// as often as they stand there. Of two with the same name the first counts.
func (t Tag) Attributes() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for a := (attributes{src: t.rest}); a.next(); {
			if !yield(a.key(), a.value()) {
				return
			}
		}
	}
}

// Tags are the tags of an HTML page that browsers without scripts and frames see, in the order of the page. A Tag
// is good until the next.
func Tags(page []byte) iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		for s := (scanner{src: page}); ; {
			kind := s.next()
			if kind == endOfPage {
				return
			}
			if kind == textToken {
				continue
			}
			if !yield(Tag{End: kind == endTag, Name: s.name(), Src: s.src[s.tok.at:s.tok.tail], rest: s.attrs()}) {
				return
			}
			if kind == startTag && !s.passRaw() {
				return
			}
		}
	}
}

// passRaw passes over the text of the element that has begun, if markup does not count in it. It reports
// whether the page goes on.
func (s *scanner) passRaw() bool {
	e := elementOf(s.name())
	switch {
	case e.name == "plaintext":
		return false
	case e.name == "noscript", e.name == "noframes", e.role == template, e.role == foreign:
	case e.name != "":
		s.raw(e.name)
	}
	return true
}
