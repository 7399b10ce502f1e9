package extract_test

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1,234.56", "1.234,56 €", "1 234,56", "1'234", "-5", "(3)", "1.2k", "1e9", "٣٫٥", "..", "0,,1", "−", "9999999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := extract.ParseNumber(s)
		if err != nil {
			return
		}
		if math.IsNaN(x) || math.IsInf(x, 0) && len(s) < 100 {
			t.Errorf("%q is read as %v", s, x)
		}
		if !strings.ContainsAny(s, "0123456789") && !regexp.MustCompile(`\p{Nd}`).MatchString(s) {
			t.Errorf("%q has no digit and is read as %v", s, x)
		}
	})
}

var isoForm = regexp.MustCompile(`^\d{4,}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}Z?)?$`)

func FuzzDate(f *testing.F) {
	for _, s := range []string{"2026-03-12", "12. März 2026, 10:15 Uhr", "March 12, 2026 3:04 PM", "03/12/2026", "1773310501", "20260312T101501Z", "Thu, 12 Mar 2026 10:15:01 +0100", "99/99/9999", "0-0-0"} {
		f.Add(s, "")
		f.Add(s, "mdy")
	}
	f.Fuzz(func(t *testing.T, s, order string) {
		date, err := extract.ParseDate(s, order)
		if err == nil && !isoForm.MatchString(date) {
			t.Errorf("%q is read as %q", s, date)
		}
		if again, err2 := extract.ParseDate(date, ""); err == nil && (err2 != nil || again != date) && !strings.HasPrefix(date, "00") {
			t.Errorf("%q is read as %q, and that as %q (%v)", s, date, again, err2)
		}
	})
}

// fuzzStep reads bodies with a step and wants a text in order, or an error.
func fuzzStep(f *testing.F, kind reading.Kind, chain string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	r := reading.Recipe{Kind: kind, Read: chainOf(f, chain)}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 64<<10 {
			return
		}
		rd, err := extract.Extract(r, freshet.Response{Body: body})
		if err != nil {
			return
		}
		checkText(t, rd.Text)
		if _, err := json.Marshal(rd.Items.All()); err != nil {
			t.Error(err)
		}
		keys := map[string]bool{}
		for _, item := range rd.Items.All() {
			if keys[item.Key] && item.Key != "" {
				t.Errorf("two items have the key %q", item.Key)
			}
			keys[item.Key] = true
		}
	})
}

func FuzzICal(f *testing.F) {
	fuzzStep(f, reading.ICal, "[]", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART;TZID=\"Europe/Berlin\":20260312T100000\nSUMMARY:a\\,b\n c\nRECURRENCE-ID:20260312\nBEGIN:VALARM\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n")
}

func FuzzCSV(f *testing.F) {
	fuzzStep(f, reading.CSV, "[table]", "a;b\n1;2\n", "a,b,c\n\"x\ny\",2\n", "\"", "a\tb\n")
}

func FuzzPDF(f *testing.F) {
	fuzzStep(f, reading.PDF, "[]", onePagePDF("Hello"), "%PDF-1.4\n")
}

func FuzzXLSX(f *testing.F) {
	fuzzStep(f, reading.XLSX, "[]", string(workbookOf(f, "<worksheet/>")), "PK\x05\x06")
}

// FuzzSheet reads workbooks whose archive is in order: that of a fuzzer hardly ever is.
func FuzzSheet(f *testing.F) {
	f.Add(`<sst><si><t>Name</t></si><si><r><t>Al</t></r><r><t>pha</t></r></si></sst>`, `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Price</t></is></c></row><row><c t="b"><v>1</v></c></row>`)
	f.Add(``, `<row r="9999999"><c r="ZZZ9"><v>1</v></c></row>`)
	f.Add(``, `<row><c><is><t>0</t></is></c></row><row><c></c></row>`)
	f.Add(``, `<row><c><v>1<c><v>2</v></c>3</v></c></row>`)
	f.Add(`<sst><si>`, `<c t="s"><v>-1</v></c><c r="0"/>`)
	f.Fuzz(func(t *testing.T, shared, cells string) {
		if len(shared)+len(cells) > 16<<10 {
			return
		}
		book := packedBook(t, map[string]string{"xl/sharedStrings.xml": shared, "xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + cells + `</sheetData></worksheet>`})
		rd, err := extract.Extract(reading.Recipe{Kind: reading.XLSX}, freshet.Response{Body: book})
		if err == nil {
			checkText(t, rd.Text)
		} else if classOf(err) == "" {
			t.Errorf("a sheet fails with %v", err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, how := range []string{"base64", "gzip", "jwt", "url", "html"} {
		f.Add(how, []byte("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."))
		f.Add(how, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	}
	f.Fuzz(func(t *testing.T, how string, body []byte) {
		arg, err := json.Marshal(how)
		if err != nil {
			return
		}
		rd, err := extract.Extract(reading.Recipe{Read: []reading.Step{{Name: "decode", Arg: string(arg)}}}, freshet.Response{Body: body})
		if err == nil {
			checkText(t, rd.Text)
		}
	})
}

// FuzzChain reads any list of steps, and any page with those that are taken.
func FuzzChain(f *testing.F) {
	for _, k := range extract.Steps() {
		s := stepOf(f, k.Example)
		f.Add(`[`+s.String()+`]`, k.Input)
	}
	f.Add(`[{"lines":{"between":["a","b"]}},{"mask":["numbers"]},"pretty"]`, shop)
	f.Add(`[{"xpath":"//a[last()]/@*"},{"regex":{"pattern":"(.)(?P<x>.)","group":"x"}}]`, shop)
	f.Fuzz(func(t *testing.T, chain, body string) {
		if len(chain) > 300 || len(body) > 4<<10 || strings.Contains(chain, `"jq"`) { // a program may run for ever
			return
		}
		var steps []reading.Step
		if json.Unmarshal([]byte(chain), &steps) != nil {
			return
		}
		r := reading.Recipe{Read: steps}
		if extract.Check(r) != nil {
			if _, err := extract.Extract(r, response(body)); err == nil {
				t.Error("Extract takes a recipe that Check refuses")
			}
			return
		}
		rd, err := extract.Extract(r, response(body))
		if err == nil {
			checkText(t, rd.Text)
			again, err := extract.Extract(r, response(body))
			if err != nil || !bytes.Equal(again.Text, rd.Text) {
				t.Errorf("the same page is read as %q and as %q (%v)", rd.Text, again.Text, err)
			}
		}
	})
}

func FuzzExtract(f *testing.F) {
	f.Add("css .price | number", shop)
	f.Add("jsonpath $.a | list", `{"a": [1]}`)
	f.Add("//a/@href", shop)
	f.Add("css time@datetime | date", product)
	f.Fuzz(func(t *testing.T, how, body string) {
		if len(how) > 200 || len(body) > 4<<10 || strings.HasPrefix(how, "jq") {
			return
		}
		text, err := json.Marshal(how)
		if err != nil {
			return
		}
		var e reading.Extract
		if json.Unmarshal(text, &e) != nil {
			return
		}
		written, err := json.Marshal(e)
		var again reading.Extract
		if err != nil || json.Unmarshal(written, &again) != nil {
			t.Fatalf("%s is written as %s (%v)", how, written, err)
		}
		rd, err := extract.Extract(reading.Recipe{Extract: reading.Extracts{"x": e}}, response(body))
		if err != nil {
			return
		}
		if _, err := json.Marshal(rd.Fields); err != nil || len(rd.Fields) != 1 {
			t.Errorf("the fields are %v (%v)", rd.Fields, err)
		}
	})
}
