package display

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"freshet/client"
	"freshet/internal/cli"
	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// A DiffView prints diffs: as patches into a pipe, and for people on a screen.
type DiffView struct {
	Screen
	Out io.Writer
}

// people reports whether the output goes to a terminal: words are marked, and long lines
// are broken and taken apart.
func (v *DiffView) people() bool { return v.Width > 0 || bool(v.Palette) }

// Unified prints a whole diff.
func (v *DiffView) Unified(d client.Diff) {
	if d.Summary == "" && len(d.Hunks) == 0 && !d.Coarse {
		return
	}
	fmt.Fprintf(v.Out, "%s\n%s\n", v.Bold("--- "+versionName(d.Source, d.From)), v.Bold("+++ "+versionName(d.Source, d.To)))
	if d.Coarse {
		fmt.Fprintln(v.Out, "# "+cli.Harmless(d.Summary))
	}
	v.Hunks(d.Hunks)
}

// versionName names a version in the head of a diff.
func versionName(id freshet.SourceID, n client.Version) string {
	return fmt.Sprintf("%s version %d\t%s", id, n.Number, n.SeenAt.Local().Format(time.DateTime))
}

// Hunks prints the hunks of a diff.
func (v *DiffView) Hunks(hunks []client.Hunk) {
	for _, h := range hunks {
		fmt.Fprintln(v.Out, v.Cyan(fmt.Sprintf("@@ -%s +%s @@", extract.LineRange(h.OldStart, h.OldLines), extract.LineRange(h.NewStart, h.NewLines))))
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
func (v *DiffView) line(l client.Line) {
	switch l.Op {
	case skipped:
		fmt.Fprintln(v.Out, v.Dim(" "+l.Text))
		return
	case note:
		fmt.Fprintln(v.Out, v.Dim("# "+l.Text))
		return
	}
	for i, part := range folded(l.Text, max(0, v.Width-1)) {
		sign := l.Op
		if i > 0 {
			sign = " "
		}
		fmt.Fprintln(v.Out, v.painted(sign, l.Op, l.Text, part, l.Mark))
	}
	if l.Unended {
		fmt.Fprintln(v.Out, `\ No newline at end of file`)
	}
}

// painted returns part of a line in the colour of what became of it, with the
// words that differ standing out.
func (v *DiffView) painted(sign, op, text string, part [2]int, mark *client.Mark) string {
	code := map[string]string{"-": "31", "+": "32"}[op]
	if code == "" {
		return sign + cli.Harmless(text[part[0]:part[1]])
	}
	from, to := part[1], part[1] // no mark
	if mark != nil {
		from, to = min(max(mark.From, part[0]), part[1]), min(max(mark.To, part[0]), part[1])
	}
	strong := ""
	if from < to {
		strong = v.Paint(code+";7", cli.Harmless(text[from:to]))
	}
	return v.Paint(code, sign+cli.Harmless(text[part[0]:from])) + strong + v.Paint(code, cli.Harmless(text[to:part[1]]))
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
			begin, wide = end, Columns(text[end:i])
		}
		wide += n
		if r == ' ' {
			gap = i + 1
		}
	}
	return append(parts, [2]int{begin, len(text)})
}

// HunksOf converts a delta to the form of the API.
func HunksOf(d extract.Delta) (hunks []client.Hunk) {
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
			l.Text = ShortenEnd(l.Text, longLine/4)
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
	for i, h := range HunksOf(delta) {
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

// sidesWidth is how wide two texts side by side are if the screen has no limit.
const sidesWidth = 160

// A side is what one text has beside the other; nil is nothing.
type side *client.Line

// Sides prints a diff with the old text on the left and the new one on the right.
func (v *DiffView) Sides(d client.Diff) {
	if v.Width == 0 {
		v.Width = sidesWidth
	}
	wide := (v.Width - 3) / 2
	name := func(n client.Version) string {
		return Shorten(fmt.Sprintf("%s version %d, %s", d.Source, n.Number, n.SeenAt.Local().Format(time.DateTime)), wide)
	}
	v.row(v.Bold(name(d.From)), v.Bold(name(d.To)), wide)
	if d.Coarse {
		fmt.Fprintln(v.Out, cli.Harmless(d.Summary))
	}
	for _, h := range d.Hunks {
		fmt.Fprintln(v.Out, v.Cyan(fmt.Sprintf("lines %s and %s", extract.LineRange(h.OldStart, h.OldLines), extract.LineRange(h.NewStart, h.NewLines))))
		lines := takenApart(h.Lines)
		for i := 0; i < len(lines); {
			removed := runOf(lines[i:], "-")
			added := runOf(lines[i+removed:], "+")
			if removed+added == 0 {
				v.beside(&lines[i], &lines[i], wide)
				i++
				continue
			}
			for k := range max(removed, added) {
				var left, right side
				if k < removed {
					left = &lines[i+k]
				}
				if k < added {
					right = &lines[i+removed+k]
				}
				v.beside(left, right, wide)
			}
			i += removed + added
		}
	}
}

// beside prints a line of each text, one beside the other.
func (v *DiffView) beside(left, right side, wide int) {
	old, new := v.cells(left, wide), v.cells(right, wide)
	for i := range max(len(old), len(new)) {
		at := func(cells []string) string {
			if i < len(cells) {
				return cells[i]
			}
			return ""
		}
		v.row(at(old), at(new), wide)
	}
}

// cells returns a line broken into parts that fit one side.
func (v *DiffView) cells(l side, wide int) (cells []string) {
	if l == nil {
		return nil
	}
	if l.Op == skipped {
		return []string{v.Dim(" " + l.Text)}
	}
	for i, part := range folded(l.Text, wide-1) {
		sign := l.Op
		if i > 0 {
			sign = " "
		}
		cells = append(cells, v.painted(sign, l.Op, l.Text, part, l.Mark))
	}
	return cells
}

// row prints one row of both sides.
func (v *DiffView) row(left, right string, wide int) {
	fmt.Fprintln(v.Out, strings.TrimRight(Pad(left, wide)+" "+v.Dim("│")+" "+right, " "))
}

// Words prints a diff word by word: in colour where there is colour, and otherwise in
// brackets, as git does. On a screen, long stretches that are the same are left out.
func (v *DiffView) Words(d client.Diff) {
	if d.Summary == "" && len(d.Hunks) == 0 && !d.Coarse {
		return
	}
	fmt.Fprintf(v.Out, "%s\n%s\n", v.Bold("--- "+versionName(d.Source, d.From)), v.Bold("+++ "+versionName(d.Source, d.To)))
	if d.Coarse {
		fmt.Fprintln(v.Out, "# "+cli.Harmless(d.Summary))
	}
	for _, h := range d.Hunks {
		fmt.Fprintln(v.Out, v.Cyan(fmt.Sprintf("@@ -%s +%s @@", extract.LineRange(h.OldStart, h.OldLines), extract.LineRange(h.NewStart, h.NewLines))))
		for _, line := range linesOf(hunkOf(h).Words()) {
			v.wordLine(line)
		}
	}
}

// hunkOf returns a hunk as package extract knows it.
func hunkOf(h client.Hunk) (hunk extract.Hunk) {
	for _, l := range h.Lines {
		hunk.Lines = append(hunk.Lines, extract.Line{Op: extract.Op(l.Op), Text: l.Text})
	}
	return hunk
}

// linesOf cuts spans where their lines end.
func linesOf(spans []extract.Span) (lines [][]extract.Span) {
	var line []extract.Span
	for _, s := range spans {
		for text := range strings.Lines(s.Text) {
			part, ended := strings.CutSuffix(text, "\n")
			if part != "" {
				line = append(line, extract.Span{Op: s.Op, Text: part})
			}
			if ended {
				lines, line = append(lines, line), nil
			}
		}
	}
	if line != nil {
		lines = append(lines, line)
	}
	return lines
}

// wordLine prints the pieces of a line, broken between words to fit the screen.
func (v *DiffView) wordLine(line []extract.Span) {
	var text strings.Builder
	var ops []extract.Op // of each byte of text
	for i, s := range line {
		piece := cli.Harmless(v.abridged(s, i == 0, i == len(line)-1))
		if brackets := (map[extract.Op][2]string{extract.Remove: {"[-", "-]"}, extract.Add: {"{+", "+}"}})[s.Op]; !v.Palette {
			piece = brackets[0] + piece + brackets[1]
		}
		text.WriteString(piece)
		for range len(piece) {
			ops = append(ops, s.Op)
		}
	}
	for _, part := range folded(text.String(), v.Width) {
		fmt.Fprintln(v.Out, strings.TrimRight(v.wordsPainted(text.String(), ops, part), " "))
	}
}

// wordsPainted returns part of a line with each piece in its colour.
func (v *DiffView) wordsPainted(text string, ops []extract.Op, part [2]int) string {
	var b strings.Builder
	for from := part[0]; from < part[1]; {
		to := from
		for to < part[1] && ops[to] == ops[from] {
			to++
		}
		switch piece := text[from:to]; ops[from] {
		case extract.Remove:
			b.WriteString(v.Paint("31;9", piece))
		case extract.Add:
			b.WriteString(v.Paint("32;1", piece))
		default:
			b.WriteString(piece)
		}
		from = to
	}
	return b.String()
}

// abridged returns a piece as it is shown. On a screen, what is the same is cut to what
// is near to something that is not.
func (v *DiffView) abridged(s extract.Span, first, last bool) string {
	const near = 80 // bytes
	if s.Op != extract.Keep || !v.people() || len(s.Text) <= 4*near {
		return s.Text
	}
	head, tail := near, len(s.Text)-near
	if first {
		head = 0
	}
	if last {
		tail = len(s.Text)
	}
	if first && last { // a whole line, there only to say where we are
		head = near
	}
	for head > 0 && !utf8.RuneStart(s.Text[head]) {
		head--
	}
	for tail < len(s.Text) && !utf8.RuneStart(s.Text[tail]) {
		tail++
	}
	return s.Text[:head] + "…" + s.Text[tail:]
}

// diffItems is how many items of one kind a diff names.
const diffItems = 50

// Notes prints what became of named values and items: in colour for people, and else as
// lines that programs which read diffs pass over.
func (v *DiffView) Notes(d client.Diff) {
	details := d.Details()
	if !v.people() {
		for _, n := range details.Notes(diffItems) {
			fmt.Fprintln(v.Out, "# "+cli.Harmless(n.String()))
		}
		return
	}
	value := func(x any) string { return cli.Harmless(Shorten(freshet.ShowValue(x), longLine)) }
	for _, f := range details.Fields {
		fmt.Fprintf(v.Out, "%s %s → %s\n", v.Bold(cli.Harmless(f.Name)), v.Red(value(f.From)), v.Green(value(f.To)))
	}
	code := map[string]string{"+": "32", "-": "31", "~": "33"}
	for _, n := range (freshet.Details{Items: details.Items}).Notes(diffItems) {
		fmt.Fprintln(v.Out, v.Paint(code[n.Mark], v.Prose(cli.Harmless(n.String()), "  ")))
	}
}
