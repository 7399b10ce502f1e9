package extract

import (
	"unicode"
	"unicode/utf8"
)

// A Mark is the part of a changed line, in bytes, that its counterpart in the
// other text does not have.
type Mark struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// mark finds in a hunk the runs of removed lines that are followed by as many
// added ones, and marks in each pair of lines what is different.
func (h *Hunk) mark() {
	for i := 0; i < len(h.Lines); {
		removed := run(h.Lines[i:], Remove)
		added := run(h.Lines[i+removed:], Add)
		if removed == added && removed > 0 {
			marks := make([][2]Mark, removed)
			for k := range removed {
				markPair(&h.Lines[i+k], &h.Lines[i+removed+k], &marks[k])
			}
		}
		i += max(removed+added, 1)
	}
}

// run returns how many lines at the start have op.
func run(lines []Line, op Op) (n int) {
	for n < len(lines) && lines[n].Op == op {
		n++
	}
	return n
}

// markPair marks what is different between two lines, in whole words, if they
// have enough in common for that to be of help.
func markPair(old, new *Line, marks *[2]Mark) {
	a, b := old.Text, new.Text
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	for start > 0 && (inWord(a, start) || inWord(b, start)) {
		start--
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-end-1] == b[len(b)-end-1] {
		end++
	}
	for end > 0 && (inWord(a, len(a)-end) || inWord(b, len(b)-end)) {
		end--
	}
	if 3*(start+end) < min(len(a), len(b)) || start+end == 0 {
		return
	}
	*marks = [2]Mark{{start, len(a) - end}, {start, len(b) - end}}
	old.Mark, new.Mark = &marks[0], &marks[1]
}

// inWord reports whether a cut of s at i would split a word or a rune.
func inWord(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if !utf8.RuneStart(s[i]) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return isWord(before) && isWord(after)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
