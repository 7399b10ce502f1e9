package extract_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Files that other programs wrote are read whatever their server calls them.
func TestOfficeFiles(t *testing.T) {
	const prices = "Name | Price | In stock\nAlpha | 10.5 | true\nBeta | 12 | false\nZażółć | 7 | true\n"
	const minutes = "# Minutes\nThe council approved the budget of 1,200 €.\n- Roads\n- Bridges\n## Votes\nYes | 12\nNo | 3\nFirst line\nsecond line\n"
	for _, tt := range []struct {
		file, text, title string
		kind              reading.Kind
	}{
		{"openpyxl.xlsx", prices, "", reading.XLSX},
		{"openpyxl-write-only.xlsx", prices, "", reading.XLSX},
		{"xlsxwriter.xlsx", prices, "", reading.XLSX},
		{"python-docx.docx", minutes, "Minutes of March", reading.DOCX},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", "office", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, media := range []string{
			"application/vnd.openxmlformats-officedocument." + map[reading.Kind]string{reading.XLSX: "spreadsheetml.sheet", reading.DOCX: "wordprocessingml.document"}[tt.kind],
			"application/octet-stream", "application/zip", "",
		} {
			rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: media, Body: body})
			if err != nil || string(rd.Text) != tt.text || rd.Title != tt.title || rd.Kind != tt.kind {
				t.Errorf("%s as %q is read as %s %q, title %q (%v)", tt.file, media, rd.Kind, rd.Text, rd.Title, err)
			}
		}
	}
}

// Of a document what it shows is read, once.
func TestDOCX(t *testing.T) {
	const begin = `<w:document xmlns:w="w" xmlns:mc="mc"><w:body>`
	file := zipOf(t, map[string]string{
		"word/document.xml": begin + `<w:p><w:r><w:t>Due on </w:t></w:r><w:del><w:r><w:delText>1</w:delText><w:t>2</w:t></w:r></w:del><w:ins><w:r><w:t>3</w:t></w:r></w:ins><w:r><w:t xml:space="preserve"> May</w:t><w:tab/><w:t>noon</w:t></w:r></w:p>` +
			`<w:p><w:pPr><w:numPr/></w:pPr></w:p><w:p><mc:AlternateContent><mc:Choice><w:r><w:t>box</w:t></w:r></mc:Choice><mc:Fallback><w:r><w:t>box</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p></w:body></w:document>`,
		"word/footnotes.xml": `<w:footnotes xmlns:w="w"><w:footnote w:type="separator"><w:p><w:r><w:t>---</w:t></w:r></w:p></w:footnote><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
	})
	rd, err := extract.Extract(reading.Recipe{Kind: reading.DOCX}, freshet.Response{Body: file})
	if want := "Due on 3 May noon\nbox\nA note.\n"; err != nil || string(rd.Text) != want {
		t.Errorf("the document is read as %q (%v), want %q", rd.Text, err, want)
	}
	bomb := zipOf(t, map[string]string{"word/document.xml": begin + strings.Repeat("<w:p>", 40<<20/5)})
	for name, body := range map[string][]byte{"bomb": bomb, "half": file[:len(file)/2], "empty": zipOf(t, nil), "no XML": zipOf(t, map[string]string{"word/document.xml": "<<"})} {
		if rd, err := extract.Extract(reading.Recipe{Kind: reading.DOCX}, freshet.Response{Body: body}); err == nil {
			t.Errorf("%s: the document is read as %.100q", name, rd.Text)
		}
	}
}

// zipOf returns an archive of some files.
func zipOf(t testing.TB, files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
