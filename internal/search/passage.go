package search

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// How long a passage is. A line of more than the usual length is divided at the ends of
// sentences, and one without sentences at any word.
const (
	leastPassage = 40
	usualPassage = 400
	mostPassage  = 2000
)

// Passages yields the passages of a text: its lines, without those that have no words.
// Long lines are divided where sentences end, so that what is put in somewhere changes
// only the passages around it.
func Passages(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			for line != "" {
				n := cut(line)
				if piece := strings.TrimSpace(line[:n]); strings.ContainsFunc(piece, part) && !yield(piece) {
					return
				}
				line = line[n:]
			}
		}
	}
}

// cut returns where the first passage of a line ends.
func cut(line string) int {
	if len(line) <= usualPassage {
		return len(line)
	}
	end := min(len(line), mostPassage)
	for i := leastPassage; i+1 < end; i++ {
		if c := line[i]; (c == '.' || c == '!' || c == '?') && line[i+1] == ' ' {
			return i + 1
		}
		if strings.HasPrefix(line[i:], "。") {
			return i + len("。")
		}
	}
	if end == len(line) {
		return end
	}
	if i := strings.LastIndexByte(line[:end], ' '); i > 0 {
		return i
	}
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return end
}
