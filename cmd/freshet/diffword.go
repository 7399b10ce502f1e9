package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"freshet/client"
	"freshet/internal/extract"
)

// words prints a diff word by word: in colour where there is colour, and otherwise in
// brackets, as git does. On a screen, long stretches that are the same are left out.
func (v *diffView) words(d client.Diff) {
	if d.Summary == "" && len(d.Hunks) == 0 && !d.Coarse {
		return
	}
	fmt.Fprintf(v.out, "%s\n%s\n", v.bold("--- "+versionName(d.Source, d.From)), v.bold("+++ "+versionName(d.Source, d.To)))
	if d.Coarse {
		fmt.Fprintln(v.out, "# "+harmless(d.Summary))
	}
	for _, h := range d.Hunks {
		fmt.Fprintln(v.out, v.cyan(fmt.Sprintf("@@ -%s +%s @@", extract.LineRange(h.OldStart, h.OldLines), extract.LineRange(h.NewStart, h.NewLines))))
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
func (v *diffView) wordLine(line []extract.Span) {
	var text strings.Builder
	var ops []extract.Op // of each byte of text
	for i, s := range line {
		piece := harmless(v.abridged(s, i == 0, i == len(line)-1))
		if brackets := (map[extract.Op][2]string{extract.Remove: {"[-", "-]"}, extract.Add: {"{+", "+}"}})[s.Op]; !v.palette {
			piece = brackets[0] + piece + brackets[1]
		}
		text.WriteString(piece)
		for range len(piece) {
			ops = append(ops, s.Op)
		}
	}
	for _, part := range folded(text.String(), v.width) {
		fmt.Fprintln(v.out, strings.TrimRight(v.wordsPainted(text.String(), ops, part), " "))
	}
}

// wordsPainted returns part of a line with each piece in its colour.
func (v *diffView) wordsPainted(text string, ops []extract.Op, part [2]int) string {
	var b strings.Builder
	for from := part[0]; from < part[1]; {
		to := from
		for to < part[1] && ops[to] == ops[from] {
			to++
		}
		switch piece := text[from:to]; ops[from] {
		case extract.Remove:
			b.WriteString(v.paint("31;9", piece))
		case extract.Add:
			b.WriteString(v.paint("32;1", piece))
		default:
			b.WriteString(piece)
		}
		from = to
	}
	return b.String()
}

// abridged returns a piece as it is shown. On a screen, what is the same is cut to what
// is near to something that is not.
func (v *diffView) abridged(s extract.Span, first, last bool) string {
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
