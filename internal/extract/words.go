package extract

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"znkr.io/diff"
)

// maxWords bounds the words of both texts that are compared one by one.
const maxWords = 50_000

// A Span is a piece of text and what became of it.
type Span struct {
	Op   Op     `json:"op"`
	Text string `json:"text"`
}

// Words compares two texts word by word. The pieces that were kept or removed make up
// the old text, those that were kept or added the new one. Texts of very many words are
// not compared: one has replaced the other.
func Words(old, new string) (spans []Span) {
	if old == new {
		return join(nil, Keep, old)
	}
	a, b := tokens(old, maxWords), tokens(new, maxWords)
	if a == nil || b == nil || len(a)+len(b) > maxWords {
		return join(join(nil, Remove, old), Add, new)
	}
	var opts []diff.Option
	if len(a)+len(b) > fastDiff {
		opts = append(opts, diff.Fast())
	}
	var kept, removed, added strings.Builder
	settle := func(b *strings.Builder, op Op) {
		spans = join(spans, op, b.String())
		b.Reset()
	}
	for _, e := range diff.Edits(a, b, opts...) {
		switch {
		case e.Op == diff.Match && isBlank(e.X) && removed.Len() > 0 && added.Len() > 0:
			// A blank between two words that changed is no island.
			removed.WriteString(e.X)
			added.WriteString(e.X)
		case e.Op == diff.Match:
			settle(&removed, Remove)
			settle(&added, Add)
			kept.WriteString(e.X)
		case e.Op == diff.Delete:
			settle(&kept, Keep)
			removed.WriteString(e.X)
		case e.Op == diff.Insert:
			settle(&kept, Keep)
			added.WriteString(e.Y)
		}
	}
	settle(&kept, Keep)
	settle(&removed, Remove)
	settle(&added, Add)
	return tidy(spans)
}

// join adds a piece to spans, to the last one if that is of its kind.
func join(spans []Span, op Op, text string) []Span {
	if text == "" {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1].Op == op {
		spans[n-1].Text += text
		return spans
	}
	return append(spans, Span{op, text})
}

// tidy gives a blank that both a removed piece and the added piece after it end with
// back to what was kept.
func tidy(spans []Span) (out []Span) {
	for i := 0; i < len(spans); i++ {
		if i+1 < len(spans) && spans[i].Op == Remove && spans[i+1].Op == Add {
			a, b := spans[i].Text, spans[i+1].Text
			n := len(a) - len(strings.TrimRightFunc(a, unicode.IsSpace))
			m := len(b) - len(strings.TrimRightFunc(b, unicode.IsSpace))
			if n == m && a[len(a)-n:] == b[len(b)-n:] {
				out = join(join(out, Remove, a[:len(a)-n]), Add, b[:len(b)-n])
				out = join(out, Keep, a[len(a)-n:])
				i++
				continue
			}
		}
		out = join(out, spans[i].Op, spans[i].Text)
	}
	return out
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" && !strings.Contains(s, "\n") }

// tokens returns a text as words, blanks, line ends and single signs; nil if there are
// more than so many.
func tokens(s string, most int) []string {
	list := []string{}
	for len(s) > 0 {
		if len(list) == most {
			return nil
		}
		n := tokenLength(s)
		list = append(list, s[:n])
		s = s[n:]
	}
	return list
}

// tokenLength returns how long the first token of a text is.
func tokenLength(s string) int {
	first, n := utf8.DecodeRuneInString(s)
	same := func(r rune) bool { return false }
	switch {
	case isWord(first):
		same = isWord
	case first != '\n' && unicode.IsSpace(first):
		same = func(r rune) bool { return r != '\n' && unicode.IsSpace(r) }
	}
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !same(r) {
			break
		}
		n += size
	}
	return n
}

// WordDiff returns the delta word by word, as git does with --word-diff: what was
// removed is in [-these-], and what was added in {+these+}.
func (d Delta) WordDiff(oldName, newName string) string {
	var b strings.Builder
	d.writeNotes(&b)
	if d.Coarse || len(d.Hunks) > 0 {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
	}
	if d.Coarse {
		fmt.Fprintf(&b, "# %s\n", d.Summary())
	}
	for _, h := range d.Hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", LineRange(h.OldStart, h.OldLines), LineRange(h.NewStart, h.NewLines))
		for _, s := range h.Words() {
			b.WriteString(s.bracketed())
		}
	}
	return b.String()
}

// bracketed returns a piece in the brackets of what became of it, line by line.
func (s Span) bracketed() string {
	brackets := map[Op][2]string{Keep: {"", ""}, Remove: {"[-", "-]"}, Add: {"{+", "+}"}}[s.Op]
	var b strings.Builder
	for line := range strings.Lines(s.Text) {
		text, ended := strings.CutSuffix(line, "\n")
		if text != "" || !ended {
			b.WriteString(brackets[0] + text + brackets[1])
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Words returns a hunk word by word: lines that were replaced by others are compared
// with them, and each piece ends where a line does at the latest.
func (h Hunk) Words() (spans []Span) {
	text := func(lines []Line) string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l.Text + "\n")
		}
		return b.String()
	}
	for i := 0; i < len(h.Lines); {
		removed := run(h.Lines[i:], Remove)
		added := run(h.Lines[i+removed:], Add)
		if removed+added == 0 {
			spans = join(spans, Keep, text(h.Lines[i:i+1]))
			i++
			continue
		}
		for _, s := range Words(text(h.Lines[i:i+removed]), text(h.Lines[i+removed:i+removed+added])) {
			spans = join(spans, s.Op, s.Text)
		}
		i += removed + added
	}
	return spans
}
