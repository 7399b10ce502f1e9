package extract

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
)

// readDOCX returns the text of a document of a word processor: its body as paragraphs, lists and tables, then its notes.
// Headers, footers, comments and deleted text are left out.
func readDOCX(body []byte) (text []byte, title string, err error) {
	f, err := openOffice(body, "a DOCX file")
	if err != nil {
		return nil, "", err
	}
	var l layout
	for _, part := range []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"} {
		if f.parts[part] == nil && part != "word/document.xml" {
			continue
		}
		src, err := f.part(part)
		if err != nil {
			return nil, "", err
		}
		w := wordReader{layout: &l}
		if err := w.read(src); err != nil {
			return nil, "", err
		}
	}
	if src, err := f.part("docProps/core.xml"); err == nil {
		var core struct {
			Title string `xml:"title"`
		}
		if xml.Unmarshal(src, &core) == nil {
			title = oneLine(core.Title, maxTitle)
		}
	}
	return l.bytes(), title, nil
}

// A wordReader lays out the XML of a document.
type wordReader struct {
	*layout
	inText bool
	within int // open elements whose text does not show
}

func (w *wordReader) read(src []byte) error {
	d := xml.NewDecoder(bytes.NewReader(src))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fail(FailParse, "", "read the document: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if w.within > 0 || hiddenInWord(t) {
				w.within++
				continue
			}
			w.start(t)
		case xml.EndElement:
			if w.within > 0 {
				w.within--
				continue
			}
			w.end(t.Name.Local)
		case xml.CharData:
			if w.inText && w.within == 0 {
				w.layout.text(t)
			}
		}
	}
}

// hiddenInWord reports whether an element does not show: the second form of a drawing, text that was deleted,
// the lines that set notes apart.
func hiddenInWord(t xml.StartElement) bool {
	switch t.Name.Local {
	case "Fallback", "del", "moveFrom", "instrText", "commentReference":
		return true
	case "footnote", "endnote":
		return strings.Contains(strings.ToLower(attributeIn(t, "type")), "separator")
	}
	return false
}

func (w *wordReader) start(t xml.StartElement) {
	switch t.Name.Local {
	case "t":
		w.inText = true
	case "p":
		w.layout.start(element{role: block})
	case "pStyle":
		style := strings.ToLower(attributeIn(t, "val"))
		if level, ok := strings.CutPrefix(style, "heading"); ok && len(level) == 1 && '1' <= level[0] && level[0] <= '6' {
			w.layout.start(element{role: heading, level: level[0] - '0'})
		} else if strings.HasPrefix(style, "listbullet") || strings.HasPrefix(style, "listnumber") {
			w.layout.start(element{role: item})
		}
	case "numPr":
		w.layout.start(element{role: item})
	case "br", "cr":
		w.layout.start(element{role: lineEnd})
	case "tab":
		w.space = true
	case "tbl":
		w.layout.start(element{role: table})
	case "tr":
		w.layout.start(element{role: row})
	case "tc":
		w.layout.start(element{role: cell})
	}
}

func (w *wordReader) end(name string) {
	switch name {
	case "t":
		w.inText = false
	case "p": // a mark before it that nothing followed is gone
		w.layout.end(element{role: item})
	case "tbl":
		w.layout.end(element{role: table})
	case "tr":
		w.layout.end(element{role: row})
	case "tc":
		w.layout.end(element{role: cell})
	}
}

func attributeIn(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
