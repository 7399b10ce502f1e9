package extract_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
)

// onePagePDF returns a PDF file with lines of text.
func onePagePDF(lines ...string) string {
	var stream strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&stream, "BT /F1 12 Tf 72 %d Td (%s) Tj ET\n", 700-20*i, line)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", stream.Len(), stream.String()),
		"<< /Title (A paper) >>",
	}
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.String()
}

func TestPDF(t *testing.T) {
	rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "application/pdf", Body: []byte(onePagePDF("First line", "Second line"))})
	if err != nil || string(rd.Text) != "First line\nSecond line\n" || rd.Kind != reading.PDF || rd.Title != "A paper" {
		t.Errorf("the file is read as %q, kind %s, title %q (%v)", rd.Text, rd.Kind, rd.Title, err)
	}
	rd, err = extract.Extract(reading.Recipe{Read: chainOf(t, `[pdf, {regex: '(\w+) line'}]`)}, response(onePagePDF("First line", "Second line")))
	if err != nil || string(rd.Text) != "First\nSecond\n" {
		t.Errorf("the file is read as %q (%v)", rd.Text, err)
	}
	if _, err = extract.Extract(reading.Recipe{Kind: reading.PDF}, response("%PDF-1.4 nonsense")); classOf(err) != extract.FailParse {
		t.Errorf("a broken file is read with %v", err)
	}
}

// workbookOf returns an XLSX file with a sheet.
func workbookOf(t testing.TB, sheet string) []byte {
	return packedBook(t, map[string]string{
		"xl/sharedStrings.xml":     `<sst><si><t>Name</t></si><si><r><t>Al</t></r><r><t>pha</t></r></si></sst>`,
		"xl/worksheets/sheet1.xml": sheet,
	})
}

// packedBook returns an XLSX file of these parts and a list of its one sheet.
func packedBook(t testing.TB, parts map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	parts = maps.Clone(parts)
	parts["xl/workbook.xml"] = `<workbook xmlns:r="r"><sheets><sheet name="Prices" r:id="r1"/></sheets></workbook>`
	parts["xl/_rels/workbook.xml.rels"] = `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name}) // stored as it is: a fuzzer has no time for more
		if err == nil {
			_, err = f.Write([]byte(parts[name]))
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

func TestXLSX(t *testing.T) {
	book := workbookOf(t, `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Price</t></is></c></row>`+
		`<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="b"><v>1</v></c><c r="C2"><f>1+1</f><v>12.5</v></c></row></sheetData></worksheet>`)
	rd, err := extract.Extract(reading.Recipe{Kind: reading.XLSX}, freshet.Response{Body: book})
	if err != nil || string(rd.Text) != "Name |  | Price\nAlpha | true | 12.5\n" {
		t.Errorf("the sheet is read as %q (%v)", rd.Text, err)
	}
	rd, err = extract.Extract(reading.Recipe{Read: chainOf(t, `[{xlsx: prices}]`)}, freshet.Response{Body: book})
	if err != nil || !strings.Contains(string(rd.Text), "Alpha") {
		t.Errorf("the sheet is read as %q (%v)", rd.Text, err)
	}
	if _, err := extract.Extract(reading.Recipe{Read: chainOf(t, `[{xlsx: Other}]`)}, freshet.Response{Body: book}); classOf(err) != extract.FailSelector {
		t.Errorf("another sheet is read with %v", err)
	}
}

// What is small when it is packed and large when it is not is refused.
func TestBombs(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range 64 {
		w.Write(zeros)
	}
	w.Close()
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	for _, tt := range []struct {
		name, chain string
		body        []byte
		class       failure.Class
	}{
		{"gzip", `[{decode: gzip}]`, packed.Bytes(), extract.FailLimit},
		{"workbook", `[xlsx]`, workbookOf(t, strings.Repeat("<row>", 40<<20/5)), extract.FailLimit},
		{"YAML that refers to itself", `[{pretty: yaml}]`, []byte(bomb), extract.FailLimit},
		{"XML that nests", `[{xpath: //a}]`, []byte("<?xml version='1.0'?>" + strings.Repeat("<a>", 10_000)), extract.FailLimit},
		{"XML with entities", `[{xpath: //a}]`, []byte(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "x"><!ENTITY c SYSTEM "file:///etc/passwd">]><a>&b;&c;</a>`), ""},
		{"a table with spans", `[table]`, []byte("<table>" + strings.Repeat("<tr><td colspan=1000000 rowspan=1000000>x", 1000) + "</table>"), ""},
		{"a calendar", `[ical]`, []byte("BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nEND:VEVENT\n", 6000)), extract.FailLimit},
		{"a long replacement", `[{replace: {pattern: a, with: "` + strings.Repeat("b", 900) + `"}}]`, bytes.Repeat([]byte("a"), 10<<20), extract.FailLimit},
		{"a replacement that repeats a group", `[{replace: {pattern: "(a+)", with: "` + strings.Repeat("$1", 200) + `"}}]`, bytes.Repeat([]byte("a"), 10<<20), extract.FailLimit},
		{"replacements of nothing", `[{replace: {pattern: "x*", with: b}}]`, bytes.Repeat([]byte("a"), 10<<20), extract.FailLimit},
		{"groups in groups", `[{regex: "` + strings.Repeat("(", 100) + "a+" + strings.Repeat(")", 100) + `"}]`, bytes.Repeat([]byte("a"), 1<<20), extract.FailLimit},
		{"JSON that nests", `[{jq: .}]`, []byte(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)), extract.FailLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rd, err := extract.Extract(reading.Recipe{Read: chainOf(t, tt.chain)}, freshet.Response{Body: tt.body})
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
				t.Errorf("reading it takes %d MB", n>>20)
			}
			if classOf(err) != tt.class {
				t.Errorf("it is read with %v, want %q", err, tt.class)
			}
			if bytes.Contains(rd.Text, []byte("root:")) {
				t.Error("a file of this machine was read")
			}
		})
	}
}

// What runs away is stopped, and says which step it was.
func TestRunawayStepsAreStopped(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{Timeout: 300 * time.Millisecond})
	for chain, want := range map[string]string{
		`[{jq: '[range(1000000000)] | length'}]`: "read[0].jq took",
		`[{jq: 'def f: f; f'}]`:                  "read[0].jq took",
		`[text, {regex: '((a*)*)*b{50}{20}$'}]`:  "",
	} {
		_, err := r.Read(t.Context(), reading.Recipe{Read: chainOf(t, chain)}, response(`{"a": 1}`))
		if want != "" && (classOf(err) != extract.FailLimit || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", chain, err, want)
		}
	}
	rd, err := r.Read(t.Context(), reading.Recipe{Read: chainOf(t, `[{jq: .a}]`), Extract: reading.Extracts{"l": {JQ: "[.a, 2]", As: reading.AsList}}}, response(`{"a": 1}`))
	if err != nil || string(rd.Text) != "1\n" || cmp.Diff(freshet.Fields{"l": []string{"1", "2"}}, rd.Fields) != "" {
		t.Errorf("after that a page is read as %q, %v (%v)", rd.Text, rd.Fields, err)
	}
}
