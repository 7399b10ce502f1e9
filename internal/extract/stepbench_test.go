package extract_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codeberg.org/readeck/go-readability/v2"
	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/andybalholm/cascadia"
	"github.com/antchfx/xpath"
	"github.com/itchyny/gojq"
	"github.com/ledongthuc/pdf"
	"github.com/theory/jsonpath"
	"golang.org/x/net/html"

	"freshet/internal/extract"
	"freshet/internal/freshet/reading"
)

// largePage returns a page with a list of a thousand offers.
func largePage() string {
	var b strings.Builder
	b.WriteString("<html><head><title>Shop</title></head><body><nav>Home</nav><main><h1>Offers</h1><ul>")
	for i := range 1000 {
		fmt.Fprintf(&b, `<li class="offer" id="o%d"><a href="/p/%d">Pump %d</a>, for the garden, <b class="price">%d,50 €</b></li>`, i, i, i, i)
	}
	b.WriteString("</ul></main><footer>Imprint</footer></body></html>")
	return b.String()
}

func largeJSON() string {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := range 1000 {
		fmt.Fprintf(&b, `{"id":%d,"name":"Pump %d","price":%d.5},`, i, i, i)
	}
	return strings.TrimSuffix(b.String(), ",") + "]}"
}

func largeCSV() string {
	var b strings.Builder
	b.WriteString("id,name,price\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "%d,\"Pump, %d\",%d.5\n", i, i, i)
	}
	return b.String()
}

func largeTable() string {
	var b strings.Builder
	b.WriteString("<table><tr><th>id<th>name<th>price")
	for i := range 1000 {
		fmt.Fprintf(&b, "<tr><td>%d<td>Pump %d<td>%d.5", i, i, i)
	}
	return b.String() + "</table>"
}

func largeCalendar() string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "BEGIN:VEVENT\r\nUID:%d\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:202603%02dT100000Z\r\nSUMMARY:Fair %d\r\nLOCATION:Hall\\, %d\r\nEND:VEVENT\r\n", i, 1+i%28, i, i)
	}
	return b.String() + "END:VCALENDAR\r\n"
}

func largeSheet() string {
	var b strings.Builder
	b.WriteString("<worksheet><sheetData>")
	for i := range 1000 {
		fmt.Fprintf(&b, `<row r="%d"><c r="A%[1]d" t="inlineStr"><is><t>Pump %[1]d</t></is></c><c r="B%[1]d"><v>%[1]d.5</v></c></row>`, i+1)
	}
	return b.String() + "</sheetData></worksheet>"
}

func largePDF() string {
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("Pump %d, for the garden, %d.50", i, i))
	}
	return onePagePDF(lines...)
}

// A stepBench reads a body with a step. Plain is the bare call of the library that the
// step rests on, with the parsing that it needs.
type stepBench struct {
	name, chain, body string
	plain             func() error
}

// BenchmarkSteps reads a document of a thousand entries with each step, and without
// Freshet.
func BenchmarkSteps(b *testing.B) {
	for _, tt := range slices.Concat(pageBenches(), dataBenches(), fileBenches(b)) {
		r := reading.Recipe{Read: chainOf(b, tt.chain)}
		if tt.name == "extract" {
			r.Extract = reading.Extracts{"price": {CSS: ".price", As: reading.AsNumber}}
		}
		run := func(name string, read func() error) {
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(tt.body)))
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run(tt.name+"/step", func() error { _, err := extract.Extract(r, response(tt.body)); return err })
		run(tt.name+"/plain", tt.plain)
	}
}

// TestEveryStepHasABenchmark holds the benchmark to the list of steps.
func TestEveryStepHasABenchmark(t *testing.T) {
	var have []string
	for _, tt := range slices.Concat(pageBenches(), dataBenches(), fileBenches(nil)) {
		have = append(have, tt.name)
	}
	for _, k := range extract.Steps() {
		if !slices.Contains(have, k.Name) {
			t.Errorf("the step %s has no benchmark", k.Name)
		}
	}
}

func pageBenches() []stepBench {
	page := largePage()
	selector, nav := cascadia.MustCompile(".price"), cascadia.MustCompile("nav")
	path := xpath.MustCompile(`//b[@class="price"]`)
	pattern, euro, pump, number := regexp.MustCompile(`(\d+),50 €`), regexp.MustCompile("€"), regexp.MustCompile("Pump"), regexp.MustCompile(`\d+`)
	parse := func() (*html.Node, error) { return html.Parse(strings.NewReader(page)) }
	return []stepBench{
		{"css", "[{css: .price}]", page, func() error {
			root, err := parse()
			if err == nil {
				cascadia.QueryAll(root, selector)
			}
			return err
		}},
		{"xpath", "[{xpath: '//b[@class=\"price\"]'}]", page, func() error {
			root, err := parse()
			if err != nil {
				return err
			}
			for it := path.Select(extract.Navigator(root)); it.MoveNext(); {
			}
			return nil
		}},
		{"drop", "[{drop: nav}]", page, func() error {
			root, err := parse()
			if err != nil {
				return err
			}
			for _, n := range cascadia.QueryAll(root, nav) {
				n.Parent.RemoveChild(n)
			}
			return nil
		}},
		{"main", "[main]", page, func() error { _, err := readability.FromReader(strings.NewReader(page), nil); return err }},
		{"markdown", "[markdown]", page, func() error { _, err := htmltomarkdown.ConvertString(page); return err }},
		{"text", "[text]", page, func() error { tokenText(page); return nil }},
		{"source", "[source]", page, func() error { _ = []byte(page); return nil }},
		{"regex", `[text, {regex: '(\d+),50 €'}]`, page, func() error { pattern.FindAllSubmatch(tokenText(page), -1); return nil }},
		{"replace", `[text, {replace: {pattern: '€', with: EUR}}]`, page, func() error { euro.ReplaceAll(tokenText(page), []byte("EUR")); return nil }},
		{"lines", "[text, {lines: {keep: Pump, sort: true}}]", page, func() error {
			lines := strings.Split(string(tokenText(page)), "\n")
			lines = slices.DeleteFunc(lines, func(l string) bool { return !pump.MatchString(l) })
			slices.Sort(lines)
			strings.Join(lines, "\n")
			return nil
		}},
		{"mask", "[text, {mask: numbers}]", page, func() error { number.ReplaceAll(tokenText(page), []byte("[number]")); return nil }},
		{"extract", "[]", page, func() error {
			root, err := parse()
			if err == nil {
				cascadia.Query(root, selector)
			}
			return err
		}},
		{"table", "[table]", largeTable(), func() error { _, err := html.Parse(strings.NewReader(largeTable())); return err }},
	}
}

// tokenText returns the text of a page as the tokenizer of x/net has it.
func tokenText(page string) []byte {
	var out []byte
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.TextToken:
			out = append(out, z.Text()...)
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "li" {
				out = append(out, '\n')
			}
		}
	}
}

func dataBenches() []stepBench {
	doc, list, calendar := largeJSON(), largeCSV(), largeCalendar()
	query, path := mustQuery(".items[].price"), jsonpath.MustParse("$.items[*].price")
	return []stepBench{
		{"jq", "[{jq: '.items[].price'}]", doc, func() error {
			var v any
			if err := json.Unmarshal([]byte(doc), &v); err != nil {
				return err
			}
			for it := query.Run(v); ; {
				if _, ok := it.Next(); !ok {
					return nil
				}
			}
		}},
		{"jsonpath", "[{jsonpath: '$.items[*].price'}]", doc, func() error {
			var v any
			err := json.Unmarshal([]byte(doc), &v)
			path.Select(v)
			return err
		}},
		{"pretty", "[{pretty: json}]", doc, func() error { return json.Indent(new(bytes.Buffer), []byte(doc), "", "  ") }},
		{"table of CSV", "[{table: {delimiter: ','}}]", list, func() error { _, err := csv.NewReader(strings.NewReader(list)).ReadAll(); return err }},
		{"ical", "[ical]", calendar, func() error { // there is no library below it
			for line := range strings.Lines(calendar) {
				strings.Cut(strings.TrimRight(line, "\r\n"), ":")
			}
			return nil
		}},
	}
}

func fileBenches(b *testing.B) []stepBench {
	if b == nil {
		return []stepBench{{name: "pdf"}, {name: "xlsx"}, {name: "decode"}}
	}
	file, book, pack := largePDF(), string(workbookOf(b, largeSheet())), base64.StdEncoding.EncodeToString([]byte(largePage()))
	return []stepBench{
		{"pdf", "[pdf]", file, func() error {
			r, err := pdf.NewReader(strings.NewReader(file), int64(len(file)))
			if err == nil {
				_, err = r.GetPlainText()
			}
			return err
		}},
		{"xlsx", "[xlsx]", book, func() error {
			archive, err := zip.NewReader(strings.NewReader(book), int64(len(book)))
			if err != nil {
				return err
			}
			sheet, err := archive.Open("xl/worksheets/sheet1.xml")
			if err != nil {
				return err
			}
			defer sheet.Close()
			for d := xml.NewDecoder(sheet); err == nil; {
				_, err = d.Token()
			}
			if err == io.EOF {
				err = nil
			}
			return err
		}},
		{"decode", "[{decode: base64}]", pack, func() error { // the result is read as a page
			text, err := base64.StdEncoding.DecodeString(pack)
			tokenText(string(text))
			return err
		}},
	}
}

func mustQuery(text string) *gojq.Query {
	q, err := gojq.Parse(text)
	if err != nil {
		panic(err) // it is a constant
	}
	return q
}
