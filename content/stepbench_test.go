package content_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"codeberg.org/readeck/go-readability/v2"
	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/andybalholm/cascadia"
	"github.com/itchyny/gojq"
	"golang.org/x/net/html"

	"freshet"
	"freshet/content"
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

// BenchmarkSteps reads a page with each step; the sub-benchmarks called plain make
// the bare call of the library that it rests on, with the parsing that it needs.
func BenchmarkSteps(b *testing.B) {
	page, doc := largePage(), largeJSON()
	selector, query := cascadia.MustCompile(".price"), mustQuery(b, ".items[].price")
	pattern := regexp.MustCompile(`(\d+),50 €`)
	for _, tt := range []struct {
		name, chain, body string
		plain             func() error
	}{
		{"css", "[{css: .price}]", page, func() error {
			root, err := html.Parse(strings.NewReader(page))
			if err == nil {
				cascadia.QueryAll(root, selector)
			}
			return err
		}},
		{"xpath", "[{xpath: '//b[@class=\"price\"]'}]", page, nil},
		{"main", "[main]", page, func() error { _, err := readability.FromReader(strings.NewReader(page), nil); return err }},
		{"markdown", "[markdown]", page, func() error { _, err := htmltomarkdown.ConvertString(page); return err }},
		{"drop", "[{drop: nav}]", page, nil},
		{"text", "[text]", page, nil},
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
		{"jsonpath", "[{jsonpath: '$.items[*].price'}]", doc, nil},
		{"regex", `[text, {regex: '(\d+),50 €'}]`, page, func() error { pattern.FindAllSubmatch([]byte(page), -1); return nil }},
		{"replace", `[text, {replace: {pattern: '€', with: EUR}}]`, page, func() error { pattern.ReplaceAll([]byte(page), []byte("EUR")); return nil }},
		{"lines", "[text, {lines: {keep: Pump, sort: true}}]", page, nil},
		{"mask", "[text, {mask: numbers}]", page, nil},
		{"pretty", "[{pretty: json}]", doc, func() error { return json.Indent(new(bytes.Buffer), []byte(doc), "", "  ") }},
		{"extract", "[]", page, nil},
	} {
		r := freshet.Recipe{Read: chainOf(b, tt.chain)}
		if tt.name == "extract" {
			r.Extract = freshet.Extracts{"price": {CSS: ".price", As: freshet.AsNumber}}
		}
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.body)))
			for b.Loop() {
				if _, err := content.Extract(r, response(tt.body)); err != nil {
					b.Fatal(err)
				}
			}
		})
		if tt.plain == nil {
			continue
		}
		b.Run(tt.name+"/plain", func(b *testing.B) {
			b.SetBytes(int64(len(tt.body)))
			for b.Loop() {
				if err := tt.plain(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mustQuery(b *testing.B, text string) *gojq.Query {
	q, err := gojq.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	return q
}
