package noise

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cespare/xxhash/v2"
)

// What is looked at of a step. More than this is no noise, and not worth the time.
const (
	mostLines = 200_000 // of a text
	mostMoved = 10_000  // lines of a text, some of which come and go, whose order is looked at without those
	mostLoose = 2_000   // lines that are only in one of two texts
	longLine  = 2_000   // bytes of a line that are looked at
	mostBytes = 1 << 16 // of those lines together
)

// A difference is how two texts differ, as sets of lines.
type difference struct {
	lines  int // of the new text
	moved  bool
	pairs  []pair
	loose  []line
	coarse bool // too much differs to be looked at

	turned map[uint64]bool // what replaced returns, once it was called
	labels map[string]bool // likewise for revalues
}

// A line is one that only one of two texts has.
type line struct {
	text   string
	hash   uint64
	before uint64 // the hash of the nearest line before it that both texts have, and that is not known to come and go
	prior  string // the line before it in its text
	next   string // and the one after it
	added  bool
	copied bool // the other text has the line too, only less often
	tokens []token
	shape  uint64 // the hash of the line without its tokens
	near   uint64 // the hash of the nearest line before it that both texts have, whatever it is
	under  bool   // it stands below a caption of advertisements or the like, which is what before names then
}

// A pair is a line that stayed, but for some tokens.
type pair struct {
	old, new line
	key      uint64 // of the line without its tokens
	differ   []int  // which tokens
}

// compare returns how two texts differ. Known reports whether a line has come and gone before.
func compare(old, new []byte, known func(uint64) bool) difference {
	a, b := split(old), split(new)
	d := difference{lines: len(b)}
	if len(a) > mostLines || len(b) > mostLines {
		d.coarse = true
		return d
	}
	ha, hb := hashes(a), hashes(b)
	na, nb := counts(ha), counts(hb)
	d.moved = !slices.Equal(settled(ha, na, nb), settled(hb, na, nb)) &&
		(len(b) > mostMoved || !slices.Equal(slices.DeleteFunc(settled(ha, na, nb), known), slices.DeleteFunc(settled(hb, na, nb), known)))
	gone := surplus(a, ha, na, nb, known)
	come := surplus(b, hb, nb, na, known)
	if len(gone)+len(come) > mostLoose || size(gone)+size(come) > mostBytes {
		d.coarse = true
		return d
	}
	for i := range come {
		come[i].added = true
	}
	d.match(gone, come)
	return d
}

func split(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func hashes(lines []string) []uint64 {
	h := make([]uint64, len(lines))
	for i, l := range lines {
		h[i] = xxhash.Sum64String(l)
	}
	return h
}

func counts(lines []uint64) map[uint64]int {
	n := make(map[uint64]int, len(lines))
	for _, h := range lines {
		n[h]++
	}
	return n
}

// settled returns the lines that both texts have equally often, in their order.
func settled(lines []uint64, a, b map[uint64]int) (kept []uint64) {
	for _, h := range lines {
		if a[h] == b[h] {
			kept = append(kept, h)
		}
	}
	return kept
}

// surplus returns the lines that a text has more often than the other one.
func surplus(lines []string, hashes []uint64, own, other map[uint64]int, known func(uint64) bool) (rest []line) {
	over := map[uint64]int{}
	both := -1 // the last line that both texts have
	captions := captions{lines: lines, at: -1}
	for i, h := range hashes {
		if own[h] <= other[h] {
			both = i
			continue
		}
		if over[h]++; over[h] > own[h]-other[h] {
			continue
		}
		l := line{text: lines[i], hash: h, copied: other[h] > 0}
		if both >= 0 {
			l.near, l.before = hashes[both], hashes[both]
		}
		if at := captions.above(i); at >= 0 {
			l.before, l.under = hashes[at], true
		} else if both >= 0 {
			for k := both; k >= max(0, both-mostAbove); k-- {
				if own[hashes[k]] <= other[hashes[k]] && !known(hashes[k]) {
					l.before = hashes[k]
					break
				}
			}
		}
		if i > 0 {
			l.prior = cut(lines[i-1])
		}
		if i+1 < len(lines) {
			l.next = cut(lines[i+1])
		}
		rest = append(rest, l)
	}
	return rest
}

// size returns how many bytes of lines are looked at.
func size(lines []line) (n int) {
	for _, l := range lines {
		n += min(len(l.text), longLine)
	}
	return n
}

// match finds the lines that stayed but for some tokens, and those that stayed but
// for the order of their words.
func (d *difference) match(gone, come []line) {
	waiting := map[uint64][]int{}
	for i := range gone {
		gone[i].read()
		gone[i].shape = gone[i].key()
		waiting[gone[i].shape] = append(waiting[gone[i].shape], i)
	}
	taken := make([]bool, len(gone))
	for _, l := range come {
		l.read()
		l.shape = l.key()
		if w := waiting[l.shape]; len(w) > 0 {
			taken[w[0]], waiting[l.shape] = true, w[1:]
			d.pair(gone[w[0]], l, l.shape)
			continue
		}
		d.loose = append(d.loose, l)
	}
	left := map[uint64][]int{}
	for i, l := range gone {
		if !taken[i] && l.bag() != 0 {
			left[l.bag()] = append(left[l.bag()], i)
		}
	}
	added := d.loose
	d.loose = nil
	for _, l := range added {
		if w := left[l.bag()]; len(w) > 0 {
			taken[w[0]], left[l.bag()] = true, w[1:]
			d.moved = true
			continue
		}
		d.loose = append(d.loose, l)
	}
	for i, l := range gone {
		if !taken[i] {
			d.loose = append(d.loose, l)
		}
	}
}

// pair takes down which tokens of a line differ.
func (d *difference) pair(old, new line, key uint64) {
	p := pair{old: old, new: new, key: key}
	for i, t := range new.tokens {
		if old.token(i) != new.text[t.from:t.to] {
			p.differ = append(p.differ, i)
		}
	}
	d.pairs = append(d.pairs, p)
}

// cut returns the beginning of a line, which is what is looked at.
func cut(text string) string {
	if len(text) <= longLine {
		return text
	}
	return strings.ToValidUTF8(text[:longLine], "")
}

func (l line) token(i int) string { return l.text[l.tokens[i].from:l.tokens[i].to] }

// key returns the hash of a line without its tokens. A line without a word of its own
// goes by the one before it.
func (l line) key() uint64 {
	h := xxhash.New()
	at := 0
	for _, t := range l.tokens {
		h.WriteString(l.text[at:t.from])
		h.Write([]byte{0, byte(t.kind)})
		at = t.to
	}
	h.WriteString(l.text[at:])
	if l.wordless() {
		h.WriteString(strings.Map(lettersOnly, l.prior))
	}
	return h.Sum64()
}

func lettersOnly(r rune) rune {
	if unicode.IsLetter(r) {
		return r
	}
	return -1
}

// read finds the tokens of a line. What a number without a word counts is said by the
// lines around it.
func (l *line) read() {
	l.tokens = tokenize(cut(l.text))
	if !l.wordless() {
		return
	}
	const short = 40 // bytes of a caption; a longer line is about something else
	for i, t := range l.tokens {
		if t.kind == Number && (len(l.prior) <= short && counterWords.in(l.prior) || len(l.next) <= short && counterWords.in(l.next)) {
			l.tokens[i].kind = Counter
		}
	}
}

// isStamp reports whether a line says when the page was made.
func (l line) isStamp() bool {
	return stampWords.in(l.text) || l.wordless() && stampWords.in(l.prior)
}

// wordless reports whether there are no letters in a line but those of its tokens.
func (l line) wordless() bool {
	at := 0
	for _, t := range l.tokens {
		if strings.ContainsFunc(l.text[at:t.from], unicode.IsLetter) {
			return false
		}
		at = t.to
	}
	return !strings.ContainsFunc(l.text[at:], unicode.IsLetter)
}

// pattern returns a line with the kinds of its tokens in the place of those that
// differ.
func (l line) pattern(differ []int) string {
	var b strings.Builder
	at := 0
	for _, i := range differ {
		t := l.tokens[i]
		b.WriteString(l.text[at:t.from])
		b.WriteString(t.stand(l.text[t.from:t.to]))
		at = t.to
	}
	b.WriteString(l.text[at:])
	return b.String()
}

// around returns the line as it is now, with the kind of one token in its place, and of
// all that may differ too. Of a long line it returns only what stands next to it.
func (p pair) around(i int) string {
	var b strings.Builder
	l, at, from, to := p.new, 0, 0, 0
	for k, t := range l.tokens {
		b.WriteString(l.text[at:t.from])
		if k == i {
			from = b.Len()
		}
		switch {
		case slices.Contains(p.differ, k), t.kind == Age, t.kind == Time, t.kind == Date, t.kind == ID:
			b.WriteString(t.stand(l.text[t.from:t.to]))
		default:
			b.WriteString(l.text[t.from:t.to])
		}
		if at = t.to; k == i {
			to = b.Len()
		}
	}
	b.WriteString(l.text[at:])
	const near = 28 // bytes
	text := b.String()
	before, after := text[:from], text[to:]
	if len(before) > near {
		before = before[len(before)-near:]
		if _, rest, found := strings.Cut(before, " "); found && rest != "" {
			before = rest
		}
		before = "…" + strings.ToValidUTF8(before, "")
	}
	if len(after) > near {
		after = after[:near]
		if end := strings.LastIndexByte(after, ' '); end > 0 {
			after = after[:end]
		}
		after = strings.ToValidUTF8(after, "") + "…"
	}
	return before + text[from:to] + after
}

// bag returns the hash of the words of a line in any order.
func (l line) bag() (sum uint64) {
	for word := range strings.FieldsFuncSeq(l.text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		sum += xxhash.Sum64String(word)
	}
	return sum
}
