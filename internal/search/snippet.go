package search

import (
	"strings"
	"unicode/utf8"
)

// Snippet returns the part of a text around its first mark, about so many bytes long,
// with the marks that lie in it. Dots say where something was left out.
func Snippet(text string, marks [][2]int, most int) (string, [][2]int) {
	from, to := 0, len(text)
	if len(text) > most {
		if len(marks) > 0 {
			from = max(0, marks[0][0]-most/3)
		}
		to = min(len(text), from+most)
		from = max(0, min(from, to-most))
		from, to = atWord(text, from), atWord(text, to)
	}
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(text) {
		after = "…"
	}
	var kept [][2]int
	for _, m := range marks {
		if m[0] >= from && m[1] <= to {
			shift := len(before) - from
			kept = append(kept, [2]int{m[0] + shift, m[1] + shift})
		}
	}
	return before + text[from:to] + after, kept
}

// atWord returns a place near another where a word can begin.
func atWord(text string, at int) int {
	if at == 0 || at == len(text) {
		return at
	}
	if i := strings.LastIndexByte(text[max(0, at-30):at], ' '); i >= 0 {
		return max(0, at-30) + i + 1
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
