package wrongpage

import (
	"bytes"
	"iter"
	"slices"
)

// cutShort reports whether the markup of a page breaks off, which it did not before.
func cutShort(p Page, past *Past) bool {
	if len(p.Body) == 0 || past.Body == nil || len(bytes.TrimSpace(p.Text)) >= len(bytes.TrimSpace(past.Text)) {
		return false
	}
	return !closes(p.Body) && closes(past.Body())
}

// closes reports whether markup ends as a document does.
func closes(body []byte) bool {
	tail := bytes.ToLower(body[max(0, len(body)-2048):])
	return bytes.Contains(tail, []byte("</html")) || bytes.Contains(tail, []byte("</body"))
}

// When a list counts as cut.
const (
	cutLines = 12  // that are missing at least
	cutShare = 0.5 // of all lines that are missing at least
	cutRest  = 3   // lines beside it that have stayed at least
	cutExtra = 2   // lines beside it that may differ, such as how many there are

	mostLines = 4 * mostText // bytes of lines that are looked at
)

// listCut reports whether a run of lines is gone from a text while what comes before
// it and after it has stayed.
func listCut(before, now []byte) bool {
	// Blank lines do not count, but mostly it shows with them that none are missing.
	most := bytes.Count(clip(before, mostLines), []byte("\n")) + 1
	if most < cutLines || moreLines(now, int((1-cutShare)*float64(most))) {
		return false
	}
	lines := countLines(before)
	if lost := lines - countLines(now); lost < cutLines || float64(lost) < cutShare*float64(lines) {
		return false
	}
	was, is := linesOf(before), linesOf(now)
	return stay(was, is) >= max(cutRest, len(is)-cutExtra)
}

// stay returns how many lines of a shorter text are those that a longer one begins
// and ends with, but for a few.
func stay(was, is [][]byte) (n int) {
	first, skipped := 0, 0
	for first < len(is) && skipped <= cutExtra {
		if !bytes.Equal(was[first], is[first]) {
			skipped++
		} else {
			n++
		}
		first++
	}
	if skipped > cutExtra { // the run of equal lines ended before the last of them
		for first > 0 && !bytes.Equal(was[first-1], is[first-1]) {
			first--
		}
	}
	for i := 1; len(is)-i >= first && bytes.Equal(was[len(was)-i], is[len(is)-i]); i++ {
		n++
	}
	return n
}

// linesOf returns the lines of a text that are not blank.
func linesOf(text []byte) [][]byte { return slices.Collect(eachLine(text)) }

// moreLines reports whether they are more than so many.
func moreLines(text []byte, most int) bool {
	n := 0
	for range eachLine(text) {
		if n++; n > most {
			return true
		}
	}
	return false
}

// countLines returns how many they are.
func countLines(text []byte) (n int) {
	for range eachLine(text) {
		n++
	}
	return n
}

func eachLine(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(clip(text, mostLines)) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}
