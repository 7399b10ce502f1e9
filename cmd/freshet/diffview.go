package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// A diffView prints diffs: as patches into a pipe, and for people on a screen.
type diffView struct {
	screen
	out io.Writer
}

// people reports whether somebody reads along: words are marked, and long lines
// are broken and taken apart.
func (v *diffView) people() bool { return v.width > 0 || bool(v.palette) }

// newDiffView returns a view on the output of a program.
func newDiffView(p *program) *diffView { return &diffView{p.screen(), p.out} }

// unified prints a whole diff.
func (v *diffView) unified(d client.Diff) {
	if d.Summary == "" && len(d.Hunks) == 0 && !d.Coarse {
		return
	}
	fmt.Fprintf(v.out, "%s\n%s\n", v.bold("--- "+versionName(d.Source, d.From)), v.bold("+++ "+versionName(d.Source, d.To)))
	if d.Coarse {
		fmt.Fprintln(v.out, "# "+harmless(d.Summary))
	}
	v.hunks(d.Hunks)
}

// versionName names a version in the head of a diff.
func versionName(id freshet.SourceID, n client.Version) string {
	return fmt.Sprintf("%s version %d\t%s", id, n.Number, n.SeenAt.Local().Format(time.DateTime))
}

// hunks prints the hunks of a diff.
func (v *diffView) hunks(hunks []client.Hunk) {
	for _, h := range hunks {
		fmt.Fprintln(v.out, v.cyan(fmt.Sprintf("@@ -%s +%s @@", extract.LineRange(h.OldStart, h.OldLines), extract.LineRange(h.NewStart, h.NewLines))))
		lines := h.Lines
		if v.people() {
			lines = withMoves(takenApart(lines))
		}
		for _, l := range lines {
			v.line(l)
		}
	}
}

// line prints one line of a hunk.
func (v *diffView) line(l client.Line) {
	switch l.Op {
	case skipped:
		fmt.Fprintln(v.out, v.dim(" "+l.Text))
		return
	case note:
		fmt.Fprintln(v.out, v.dim("# "+l.Text))
		return
	}
	for i, part := range folded(l.Text, max(0, v.width-1)) {
		sign := l.Op
		if i > 0 {
			sign = " "
		}
		fmt.Fprintln(v.out, v.painted(sign, l.Op, l.Text, part, l.Mark))
	}
	if l.Unended {
		fmt.Fprintln(v.out, `\ No newline at end of file`)
	}
}

// painted returns part of a line in the colour of what became of it, with the
// words that differ standing out.
func (v *diffView) painted(sign, op, text string, part [2]int, mark *client.Mark) string {
	code := map[string]string{"-": "31", "+": "32"}[op]
	if code == "" {
		return sign + harmless(text[part[0]:part[1]])
	}
	from, to := part[1], part[1] // no mark
	if mark != nil {
		from, to = min(max(mark.From, part[0]), part[1]), min(max(mark.To, part[0]), part[1])
	}
	strong := ""
	if from < to {
		strong = v.paint(code+";7", harmless(text[from:to]))
	}
	return v.paint(code, sign+harmless(text[part[0]:from])) + strong + v.paint(code, harmless(text[to:part[1]]))
}

// folded returns where to break a line so that its parts fit into so many columns;
// zero means nowhere. It breaks between words, and within one only if that is longer
// than a part: nothing of a diff is left out.
func folded(text string, most int) (parts [][2]int) {
	begin, gap, wide := 0, 0, 0 // gap is after the last blank of this part
	for i, r := range text {
		n := columnsOfRune(r)
		// What moves to a new part with its word can still be too long with a wide rune.
		for most > 0 && i > begin && wide+n > most {
			end := i
			if gap > begin {
				end = gap
			}
			parts = append(parts, [2]int{begin, end})
			begin, wide = end, columns(text[end:i])
		}
		wide += n
		if r == ' ' {
			gap = i + 1
		}
	}
	return append(parts, [2]int{begin, len(text)})
}

// diffOf returns a delta as the API tells it.
func diffOf(d extract.Delta) (hunks []client.Hunk) {
	for _, h := range d.Hunks {
		told := client.Hunk{OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines}
		for _, l := range h.Lines {
			told.Lines = append(told.Lines, client.Line{Op: string(l.Op), Old: l.Old, New: l.New, Text: l.Text, Unended: l.Unended, Mark: (*client.Mark)(l.Mark), Moved: l.Moved})
		}
		hunks = append(hunks, told)
	}
	return hunks
}

// longLine is how many bytes a line has that is compared by its sentences.
const longLine = 500

// skipped is the Op of a line that stands for parts that were left out.
const skipped = "…"

// note is the Op of a line that says something about those after it.
const note = "#"

// takenApart returns the lines of a hunk in which long lines that were changed are
// replaced by the sentences of them that were: a small edit of a long line is then
// small to read.
func takenApart(lines []client.Line) (apart []client.Line) {
	for i := 0; i < len(lines); {
		removed := runOf(lines[i:], "-")
		added := runOf(lines[i+removed:], "+")
		old, new := lines[i:i+removed], lines[i+removed:i+removed+added]
		if removed > 0 && added > 0 && (longest(old) > longLine || longest(new) > longLine) {
			apart = append(apart, bySentence(old, new)...)
			i += removed + added
			continue
		}
		if l := lines[i]; l.Op == " " && len(l.Text) > longLine { // there only to say where we are
			l.Text = shortenEnd(l.Text, longLine/4)
			apart = append(apart, l)
			i++
			continue
		}
		n := max(1, removed+added)
		apart = append(apart, lines[i:i+n]...)
		i += n
	}
	return apart
}

// withMoves returns lines with a note before each block that was moved.
func withMoves(lines []client.Line) (noted []client.Line) {
	last := client.Line{}
	for _, l := range lines {
		if l.Moved > 0 && (l.Op != last.Op || l.Moved != last.Moved+1) {
			where := "to"
			if l.Op == "+" {
				where = "from"
			}
			noted = append(noted, client.Line{Op: note, Text: fmt.Sprintf("moved %s line %d", where, l.Moved)})
		}
		noted, last = append(noted, l), l
	}
	return noted
}

// runOf returns how many lines at the start have an op.
func runOf(lines []client.Line, op string) (n int) {
	for n < len(lines) && lines[n].Op == op {
		n++
	}
	return n
}

func longest(lines []client.Line) (n int) {
	for _, l := range lines {
		n = max(n, len(l.Text))
	}
	return n
}

// bySentence compares two runs of lines by their sentences.
func bySentence(old, new []client.Line) (lines []client.Line) {
	delta := extract.Diff([]byte(sentences(old)), []byte(sentences(new)))
	if delta.Coarse {
		return append(append(lines, old...), new...)
	}
	for i, h := range diffOf(delta) {
		if i > 0 || h.OldStart > 1 || h.NewStart > 1 {
			lines = append(lines, client.Line{Op: skipped, Text: "…"})
		}
		for _, l := range h.Lines {
			l.Unended = false // of a sentence, which says nothing
			lines = append(lines, l)
		}
	}
	return append(lines, client.Line{Op: skipped, Text: "…"})
}

// sentences returns lines with each sentence, or each element of markup, on a line
// of its own.
func sentences(lines []client.Line) string {
	var b strings.Builder
	for _, l := range lines {
		text := l.Text
		for len(text) > 0 {
			n := sentence(text)
			b.WriteString(strings.TrimSpace(text[:n]) + "\n")
			text = text[n:]
		}
	}
	return b.String()
}

// sentence returns how long the first sentence or element of a text is.
func sentence(text string) int {
	for i := 1; i < len(text); i++ {
		switch end := text[i-1]; {
		case end == '>', end == '}', text[i] == '<', strings.IndexByte("{[,", end) >= 0 && text[i] == '"',
			text[i] == ' ' && strings.IndexByte(".!?;,:", end) >= 0 && i > 20,
			text[i] == ' ' && i > 200:
			return i
		}
	}
	return len(text)
}
