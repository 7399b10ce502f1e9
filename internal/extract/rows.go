package extract

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

const (
	maxRows    = 20_000
	maxColumns = 200
	maxCell    = 10_000 // runes
)

// rows are the rows of a table, of a CSV file or of a sheet.
type rows struct {
	header []string // names of the columns; nil if there is none
	rows   [][]string
}

// items returns the rows as items. The first column that tells all rows apart is
// their key.
func (t rows) items() []freshet.Item {
	names := t.names()
	list := make([]freshet.Item, 0, len(t.rows))
	for _, row := range t.rows[:min(len(t.rows), maxItems)] {
		item := freshet.Item{Fields: freshet.Fields{}}
		for i, cell := range row {
			if i < len(names) {
				item.Fields[names[i]] = cell
			}
		}
		list = append(list, item)
	}
	return keyed(list, names)
}

// names returns the names of the columns, numbers where there are none.
func (t rows) names() []string {
	width := len(t.header)
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	names, seen := make([]string, width), map[string]bool{}
	for i := range names {
		name := strconv.Itoa(i + 1)
		if i < len(t.header) && t.header[i] != "" {
			name = t.header[i]
		}
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("%s %d", strings.TrimSuffix(name, fmt.Sprintf(" %d", n-1)), n)
		}
		seen[name], names[i] = true, name
	}
	return names
}

// text returns the rows with bars between their cells.
func (t rows) text() []byte {
	var out []byte
	if t.header != nil {
		out = appendRow(out, t.header)
	}
	for _, row := range t.rows {
		out = appendRow(out, row)
	}
	if out = bytes.TrimRight(out, "\n"); len(out) > 0 { // rows without a text end many sheets
		out = append(out, '\n')
	}
	return out
}

func appendRow(out []byte, row []string) []byte {
	return append(bytes.TrimRight(append(out, strings.Join(row, " | ")...), " "), '\n')
}

func compileTable(a argument) (func(value) (value, error), bool, error) {
	var arg struct {
		Table     int    `json:"table"`
		Delimiter string `json:"delimiter"`
		Header    *bool  `json:"header"`
	}
	if n, err := strconv.Atoi(a.json); err == nil {
		arg.Table = n
	} else if s, ok := a.word(); ok {
		if arg.Table, err = strconv.Atoi(s); err != nil {
			return nil, false, invalid.Errorf(a.field, "%s is not the number of a table; choose one with css first", quoted(s))
		}
	} else if a.json != "" && a.json != "true" {
		if err := a.object(&arg); err != nil {
			return nil, false, err
		}
	}
	if arg.Table < 0 {
		return nil, false, invalid.Errorf(a.field, "tables count from 1")
	}
	delimiter, err := delimiterOf(a, arg.Delimiter)
	if err != nil {
		return nil, false, err
	}
	return func(v value) (value, error) {
		t, err := tableOf(v, arg.Table, delimiter)
		if err != nil {
			return v, err
		}
		if arg.Header != nil && !*arg.Header && t.header != nil {
			t.rows = append([][]string{t.header}, t.rows...)
			t.header = nil
		} else if arg.Header != nil && *arg.Header && t.header == nil && len(t.rows) > 0 {
			t.header, t.rows = t.rows[0], t.rows[1:]
		}
		return v.withItems(t.items(), t.header).withText(t.text()), nil
	}, true, nil
}

func delimiterOf(a argument, s string) (rune, error) {
	switch s {
	case "":
		return 0, nil
	case "tab", `\t`:
		return '\t', nil
	}
	if r := []rune(s); len(r) == 1 && r[0] != '"' && r[0] != '\n' && r[0] != '\r' {
		return r[0], nil
	}
	return 0, invalid.Errorf(a.at("delimiter"), "%s is not one character, such as ; or tab", quoted(s))
}

// withText keeps the text of rows, of which there may be more than items.
func (v value) withText(text []byte) value {
	v.text = text
	return v
}

// tableOf returns a table of a page, or a CSV file.
func tableOf(v value, number int, delimiter rune) (rows, error) {
	text, err := v.verbatim()
	if err != nil {
		return rows{}, err
	}
	isPage := v.form == nodesForm || v.form == documentForm && (v.doc.kind == reading.HTML || v.doc.kind == reading.XML) ||
		bytes.HasPrefix(bytes.TrimSpace(text), []byte("<"))
	if v.form == documentForm && v.doc.kind == reading.CSV {
		isPage = false
	}
	if !isPage {
		return readCSV(text, delimiter)
	}
	v, err = v.elements()
	if err != nil {
		return rows{}, err
	}
	var tables []*html.Node
	for _, n := range v.nodes {
		if n.Type == html.ElementNode && n.Data == "table" {
			tables = append(tables, n)
			continue
		}
		for c := range n.Descendants() {
			if c.Type == html.ElementNode && c.Data == "table" {
				tables = append(tables, c)
			}
		}
	}
	if len(tables) == 0 {
		return rows{}, fail(FailSelector, selectorHint, "there is no table on the page")
	}
	if number > len(tables) {
		return rows{}, fail(FailSelector, selectorHint, "there are %d tables on the page, but table %d is wanted", len(tables), number)
	}
	if number == 0 {
		return largestTable(tables), nil
	}
	return readTable(tables[number-1]), nil
}

// largestTable returns the table with the most cells: the others lay out a page.
func largestTable(tables []*html.Node) (best rows) {
	most := -1
	for _, n := range tables {
		t := readTable(n)
		cells := len(t.header)
		for _, row := range t.rows {
			cells += len(row)
		}
		if cells > most {
			best, most = t, cells
		}
	}
	return best
}

// readTable reads a table of a page. Its first row names the columns if all its
// cells are headings, or if it stands in the head of the table.
func readTable(n *html.Node) (t rows) {
	spans := map[int]span{} // cells that reach down, by column
	for row := range tableRows(n) {
		cells, heading := readRow(row, spans)
		if len(cells) == 0 {
			continue
		}
		if heading && t.header == nil && len(t.rows) == 0 {
			t.header = cells
			continue
		}
		if t.rows = append(t.rows, cells); len(t.rows) == maxRows {
			return t
		}
	}
	return t
}

// A span is a cell that reaches into the rows below it.
type span struct {
	rows int
	text string
}

// tableRows yields the rows of a table, but not of tables within it.
func tableRows(n *html.Node) func(func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		var walk func(*html.Node) bool
		walk = func(n *html.Node) bool {
			for c := range n.ChildNodes() {
				if c.Type != html.ElementNode || c.Data == "table" {
					continue
				}
				if c.Data == "tr" {
					if !yield(c) {
						return false
					}
				} else if !walk(c) {
					return false
				}
			}
			return true
		}
		walk(n)
	}
}

// readRow returns the cells of a row, and whether all of them are headings.
func readRow(row *html.Node, spans map[int]span) (cells []string, heading bool) {
	heading = true
	inherit := func() {
		for len(cells) < maxColumns {
			s, ok := spans[len(cells)]
			if !ok || s.rows == 0 {
				return
			}
			s.rows--
			spans[len(cells)] = s
			cells = append(cells, s.text)
		}
	}
	for c := range row.ChildNodes() {
		if c.Type != html.ElementNode || c.Data != "td" && c.Data != "th" {
			continue
		}
		inherit()
		heading = heading && (c.Data == "th" || row.Parent != nil && row.Parent.Data == "thead")
		text := oneLine(string(nodesText([]*html.Node{c}, false)), maxCell)
		down := number(attributeOf(c, "rowspan"), 1, maxRows)
		for range number(attributeOf(c, "colspan"), 1, maxColumns) {
			if len(cells) >= maxColumns {
				break
			}
			if down > 1 {
				spans[len(cells)] = span{down - 1, text}
			}
			cells = append(cells, text)
		}
	}
	inherit()
	return cells, heading
}

// number reads a count within bounds.
func number(s string, least, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return least
	}
	return min(max(n, least), most)
}

// readCSV reads a CSV file. Without a delimiter it is the one that most of the
// first lines have. The first row names the columns unless it has numbers in it.
func readCSV(src []byte, delimiter rune) (t rows, err error) {
	if len(src) > maxTree {
		return t, fail(FailLimit, asText, "the CSV file has %d bytes; the most is %d MiB", len(src), maxTree>>20)
	}
	if delimiter == 0 {
		delimiter = likelyDelimiter(src)
	}
	r := csv.NewReader(bytes.NewReader(src))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = delimiter, -1, true, true
	for len(t.rows) < maxRows {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return t, fail(FailParse, "Name the delimiter: table: {delimiter: ;}.", "not a CSV file: %w", err)
		}
		row := make([]string, min(len(record), maxColumns))
		for i := range row {
			row[i] = oneLine(record[i], maxCell)
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		return t, fail(FailParse, "", "the CSV file is empty")
	}
	if looksLikeHeader(t.rows) {
		t.header, t.rows = t.rows[0], t.rows[1:]
	}
	return t, nil
}

// looksLikeCSV reports whether the first lines of a text are rows of two or more cells, as many in each.
func looksLikeCSV(src []byte) bool {
	const least = 3 // rows
	head := src[:min(len(src), 16<<10)]
	if len(head) < len(src) {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	t, err := readCSV(head, 0)
	if err != nil {
		return false
	}
	width := len(t.header)
	for _, row := range t.rows {
		if width == 0 {
			width = len(row)
		}
		if len(row) != width {
			return false
		}
	}
	rows := len(t.rows)
	if t.header != nil {
		rows++
	}
	return width > 1 && rows >= least
}

// likelyDelimiter returns the character that divides the first lines most evenly.
func likelyDelimiter(src []byte) rune {
	lines := bytes.SplitN(src[:min(len(src), 16<<10)], []byte("\n"), 12)
	best, most := ',', 0
	for _, d := range []rune{',', ';', '\t', '|'} {
		least := -1
		for _, line := range lines[:max(1, len(lines)-1)] {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if n := bytes.Count(line, []byte(string(d))); least < 0 || n < least {
				least = n
			}
		}
		if least > most {
			best, most = d, least
		}
	}
	return best
}

// looksLikeHeader reports whether the first row names columns: its cells are texts
// that differ, and there is more below.
func looksLikeHeader(all [][]string) bool {
	if len(all) < 2 || len(all[0]) == 0 {
		return false
	}
	seen := map[string]bool{}
	for _, cell := range all[0] {
		if cell == "" || seen[cell] {
			return false
		}
		seen[cell] = true
		if _, err := ParseNumber(cell); err == nil && strings.Trim(cell, "0123456789.,+- ") == "" {
			return false
		}
	}
	return true
}
