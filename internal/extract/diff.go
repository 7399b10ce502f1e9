package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"html"
	"iter"
	"math/bits"
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
	hunks := diff.Hunks(lines.ids[0], lines.ids[1], opts...)
	text, room := lines.textOf(hunks)
	d.Hunks = make([]Hunk, 0, len(hunks))
	for _, h := range hunks {
		hunk := Hunk{
			OldStart: skipped + h.PosX + 1, OldLines: h.EndX - h.PosX,
			NewStart: skipped + h.PosY + 1, NewLines: h.EndY - h.PosY,
			Lines: room[:0:len(h.Edits)],
		}
		room = room[len(h.Edits):]
		was := lines.passage(&text, 0, h.PosX, h.EndX)
		is := lines.passage(&text, 1, h.PosY, h.EndY)
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

// frame returns how many bytes the lines take that two texts begin with, and those that
// they end with, but for a few next to what differs. They need not be compared one by one.
func frame(old, new []byte) (before, after int) {
	same := commonPrefix(old, new)
	before = same
	for range diffContext + 1 { // back to the start of a line first
		before = 1 + bytes.LastIndexByte(old[:max(before-1, 0)], '\n')
	}
	after = commonSuffix(old[same:], new[same:])
	for range diffContext + 1 {
		n := bytes.IndexByte(old[len(old)-after:], '\n')
		if n < 0 {
			return before, 0
		}
		after -= n + 1
	}
	return before, after
}

// commonPrefix returns how many bytes two texts begin with that are the same.
func commonPrefix(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+8 <= most {
		if differ := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)/8
		}
		n += 8
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// commonSuffix returns how many bytes they end with.
func commonSuffix(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+8 <= most {
		if differ := binary.LittleEndian.Uint64(a[len(a)-n-8:]) ^ binary.LittleEndian.Uint64(b[len(b)-n-8:]); differ != 0 {
			return n + bits.LeadingZeros64(differ)/8
		}
		n += 8
	}
	for n < most && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	return n
}

// linePairs are the lines of two texts by number: lines are the same if their numbers
// are. To compare numbers takes less time and memory than to compare the lines again
// and again.
type linePairs struct {
	texts  [2][]byte
	starts [2][]int32 // where each line begins, and the end
	ids    [2][]int32
}

func pairLines(old, new []byte) *linePairs {
	p := &linePairs{texts: [2][]byte{old, new}}
	n := [2]int{countLines(old), countLines(new)}
	room := make([]int32, 2*(n[0]+n[1]+1))
	take := func(n int) []int32 {
		taken := room[:n:n]
		room = room[n:]
		return taken
	}
	names := newLineNames(p.texts, n[0]+n[1])
	for i, text := range p.texts {
		p.starts[i], p.ids[i] = take(n[i]+1), take(n[i])
		at := 0
		for k := range p.ids[i] {
			end := len(text)
			if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			p.starts[i][k], p.ids[i][k] = int32(at), names.of(i, at, end)
			at = end
		}
		p.starts[i][n[i]] = int32(at)
	}
	return p
}

// textOf returns the passages of all hunks, the old one of each first, and room for their lines.
func (p *linePairs) textOf(hunks []diff.Hunk[int32]) (string, []Line) {
	size, lines := 0, 0
	for _, h := range hunks {
		size, lines = size+len(p.bytes(0, h.PosX, h.EndX))+len(p.bytes(1, h.PosY, h.EndY)), lines+len(h.Edits)
	}
	var b strings.Builder
	b.Grow(size)
	for _, h := range hunks {
		b.Write(p.bytes(0, h.PosX, h.EndX))
		b.Write(p.bytes(1, h.PosY, h.EndY))
	}
	return b.String(), make([]Line, lines)
}

// bytes returns some lines of one of the texts.
func (p *linePairs) bytes(side, from, to int) []byte {
	return p.texts[side][p.starts[side][from]:p.starts[side][to]]
}

// passage takes some lines of one of the texts from the text of all hunks.
func (p *linePairs) passage(text *string, side, from, to int) passage {
	n := len(p.bytes(side, from, to))
	taken := passage{text: (*text)[:n], starts: p.starts[side][from : to+1], from: from}
	*text = (*text)[n:]
	return taken
}

// A passage is some lines of a text that follow each other.
type passage struct {
	text   string
	starts []int32 // in the text that it is of
	from   int     // the first line
}

// line returns the nth line of the text.
func (p passage) line(n int) string {
	n -= p.from
	return p.text[p.starts[n]-p.starts[0] : p.starts[n+1]-p.starts[0]]
}

// lineNames gives each line a number.
type lineNames struct {
	seed  maphash.Seed // so that nobody can make lines that are slow to tell apart
	slots []int32      // one more than the number of a line; zero if there is none
	texts [2][]byte
	lines []lineAt // by their numbers
}

// A lineAt is where the first line with a number is. It is half as long as a slice of it.
type lineAt struct{ side, from, to int32 }

func newLineNames(texts [2][]byte, most int) *lineNames {
	return &lineNames{seed: maphash.MakeSeed(), slots: make([]int32, 1<<bits.Len(uint(most))), texts: texts, lines: make([]lineAt, 0, most/2+1)}
}

// of returns the number of a line.
func (l *lineNames) of(side, from, to int) int32 {
	line := l.texts[side][from:to]
	mask := uint64(len(l.slots) - 1)
	for slot := maphash.Bytes(l.seed, line) & mask; ; slot = (slot + 1) & mask {
		switch id := l.slots[slot] - 1; {
		case id < 0:
			l.lines = append(l.lines, lineAt{int32(side), int32(from), int32(to)})
			l.slots[slot] = int32(len(l.lines))
			return l.slots[slot] - 1
		case bytes.Equal(l.line(id), line):
			return id
		}
	}
}

// line returns the line with a number.
func (l *lineNames) line(id int32) []byte {
	at := l.lines[id]
	return l.texts[at.side][at.from:at.to]
}

// diffStyle is all the style that a page with a diff has.
const diffStyle = `
:root { color-scheme: light dark; --add: #d9f2dd; --del: #fbdcdc; --ins: #8fd19e; --gone: #f0a3a3; --dim: #6a737d; }
@media (prefers-color-scheme: dark) { :root { --add: #12361c; --del: #451a1a; --ins: #1f7a37; --gone: #8f2f2f; --dim: #9aa4ae; } }
body { font: 14px/1.4 system-ui, sans-serif; margin: 1em; }
h1 { font-size: 1.1em; }
li em { font-style: normal; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; font: 13px/1.45 ui-monospace, monospace; }
col.n { width: 4em; } col.s { width: 1.5em; }
td { padding: 0 .4em; vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; }
td.n { color: var(--dim); text-align: right; user-select: none; }
tr.add { background: var(--add); } tr.del { background: var(--del); } tr.range td { color: var(--dim); padding-top: .8em; }
tr.moved td { opacity: .75; }
ins { background: var(--ins); text-decoration: none; } del { background: var(--gone); text-decoration: none; }
`

// HTML returns the delta as a page of its own. It has the texts as text only: there is no script,
// nothing is loaded, and a policy in the page forbids both.
func (d Delta) HTML(oldName, newName string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>%s</style>
</head>
<body>
<h1><del><bdi>%s</bdi></del> <ins><bdi>%s</bdi></ins></h1>
<p><bdi>%s</bdi></p>
`, shown(newName), diffStyle, shown(oldName), shown(newName), shown(d.Summary()))
	d.noteList(&b)
	if len(d.Hunks) > 0 {
		b.WriteString("<table>\n<colgroup><col class=\"n\"><col class=\"n\"><col class=\"s\"><col></colgroup>\n")
		for _, h := range d.Hunks {
			h.rows(&b)
		}
		b.WriteString("</table>\n")
	}
	b.WriteString("</body>\n</html>\n")
	return b.String()
}

// noteList writes the details as a list.
func (d Delta) noteList(b *strings.Builder) {
	values, items := d.Details.Fields, freshet.Details{Items: d.Details.Items}.Notes(maxNotes)
	if len(values)+len(items) == 0 {
		return
	}
	b.WriteString("<ul>\n")
	value := func(v any) string { return shown(oneLine(freshet.ShowValue(v), maxToldText)) }
	for _, f := range values {
		fmt.Fprintf(b, "<li><bdi>%s</bdi> <del><bdi>%s</bdi></del> <ins><bdi>%s</bdi></ins></li>\n", shown(f.Name), value(f.From), value(f.To))
	}
	for _, n := range items {
		tag := map[string]string{"+": "ins", "-": "del", "~": "em"}[n.Mark]
		fmt.Fprintf(b, "<li><%s>%s <bdi>%s</bdi></%s></li>\n", tag, n.Mark, shown(n.Text), tag)
	}
	b.WriteString("</ul>\n")
}

// rows writes the lines of a hunk as rows of a table.
func (h Hunk) rows(b *strings.Builder) {
	fmt.Fprintf(b, "<tr class=\"range\"><td></td><td></td><td></td><td>lines %s and %s</td></tr>\n", LineRange(h.OldStart, h.OldLines), LineRange(h.NewStart, h.NewLines))
	for i := 0; i < len(h.Lines); {
		removed := run(h.Lines[i:], Remove)
		added := run(h.Lines[i+removed:], Add)
		n := max(removed+added, 1)
		for k, cell := range cells(h.Lines[i:i+n], removed) {
			h.Lines[i+k].row(b, cell)
		}
		i += n
	}
}

// cells returns what lines of one run show, the removed ones first: where a line has
// much in common with its counterpart, the words that differ stand out.
func cells(lines []Line, removed int) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = shown(l.Text)
	}
	if 2*removed != len(lines) {
		return list
	}
	for i, old := range lines[:removed] {
		new := lines[removed+i]
		if old.Mark == nil || new.Mark == nil {
			continue
		}
		var a, b strings.Builder
		for _, s := range Words(old.Text, new.Text) {
			switch text := shown(s.Text); s.Op {
			case Keep:
				a.WriteString(text)
				b.WriteString(text)
			case Remove:
				a.WriteString("<del>" + text + "</del>")
			case Add:
				b.WriteString("<ins>" + text + "</ins>")
			}
		}
		list[i], list[removed+i] = a.String(), b.String()
	}
	return list
}

// row writes a line, whose cell is escaped already.
func (l Line) row(b *strings.Builder, cell string) {
	class := map[Op]string{Keep: "same", Remove: "del", Add: "add"}[l.Op]
	title := ""
	if l.Moved > 0 {
		where := map[Op]string{Remove: "to", Add: "from"}[l.Op]
		class, title = class+" moved", fmt.Sprintf(" title=\"moved %s line %d\"", where, l.Moved)
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	fmt.Fprintf(b, "<tr class=%q%s><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td><td><bdi>%s</bdi></td></tr>\n",
		class, title, number(l.Old), number(l.New), strings.TrimSpace(string(l.Op)), cell)
}

// shown returns a text as it can stand in a page: escaped, and without characters that
// control something.
func shown(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s))
}
