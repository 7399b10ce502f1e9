package sqlite

import (
	"cmp"
	"math"
	"strings"

	"github.com/klauspost/compress/s2"

	"freshet/internal/binenc"
	"freshet/internal/search"
	"freshet/internal/store"
)

// A block is passages of a source that were added together. They share a row of the index of words, because
// a row costs more than the words in it, and those that a page replaces together end in one row.
//
// The ID of a passage is that of its block and its place in it.
type block struct {
	id, source int64
	passages   []indexedPassage
	stored     bool // it has rows already
}

// An indexedPassage is a passage in a block. One that was forgotten keeps its place, and has no words.
type indexedPassage struct {
	search.Run
	sum   uint64
	words int64
	text  string // its words, with a space between them; known of blocks that are written for the first time
}

const (
	blockBits = 6
	mostAt    = 1 << blockBits // passages in a block
	mostWords = 1 << 24        // in a passage
	mostText  = 1 << 28        // bytes of the texts of a block
)

// idOf returns the ID of a passage of a block.
func (b *block) idOf(place int) int64 { return b.id<<blockBits | int64(place) }

// encode returns the passages as they are stored, without their texts.
func (b *block) encode() []byte {
	w := make(binenc.Writer, 0, 16*len(b.passages))
	w.Uvarint(uint64(len(b.passages)))
	var last search.Run
	for _, p := range b.passages {
		w.Uint64(p.sum)
		w.Uvarint(uint64(p.words))
		w.Varint(p.From - last.From)
		w.Varint(p.Since - last.Since)
		ended := p.To != search.Open
		w.Bool(ended)
		if ended {
			w.Varint(p.To - last.To)
			w.Varint(p.Until - last.Until)
			last.To, last.Until = p.To, p.Until
		}
		last.From, last.Since = p.From, p.Since
	}
	return w
}

// decode reads what encode returned.
func (b *block) decode(data []byte) error {
	r := binenc.NewReader(data)
	b.stored, b.passages = true, make([]indexedPassage, r.Count(mostAt, 12))
	var last search.Run
	for i := range b.passages {
		p := &b.passages[i]
		p.sum, p.words = r.Uint64(), int64(r.UvarintMax(mostWords))
		last.From, last.Since = last.From+r.Varint(), last.Since+r.Varint()
		p.Run = search.Run{From: last.From, Since: last.Since, To: search.Open, Until: search.Open}
		if r.Bool() {
			last.To, last.Until = last.To+r.Varint(), last.Until+r.Varint()
			p.To, p.Until = last.To, last.Until
		}
	}
	if r.Close() != nil {
		return store.ErrStaleIndex
	}
	return nil
}

// text returns the texts of all passages, a line each.
func (b *block) text() string {
	lines := make([]string, len(b.passages))
	for i, p := range b.passages {
		lines[i] = p.text
	}
	return strings.Join(lines, "\n")
}

// readTexts sets the texts of the passages from a row.
func (b *block) readTexts(packed []byte) error {
	if n, err := s2.DecodedLen(packed); err != nil || n > mostText {
		return store.ErrStaleIndex
	}
	text, err := s2.Decode(nil, packed)
	if err != nil {
		return store.ErrStaleIndex
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != len(b.passages) {
		return store.ErrStaleIndex
	}
	for i, line := range lines {
		b.passages[i].text = line
	}
	return nil
}

// firstEnd returns the version before which the first of the passages ended that have words; ok is false if none has.
func (b *block) firstEnd() (first int64, ok bool) {
	for _, p := range b.passages {
		if p.words > 0 && p.To != search.Open {
			first, ok = min(cmp.Or(first, p.To), p.To), true
		}
	}
	return first, ok
}

// forgetBefore forgets the passages that ended before a version, and reports whether some are left.
func (b *block) forgetBefore(first int64) (left bool) {
	for i := range b.passages {
		if p := &b.passages[i]; p.To <= first {
			p.words, p.text = 0, ""
		}
		left = left || b.passages[i].words > 0
	}
	return left
}

// A collection is what all passages in an index add up to.
type collection struct{ passages, words int64 }

// add adds the passages of a block so often.
func (c *collection) add(b *block, times int64) {
	for _, p := range b.passages {
		if p.words > 0 {
			c.passages += times
		}
		c.words += times * p.words
	}
}

// A scorer ranks the passages that have a phrase by BM25, with the constants of FTS5.
type scorer struct {
	collection
	found []store.Passage
	often []float64 // the phrase in each
	words []float64
}

// add takes the passages of a block that have a phrase, the newest first, up to so many of all blocks.
func (s *scorer) add(b *block, phrase string, most int) {
	for i := len(b.passages) - 1; i >= 0 && len(s.found) < most; i-- {
		p := b.passages[i]
		n := count(" "+p.text+" ", phrase)
		if n == 0 {
			continue
		}
		s.found = append(s.found, store.Passage{Run: p.Run, ID: b.idOf(i), Source: b.source, Sum: p.sum})
		s.often, s.words = append(s.often, float64(n)), append(s.words, float64(p.words))
	}
}

// count returns how often a text has a phrase, which begins with a space. The space behind one can be that before the next.
func count(text, phrase string) (n int) {
	for i := strings.Index(text, phrase); i >= 0; i = strings.Index(text, phrase) {
		text = text[i+len(phrase)-1:]
		n++
	}
	return n
}

// ranked returns the passages with their ranks.
func (s *scorer) ranked() []store.Passage {
	const k, b, least = 1.2, .75, 1e-6
	have, all := float64(len(s.found)), float64(s.passages)
	rare := max(least, math.Log((all-have+.5)/(have+.5)))
	usual := float64(s.collection.words) / max(1, all)
	for i := range s.found {
		f := s.often[i]
		s.found[i].Rank = -rare * f * (k + 1) / (f + k*(1-b+b*s.words[i]/usual))
	}
	return s.found
}
