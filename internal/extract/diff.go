package extract

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"znkr.io/diff"

	"freshet/internal/freshet"
)

// Bounds on what is compared line by line.
const (
	maxDiff      = 2 << 20 // bytes of each text
	maxDiffLines = 200_000 // of both texts together
	fastDiff     = 20_000  // more lines than this need not give the smallest diff
	diffContext  = 3       // unchanged lines around a change
)

// An Op says what became of a line.
type Op string

// What can become of a line.
const (
	Keep   Op = " " // in both texts
	Remove Op = "-" // only in the old one
	Add    Op = "+" // only in the new one
)

// A Line is a line of a diff. Old and New are its numbers in the two texts,
// from 1; zero where it is not there.
type Line struct {
	Op   Op
	Old  int
	New  int
	Text string // without its newline

	// Unended is set if the line is the last of its text and has no newline.
	Unended bool

	// Mark is set if the line was changed only in part.
	Mark *Mark

	// Moved is set if the line belongs to a block that is elsewhere in the other
	// text: its number there.
	Moved int
}

// A Hunk is a run of changed lines with the unchanged lines around them. The
// line numbers count from 1.
type Hunk struct {
	OldStart int
	OldLines int
	NewStart int
	NewLines int
	Lines    []Line
}

// A Delta is the step from one text to another.
type Delta struct {
	Hunks   []Hunk
	Added   int // lines
	Removed int // lines
	Moved   int // lines that are both added and removed, in blocks that are the same

	// Coarse is set if the texts are too large to compare line by line: one
	// has replaced the other, all lines were removed and all lines added, and
	// there are no hunks.
	Coarse bool

	// Details are what became of named values and items. Diff does not know them;
	// what is written of the delta says them first.
	Details freshet.Details
}

// Diff compares two texts by lines. It takes bounded time; see Delta.Coarse.
func Diff(old, new []byte) Delta {
	if bytes.Equal(old, new) {
		return Delta{}
	}
	n, m := countLines(old), countLines(new)
	if len(old) > maxDiff || len(new) > maxDiff || n+m > maxDiffLines {
		return Delta{Added: m, Removed: n, Coarse: true}
	}
	opts := []diff.Option{diff.Context(diffContext)}
	if n+m > fastDiff {
		opts = append(opts, diff.Fast())
	}
	var d Delta
	before, after := frame(old, new)
	skipped := bytes.Count(old[:before], []byte("\n"))
	old, new = old[before:len(old)-after], new[before:len(new)-after]
	lines := pairLines(old, new)
	for _, h := range diff.Hunks(lines.ids[0], lines.ids[1], opts...) {
		hunk := Hunk{
			OldStart: skipped + h.PosX + 1, OldLines: h.EndX - h.PosX,
			NewStart: skipped + h.PosY + 1, NewLines: h.EndY - h.PosY,
			Lines: make([]Line, 0, len(h.Edits)),
		}
		was, is := lines.passage(0, h.PosX, h.EndX), lines.passage(1, h.PosY, h.EndY)
		for _, e := range h.Edits {
			x, y := skipped+e.PosX+1, skipped+e.PosY+1
			switch e.Op {
			case diff.Match:
				hunk.add(Keep, x, y, was.line(e.PosX))
			case diff.Delete:
				d.Removed++
				hunk.add(Remove, x, 0, was.line(e.PosX))
			case diff.Insert:
				d.Added++
				hunk.add(Add, 0, y, is.line(e.PosY))
			}
		}
		hunk.mark()
		d.Hunks = append(d.Hunks, hunk)
	}
	d.findMoved()
	return d
}

func (h *Hunk) add(op Op, old, new int, line string) {
	text, ended := strings.CutSuffix(line, "\n")
	h.Lines = append(h.Lines, Line{Op: op, Old: old, New: new, Text: text, Unended: !ended})
}

func countLines(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// summaryLength is the longest summary, in runes.
const summaryLength = 120

// Summary says in a few words and one line what changed, and shows the first
// line that says something.
func (d Delta) Summary() string {
	if d.Coarse {
		return fmt.Sprintf("replaced, %s -> %s", plural(d.Removed), plural(d.Added))
	}
	var counts []string
	if d.Added > 0 {
		counts = append(counts, fmt.Sprintf("+%d", d.Added))
	}
	if d.Removed > 0 {
		counts = append(counts, fmt.Sprintf("-%d", d.Removed))
	}
	if len(counts) == 0 {
		return ""
	}
	unit := " lines"
	if d.Added <= 1 && d.Removed <= 1 {
		unit = " line"
	}
	s := strings.Join(counts, " ") + unit
	if d.Moved > 0 {
		s += fmt.Sprintf(", %d moved", d.Moved)
	}
	if line := d.telling(); line != "" {
		s += ": " + line
	}
	return oneLine(s, summaryLength)
}

func plural(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// KeptBytes returns how many bytes of the old text are in lines that were kept.
func (d Delta) KeptBytes(old []byte) int {
	if d.Coarse {
		return 0
	}
	n := len(old)
	for l := range d.changed() {
		if l.Op == Remove {
			n -= len(l.Text)
			if !l.Unended {
				n--
			}
		}
	}
	return n
}

// telling returns the first added line with a letter or digit in it or, if
// there is none, the first such line that was removed. A line of JSON that has
// only gained or lost its comma tells nothing.
func (d Delta) telling() string {
	if line, ok := d.tellingOf(Add, Remove); ok {
		return line
	}
	line, _ := d.tellingOf(Remove, Add)
	return line
}

// tellingOf returns the first such line of one side that the other side does not have.
func (d Delta) tellingOf(side, other Op) (string, bool) {
	var has map[string]bool // what the other side has
	for l := range d.changed() {
		bare := strings.TrimSuffix(l.Text, ",")
		if l.Op != side || !strings.ContainsFunc(bare, isTelling) {
			continue
		}
		if has == nil {
			has = map[string]bool{}
			for l := range d.changed() {
				if l.Op == other {
					has[strings.TrimSuffix(l.Text, ",")] = true
				}
			}
		}
		if !has[bare] {
			return l.around(), true
		}
	}
	return "", false
}

// around returns what a line says around its mark: all of it, unless the mark lies
// so far in that a summary would not show it.
func (l Line) around() string {
	const before = 30 // bytes of what comes before the mark
	if l.Mark == nil || l.Mark.From < summaryLength/2 {
		return l.Text
	}
	from := l.Mark.From - before
	for from > 0 && inWord(l.Text, from) {
		from--
	}
	return "… " + strings.TrimSpace(l.Text[from:])
}

// changed yields the lines that were added or removed.
func (d Delta) changed() iter.Seq[*Line] {
	return func(yield func(*Line) bool) {
		for _, h := range d.Hunks {
			for i := range h.Lines {
				if l := &h.Lines[i]; l.Op != Keep && !yield(l) {
					return
				}
			}
		}
	}
}

func isTelling(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Unified returns the delta as a unified diff, as diff -u and git write it. It
// is empty if nothing changed. Details come before it, where programs that read such
// a diff pass over them.
func (d Delta) Unified(oldName, newName string) string {
	var b strings.Builder
	d.writeNotes(&b)
	if d.Coarse {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n# %s\n", oldName, newName, d.Summary())
		return b.String()
	}
	for i, h := range d.Hunks {
		if i == 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", oldName, newName)
		}
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", LineRange(h.OldStart, h.OldLines), LineRange(h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			b.WriteString(string(l.Op))
			b.WriteString(l.Text)
			b.WriteByte('\n')
			if l.Unended {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

// maxNotes is how many items of one kind a written delta names.
const maxNotes = 50

// writeNotes writes the details, a line each.
func (d Delta) writeNotes(b *strings.Builder) {
	for _, n := range d.Details.Notes(maxNotes) {
		fmt.Fprintf(b, "# %s\n", n)
	}
}

// LineRange writes a range of lines as unified diffs do: an empty one is named by
// the line before it.
func LineRange(start, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", start-1)
	case 1:
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, n)
}
