package extract_test

import (
	"net/http"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// TestProducts takes what shops tell programs.
func TestProducts(t *testing.T) {
	for name, tt := range map[string]struct{ page, price, currency, availability string }{
		"JSON-LD":                         {`<script type="application/ld+json">{"@type":"Product","offers":{"@type":"Offer","price":"1299.00","priceCurrency":"EUR","availability":"https://schema.org/InStock"}}</script>`, "1299", "EUR", "in stock"},
		"a graph with an aggregate offer": {`<script type="application/ld+json">{"@graph":[{"@type":"WebPage"},{"@type":["Product"],"offers":[{"@type":"AggregateOffer","lowPrice":9.5,"priceCurrency":"USD","offers":[{"availability":"http://schema.org/SoldOut"}]}]}]}</script>`, "9.5", "USD", "out of stock"},
		"a price specification":           {`<script type="application/ld+json">{"offers":{"priceSpecification":[{"price":7,"priceCurrency":"CHF"}]}}</script>`, "7", "CHF", ""},
		"broken JSON-LD and microdata":    {`<script type="application/ld+json">{"offers":</script><span itemprop="price" content="5.25">5,25</span><meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" href="https://schema.org/PreOrder">`, "5.25", "EUR", "preorder"},
		"Open Graph":                      {`<meta property="product:price:amount" content="20.00"><meta property="product:price:currency" content="GBP"><meta property="og:availability" content="oos">`, "20", "GBP", "out of stock"},
		"no price":                        {`<script type="application/ld+json">{"@type":"Product","offers":{"price":"ask us"}}</script>`, "", "", ""},
		"nothing":                         {`<p>9 EUR</p>`, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			resp := freshet.Response{Status: 200, URL: "https://shop.example/", Header: http.Header{"Content-Type": {"text/html"}}, MediaType: "text/html", Body: []byte("<html><head></head><body>" + tt.page + "</body></html>")}
			all, err := extract.Suggest(resp)
			if err != nil {
				t.Fatal(err)
			}
			if tt.price == "" {
				if len(all) > 0 && all[0].What == "product" {
					t.Errorf("a product is proposed: %+v", all[0])
				}
				return
			}
			if len(all) == 0 || all[0].What != "product" {
				t.Fatalf("no product is proposed first: %+v", all)
			}
			read, err := extract.Extract(all[0].Recipe, resp)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]string, 0, 3)
			for _, name := range []string{"price", "currency", "availability"} {
				if v := read.Fields[name]; v != nil {
					got = append(got, freshet.ShowValue(v))
				} else {
					got = append(got, "")
				}
			}
			if want := []string{tt.price, tt.currency, tt.availability}; strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
