package extract

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"

	"freshet/internal/invalid"
)

func compileXLSX(a argument) (func(value) (value, error), bool, error) {
	number, name := 0, ""
	if n, err := strconv.Atoi(a.json); err == nil && n > 0 {
		number = n
	} else if s, ok := a.word(); ok {
		name = s
	} else if a.json != "" && a.json != "true" {
		return nil, false, invalid.Errorf(a.field, "takes the name or the number of a sheet, not %s", quoted(a.json))
	}
	return func(v value) (value, error) {
		body, err := v.bytes()
		if err != nil {
			return v, err
		}
		t, err := readXLSX(body, number, name)
		if err != nil {
			return v, err
		}
		return v.withItems(t.items(), t.header).withText(t.text()), nil
	}, true, nil
}

// A workbook is an XLSX file.
type workbook struct{ *officeFile }

// readXLSX reads a sheet of a workbook, by its number or name; the first if it
// has neither.
func readXLSX(body []byte, number int, name string) (t rows, err error) {
	f, err := openOffice(body, "a workbook")
	if err != nil {
		return t, err
	}
	w := workbook{f}
	sheet, err := w.sheet(max(number, 1), name)
	if err != nil {
		return t, err
	}
	shared, err := w.sharedTexts()
	if err != nil {
		return t, err
	}
	src, err := w.part(sheet)
	if err != nil {
		return t, err
	}
	if t.rows, err = readSheet(src, shared); err != nil {
		return t, err
	}
	if looksLikeHeader(t.rows) {
		t.header, t.rows = t.rows[0], t.rows[1:]
	}
	return t, nil
}

// sheet returns the document of a sheet.
func (w workbook) sheet(number int, name string) (string, error) {
	var book struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		All []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	for part, dst := range map[string]any{"xl/workbook.xml": &book, "xl/_rels/workbook.xml.rels": &links} {
		src, err := w.part(part)
		if err != nil {
			return "", err
		}
		if err := xml.Unmarshal(src, dst); err != nil {
			return "", fail(FailParse, "", "read the workbook: %w", err)
		}
	}
	for i, s := range book.Sheets {
		if name != "" && !strings.EqualFold(s.Name, name) || name == "" && i+1 != number {
			continue
		}
		for _, l := range links.All {
			if l.ID == s.ID {
				return partAt("xl", l.Target), nil
			}
		}
	}
	if name != "" {
		return "", fail(FailSelector, "", "the workbook has no sheet %s", quoted(name))
	}
	return "", fail(FailSelector, "", "the workbook has %d sheets, but sheet %d is wanted", len(book.Sheets), number)
}

// sharedTexts returns the texts that cells refer to by number.
func (w workbook) sharedTexts() (list []string, err error) {
	if w.parts["xl/sharedStrings.xml"] == nil {
		return nil, nil
	}
	src, err := w.part("xl/sharedStrings.xml")
	if err != nil {
		return nil, err
	}
	root, err := parseSheetXML(src, "si")
	for _, si := range root {
		list = append(list, si.text)
	}
	return list, err
}

// A sheetCell is an element of a sheet that holds text.
type sheetCell struct {
	ref, kind, text string
	row             int
}

// parseSheetXML returns the elements of a name with the text in them. It streams:
// a tree of a large sheet would be many times its size.
func parseSheetXML(src []byte, name string) (cells []sheetCell, err error) {
	d := xml.NewDecoder(bytes.NewReader(src))
	var open *sheetCell
	row, inText := 0, false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return cells, nil
		}
		if err != nil {
			return nil, fail(FailParse, "", "read the workbook: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "row":
				row++
			case name:
				open = &sheetCell{row: row}
				for _, a := range t.Attr {
					switch a.Name.Local {
					case "r":
						open.ref = a.Value
					case "t":
						open.kind = a.Value
					}
				}
			case "v", "t":
				inText = open != nil
			}
		case xml.CharData:
			if inText && len(open.text) < maxCell {
				open.text += string(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "v", "t":
				inText = false
			case name:
				if open == nil { // one within another
					continue
				}
				if cells = append(cells, *open); len(cells) > maxNodes {
					return nil, fail(FailLimit, "", "the sheet has more than %d cells", maxNodes)
				}
				open, inText = nil, false
			}
		}
	}
}

// readSheet returns the rows of a sheet.
func readSheet(src []byte, shared []string) (all [][]string, err error) {
	cells, err := parseSheetXML(src, "c")
	if err != nil {
		return nil, err
	}
	last := 0
	for _, c := range cells {
		if c.row != last {
			if len(all) == maxRows {
				break
			}
			all, last = append(all, nil), c.row
		}
		row := &all[len(all)-1]
		column := columnOf(c.ref)
		if column < 0 {
			column = len(*row)
		}
		if column >= maxColumns {
			continue
		}
		for len(*row) <= column {
			*row = append(*row, "")
		}
		text := c.text
		if n, err := strconv.Atoi(text); c.kind == "s" && err == nil && 0 <= n && n < len(shared) {
			text = shared[n]
		} else if c.kind == "b" {
			text = map[string]string{"0": "false", "1": "true"}[text]
		}
		(*row)[column] = oneLine(text, maxCell)
	}
	return all, nil
}

// columnOf returns the number of a column by the name of a cell, such as C7.
func columnOf(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' || n > maxColumns {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}
