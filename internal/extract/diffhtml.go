package extract

import (
	"fmt"
	"html"
	"strings"
	"unicode"

	"freshet/internal/freshet"
)

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

// HTML returns the delta as a page of its own. What the texts say is in it as text
// only: there is no script, nothing is loaded, and a browser is told so.
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
