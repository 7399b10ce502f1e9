package extract_test

import (
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// What is proposed can be read, and reads what it says.
func TestSuggest(t *testing.T) {
	list := `<div id="offers">` + strings.Repeat(`<div class="offer"><a href="/x">A pump for the garden</a> and more</div>`, 6) + `</div>`
	table := `<table><tr><th>Name<th>Qty` + strings.Repeat(`<tr><td>one<td>1`, 5) + `</table>`
	for _, tt := range []struct {
		name, body string
		want       []string // what, and the chain
	}{
		{"a shop", `<p class="product-price">1.234,56 €</p>`, []string{"price", `{"extract":{"price":{"css":"p.product-price","as":"number"}}}`}},
		{"a shop with metadata", `<title>x</title><meta itemprop="price" content="12.50"><p class="price">12,50 €</p>`, []string{"product", `{"extract":{"price":{"product":"price","as":"number"}}}`}},
		{"a list", list, []string{"list", `{"items":{"css":"#offers > div.offer","key":"a@href"}}`}},
		{"a table", table, []string{"table", `{"read":["table"]}`}},
		{"an article", extract.Steps()[3].Input, []string{"main", `{"read":["main"]}`}},
		{"a page with a feed", `<title>x</title><link rel="alternate" type="application/rss+xml" href="/feed"><p>short`, []string{"feed", `{}`}},
		{"JSON", `{"total": 2, "rows": [{"a": 1}, {"a": 2}]}`, []string{"list", `{"items":{"jsonpath":"$[\"rows\"][*]"}}`}},
		{"a menu", `<nav><ul>` + strings.Repeat("<li><a href=/a>Something long enough</a></li>", 8) + `</ul></nav>`, nil},
		{"a feed", feedXML, []string{"list", `{}`}},
		{"nothing", "<p>hello", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, err := extract.Suggest(response(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				if len(all) > 0 {
					t.Errorf("it proposes %+v", all)
				}
				return
			}
			if len(all) == 0 || all[0].What != tt.want[0] || all[0].Chain() != tt.want[1] {
				t.Fatalf("it proposes %+v, want %s", all, tt.want)
			}
			for _, s := range all {
				rd, err := extract.Extract(s.Recipe, response(tt.body))
				if err != nil {
					t.Errorf("%s cannot be read: %v", s.Chain(), err)
				}
				if s.What == "price" && rd.Fields["price"] == nil || s.What == "list" && rd.Items.Len() < 2 {
					t.Errorf("%s reads %v and %d items", s.Chain(), rd.Fields, rd.Items.Len())
				}
			}
		})
	}
	if _, err := extract.Suggest(freshet.Response{MediaType: "application/json", Body: []byte("{")}); err == nil {
		t.Error("half a document has suggestions")
	}
}
