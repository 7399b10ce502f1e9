package extract_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]float64{
		"5": 5, "-5": -5, "−5": -5, "+7": 7, "0": 0, "0.5": 0.5, ".5": 0.5, "0,5": 0.5, "12": 12,
		"1,234.56": 1234.56, "1.234,56": 1234.56, "1 234,56": 1234.56, "1\u00a0234,56": 1234.56, "1\u202f234": 1234, "1'234.56": 1234.56, "1’234’567": 1234567,
		"1,234": 1234, "1.234": 1.234, "1.234 €": 1234, "1,234 €": 1234, "12,5": 12.5, "12,50 €": 12.5, "1.234.567": 1234567, "1,234,567.8": 1234567.8, "12,34,567": 1234567,
		"$1,234.56": 1234.56, "-$5": -5, "$-5": -5, "€ 1.234,56": 1234.56, "EUR 19,99": 19.99, "CHF 1'200.–": 1200, "£3": 3, "199 kr": 199, "¥1,000": 1000,
		"3 %": 3, "3%": 3, "3.5 %": 3.5, "1.2k": 1200, "3M": 3e6, "2 Mrd": 2, "1.5bn": 1.5e9,
		"Price: 19.99 USD": 19.99, "from 10 to 20": 10, "10-12": 10, "1e3": 1000, "1.5E-3": 0.0015, "(5.00)": -5, "(42 items)": 42, "pump-5": 5,
		"１２３": 123, "٣٫٥": 3.5, "Rating 4.7 of 5": 4.7, "0,123": 0.123, "100 Stück": 100, "1.": 1, "7,": 7, "12 345 678": 12345678, "10 2024": 10,
	} {
		got, err := extract.ParseNumber(text)
		if err != nil || math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%q is read as %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "free", "-", "1.2.3", "€", ",", "1..2"} {
		if got, err := extract.ParseNumber(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// Whatever number is written in whatever notation, it is read as itself.
func TestNumbersInEveryNotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.Int64Range(0, 99_999_999_999).Draw(t, "cents")
		group := rapid.SampledFrom([]string{",", ".", " ", "'", "\u00a0", "\u202f", ""}).Draw(t, "group")
		decimal := "."
		if group == "." || group == " " || group == "\u00a0" {
			decimal = ","
		}
		text := grouped(cents/100, group) + decimal + string([]byte{byte('0' + cents/10%10), byte('0' + cents%10)})
		text = rapid.SampledFrom([]string{"", "€", "$ ", "Price: "}).Draw(t, "before") + text + rapid.SampledFrom([]string{"", " €", " EUR", " %", "."}).Draw(t, "after")
		got, err := extract.ParseNumber(text)
		if err != nil || math.Abs(got-float64(cents)/100) > 1e-6 {
			t.Errorf("%q is read as %v (%v), want %v", text, got, err, float64(cents)/100)
		}
	})
}

func grouped(n int64, mark string) string {
	digits := strconv.FormatInt(n, 10)
	var out []byte
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, mark...)
		}
		out = append(out, string(d)...)
	}
	return string(out)
}

func TestParseDate(t *testing.T) {
	for _, tt := range []struct{ text, order, want string }{
		{"2026-03-12", "", "2026-03-12"},
		{"2026-03-12T10:15:01Z", "", "2026-03-12T10:15:01Z"},
		{"2026-03-12T10:15:01.123+02:00", "", "2026-03-12T08:15:01Z"},
		{"2026-03-12 10:15", "", "2026-03-12T10:15:00"},
		{"20260312", "", "2026-03-12"},
		{"20260312T101501Z", "", "2026-03-12T10:15:01Z"},
		{"2026/3/12", "", "2026-03-12"},
		{"Thu, 12 Mar 2026 10:15:01 GMT", "", "2026-03-12T10:15:01Z"},
		{"Thu, 12 Mar 2026 10:15:01 +0100", "", "2026-03-12T09:15:01Z"},
		{"12 Mar 26 10:15 EST", "", "2026-03-12T15:15:00Z"},
		{"Thursday, 12-Mar-26 10:15:01 UTC", "", "2026-03-12T10:15:01Z"},
		{"Thu Mar 12 10:15:01 2026", "", "2026-03-12T10:15:01"},
		{"12 March 2026", "", "2026-03-12"},
		{"March 12, 2026", "", "2026-03-12"},
		{"Mar 12 2026", "", "2026-03-12"},
		{"12th of", "", ""},
		{"Updated: 12. März 2026, 10:15 Uhr", "", "2026-03-12T10:15:00"},
		{"Donnerstag, 12. Dezember 2024", "", "2024-12-12"},
		{"12 février 2026", "", "2026-02-12"},
		{"1er août 2026", "", "2026-08-01"},
		{"12 de marzo de 2026", "", "2026-03-12"},
		{"12.03.2026", "", "2026-03-12"},
		{"12.3.26", "", "2026-03-12"},
		{"03/12/2026", "mdy", "2026-03-12"},
		{"03/12/2026", "dmy", "2026-12-03"},
		{"03/25/2026", "", "2026-03-25"},
		{"25/03/2026", "", "2026-03-25"},
		{"03/12/2026", "", ""},
		{"31.02.2026", "", ""},
		{"1773310501", "", "2026-03-12T10:15:01Z"},
		{"1773310501000", "", "2026-03-12T10:15:01Z"},
		{"March 12, 2026 3:04 PM", "", "2026-03-12T15:04:00"},
		{"12 March 2026 12:30 am UTC", "", "2026-03-12T00:30:00Z"},
		{"no date", "", ""},
	} {
		got, err := extract.ParseDate(tt.text, tt.order)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q (%s) is read as %q (%v), want %q", tt.text, tt.order, got, err, tt.want)
		}
	}
}

func TestParseBool(t *testing.T) {
	for text, want := range map[string]bool{
		"true": true, "No": false, "In stock!": true, "Out of stock": false, "currently unavailable": false, "Available now": true, "Nicht lieferbar": false, "Auf Lager": true, "0": false,
	} {
		if got, err := extract.ParseBool(text); got != want || err != nil {
			t.Errorf("%q is read as %v (%v)", text, got, err)
		}
	}
	if _, err := extract.ParseBool("perhaps"); err == nil {
		t.Error("perhaps is read as something")
	}
}

// recipeOf reads a recipe as it stands in a file.
func recipeOf(t testing.TB, text string) (r reading.Recipe) {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

const product = `<title>Pump</title><h1>Pump X-5</h1><p class="price">1.234,56 €</p><p id="stock">In stock</p><img class="main" src="/p.png">
<time datetime="2026-03-12T10:00:00Z">12 March</time><ul class="tags"><li>water</li><li>garden</li></ul><script>var productId = 4711;</script>`

func TestFields(t *testing.T) {
	r := recipeOf(t, `
extract:
  price: {css: .price, as: number}
  short: css .price | number
  bare: h1
  stock: {xpath: '//p[@id="stock"]', as: bool}
  image: {css: img.main, attr: src}
  link: css img@src
  updated: {css: time@datetime, as: date}
  tags: {css: .tags li, as: list}
  id: {css: script, regex: 'productId = (\d+)', as: number}
  chain: {read: [{css: .tags}, {lines: {head: 1}}]}
  gone: {css: .none, as: number}
  odd: {css: h1, as: date}
`)
	rd, err := extract.Extract(r, response(product))
	if err != nil {
		t.Fatal(err)
	}
	want := freshet.Fields{
		"price": 1234.56, "short": 1234.56, "bare": "Pump X-5", "stock": true, "image": "/p.png", "link": "/p.png", "updated": "2026-03-12T10:00:00Z",
		"tags": []string{"water", "garden"}, "id": 4711.0, "chain": "water", "gone": nil, "odd": nil,
	}
	if d := cmp.Diff(want, rd.Fields); d != "" {
		t.Errorf("the fields are not as expected (-want +got):\n%s", d)
	}
	if !strings.Contains(rd.Missing["gone"], `".none"`) || !strings.Contains(rd.Missing["odd"], "no date") || len(rd.Missing) != 2 {
		t.Errorf("what is missing is explained as %v", rd.Missing)
	}
	if !strings.HasPrefix(string(rd.Text), "# Pump X-5\n") {
		t.Errorf("the text is %q, want the page", rd.Text)
	}
	rd, err = extract.Extract(recipeOf(t, `{extract: {n: {jq: .a.n, as: number}, b: {jsonpath: $.b, as: bool}, l: {jq: .l, as: list}, t: "$.t"}}`),
		response(`{"a": {"n": 12.5}, "b": true, "l": ["x", 2], "t": "hi"}`))
	if d := cmp.Diff(freshet.Fields{"n": 12.5, "b": true, "l": []string{"x", "2"}, "t": "hi"}, rd.Fields); d != "" || err != nil {
		t.Errorf("the fields of JSON are not as expected (%v):\n%s", err, d)
	}
}

// The named groups of a pattern that matches once are values.
func TestNamedGroups(t *testing.T) {
	rd, err := extract.Extract(recipeOf(t, `{read: [{regex: 'Pump (?P<model>\S+)'}], extract: {price: css .price | number, day: css .day | date dmy}}`), response(product+`<b class=day>03/12/2026</b>`))
	if d := cmp.Diff(freshet.Fields{"model": "X-5", "price": 1234.56, "day": "2026-12-03"}, rd.Fields); d != "" || err != nil || rd.Items.Len() != 0 {
		t.Errorf("the fields are not as expected (%v), and there are %d items:\n%s", err, rd.Items.Len(), d)
	}
}

// Values are taken from the response as it came, whatever the steps leave out.
func TestFieldsComeBeforeSteps(t *testing.T) {
	rd, err := extract.Extract(recipeOf(t, `{read: [{drop: .price}, {css: body}], extract: {price: css .price | number}}`), response(product))
	if err != nil || rd.Fields["price"] != 1234.56 || strings.Contains(string(rd.Text), "€") {
		t.Errorf("the price is %v beside the text %q (%v)", rd.Fields["price"], rd.Text, err)
	}
}

func TestBadFields(t *testing.T) {
	for text, want := range map[string]string{
		`{extract: {price: {css: p, as: nubmer}}}`:              `extract.price.as: unknown type "nubmer" (did you mean "number"?)`,
		`{extract: {price: {as: number}}}`:                      `extract.price: says nothing about where the value is`,
		`{extract: {price: {css: p, xpath: //p}}}`:              `extract.price.xpath: use css or xpath, not both`,
		`{extract: {price: {css: "p["}}}`:                       `extract.price.css: `,
		`{extract: {price: {jq: .a, attr: b}}}`:                 `extract.price.attr: needs css or xpath`,
		`{extract: {price: {css: p, order: xyz}}}`:              `extract.price.order: `,
		`{extract: {price: {css: p, regex: "("}}}`:              `extract.price.regex: missing closing )`,
		`{extract: {price: {read: [text, {lines: {kep: a}}]}}}`: `extract.price.read[1].lines: unknown key "kep"`,
		`{extract: {"a b": h1}}`:                                `extract.a b: "a b" is not a name`,
		`{items: {css: li, xpath: //li}}`:                       `items.xpath: use css or xpath, not both`,
		`{items: {css: li, fields: {a: {css: "p["}}}}`:          `items.fields.a.css: `,
	} {
		err := extract.Check(recipeOf(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestItems(t *testing.T) {
	for _, tt := range []struct {
		name, recipe, body string
		want               []freshet.Item
		text               string
	}{
		{"of a list", `{items: {css: "#list li", key: a@href, fields: {title: css a, price: css .price | number}}}`, shop,
			[]freshet.Item{{Key: "/a", Title: "Alpha", Link: "/a", Text: "Alpha1.234,56 €", Fields: freshet.Fields{"price": 1234.56}},
				{Key: "/b", Title: "Beta", Link: "/b", Text: "Beta12 €", Fields: freshet.Fields{"price": 12.0}}}, "- Alpha1.234,56 €\n- Beta12 €\n"},
		{"of JSON", `{items: {jsonpath: "$.list[*]", key: id, fields: {n: name}}}`, `{"list": [{"id": 7, "name": "x"}, {"id": 8, "name": "y"}]}`,
			[]freshet.Item{{Key: "7", Fields: freshet.Fields{"n": "x"}}, {Key: "8", Fields: freshet.Fields{"n": "y"}}}, "{\n  \"id\": 7,\n  \"name\": \"x\"\n}\n{\n  \"id\": 8,\n  \"name\": \"y\"\n}\n"},
		{"of a JSON list", `{}`, `[{"id": 1, "a": "x"}, {"id": 2, "a": "y"}]`,
			[]freshet.Item{{Key: "1", Fields: freshet.Fields{"id": 1.0, "a": "x"}}, {Key: "2", Fields: freshet.Fields{"id": 2.0, "a": "y"}}}, ""},
		{"of a table", `{read: [table]}`, shop,
			[]freshet.Item{{Key: "one", Fields: freshet.Fields{"Name": "one", "Qty": "1"}}, {Key: "two", Fields: freshet.Fields{"Name": "two", "Qty": "2"}}}, "Name | Qty\none | 1\ntwo | 2\n"},
		{"of a table by a column", `{read: [table], items: {key: Qty}}`, shop,
			[]freshet.Item{{Key: "1", Fields: freshet.Fields{"Name": "one", "Qty": "1"}}, {Key: "2", Fields: freshet.Fields{"Name": "two", "Qty": "2"}}}, "Name | Qty\none | 1\ntwo | 2\n"},
		{"of a feed", `{}`, feedXML,
			[]freshet.Item{{Key: "http://a.example/1", Title: "One", Link: "http://a.example/1", Date: "2026-03-01T00:00:00Z", Fields: freshet.Fields{"author": "Ann"}},
				{Key: "g2", Title: "Two", Link: "http://a.example/2"}}, ""},
		{"with the same key", `{items: {css: b}}`, `<b>x</b><b>x</b>`, []freshet.Item{{Key: "x", Text: "x"}, {Key: "x #2", Text: "x"}}, "x\nx\n"},
		{"of named groups", `{read: [{regex: '(?P<name>\w+)=(?P<n>\d+)'}]}`, "a=1 b=2", []freshet.Item{{Key: "a", Fields: freshet.Fields{"name": "a", "n": "1"}}, {Key: "b", Fields: freshet.Fields{"name": "b", "n": "2"}}}, ""},
		{"of XML", `{items: {xpath: //item, key: link}}`, feedXML,
			[]freshet.Item{{Key: "http://a.example/1", Fields: freshet.Fields{"title": "One", "link": "http://a.example/1", "pubDate": "Sun, 01 Mar 2026 00:00:00 GMT", "dc:creator": "Ann"}},
				{Key: "http://a.example/2", Fields: freshet.Fields{"title": "Two", "link": "http://a.example/2", "guid": "g2"}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rd, err := extract.Extract(recipeOf(t, tt.recipe), response(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, rd.Items.All()); d != "" {
				t.Errorf("the items are not as expected (-want +got):\n%s", d)
			}
			if tt.text != "" && string(rd.Text) != tt.text {
				t.Errorf("the text is %q, want %q", rd.Text, tt.text)
			}
		})
	}
}
