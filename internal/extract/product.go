package extract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/lazyregexp"
)

// A product is what a page tells programs of what it sells: in JSON-LD, in microdata or in Open Graph.
type product struct{ price, currency, availability string }

// productValues are the values of a product that an extract can name.
var productValues = []string{"price", "currency", "availability"}

func (p product) value(name string) string {
	return map[string]string{"price": p.price, "currency": p.currency, "availability": p.availability}[name]
}

// productFinder returns what finds a value of the product that a page sells.
func productFinder(field, name string) (func(value) (value, error), error) {
	if !slices.Contains(productValues, name) {
		return nil, invalid.Errorf(field, "%s is not one of %s", quoted(name), strings.Join(productValues, ", "))
	}
	return func(v value) (value, error) {
		v, err := v.elements()
		if err != nil {
			return v, err
		}
		for _, root := range v.nodes {
			if text := productOf(root).value(name); text != "" {
				return textValue(v, []byte(text)), nil
			}
		}
		return v, fail(FailSelector, "look for another place of the value with css", "the page has no product data that states the %s", name)
	}, nil
}

// product proposes what the page says of what it sells.
func (p proposer) product() (s Suggestion, ok bool) {
	found := productOf(p.root)
	if found.price == "" {
		return s, false
	}
	fields := reading.Extracts{}
	for _, name := range productValues {
		if found.value(name) != "" {
			fields[name] = reading.Extract{Product: name}
		}
	}
	fields["price"] = reading.Extract{Product: "price", As: reading.AsNumber}
	return Suggestion{What: "product", Why: "the page says so to search engines", Recipe: reading.Recipe{Extract: fields}}, true
}

// productOf returns the product of a page: each value from the first place that has it.
func productOf(root *html.Node) (p product) {
	for _, n := range matching([]*html.Node{root}, ldScripts()) {
		var text strings.Builder
		for c := range n.ChildNodes() {
			text.WriteString(c.Data)
		}
		var data any
		if json.Unmarshal([]byte(text.String()), &data) == nil {
			p.fill(linkedProduct(data, 0))
		}
	}
	for _, place := range []product{
		{`[itemprop="price"]`, `[itemprop="priceCurrency"]`, `[itemprop="availability"]`},
		{`meta[property="product:price:amount"]`, `meta[property="product:price:currency"]`, `meta[property="product:availability"]`},
		{`meta[property="og:price:amount"]`, `meta[property="og:price:currency"]`, `meta[property="og:availability"]`},
	} {
		p.fill(product{statedIn(root, place.price), statedIn(root, place.currency), statedIn(root, place.availability)})
	}
	p.availability = availability(p.availability)
	if !priceNumber.MatchString(p.price) {
		p.price = ""
	}
	return p
}

func ldScripts() cascadia.SelectorGroup {
	group, err := cascadia.ParseGroup(`script[type="application/ld+json"]`)
	if err != nil {
		panic(err) // it is a constant
	}
	return group
}

var priceNumber = lazyregexp.New(`\d`)

// fill takes over the values that are missing.
func (p *product) fill(from product) {
	for _, v := range []struct {
		to   *string
		from string
	}{{&p.price, from.price}, {&p.currency, from.currency}, {&p.availability, from.availability}} {
		if *v.to == "" {
			*v.to = oneLine(v.from, 200)
		}
	}
}

// statedIn returns what the first element for a selector states.
func statedIn(root *html.Node, selector string) string {
	n := cascadia.Query(root, cascadia.MustCompile(selector))
	if n == nil {
		return ""
	}
	for _, key := range []string{"content", "href", "value"} {
		if text, ok := attributeValue(n, key); ok {
			return text
		}
	}
	return innerText(n)
}

const maxLinkedDepth = 8

// linkedProduct returns the first product in JSON-LD that has a price.
func linkedProduct(data any, depth int) (p product) {
	if depth > maxLinkedDepth {
		return p
	}
	switch data := data.(type) {
	case []any:
		for _, x := range data {
			if p = linkedProduct(x, depth+1); p.price != "" {
				return p
			}
		}
	case map[string]any:
		if offers, ok := data["offers"]; ok {
			if p = linkedOffer(offers, depth+1); p != (product{}) {
				return p
			}
		}
		for _, key := range []string{"@graph", "mainEntity", "hasVariant", "itemOffered"} {
			if p = linkedProduct(data[key], depth+1); p.price != "" {
				return p
			}
		}
	}
	return p
}

// linkedOffer returns what an offer says, or the first of several.
func linkedOffer(data any, depth int) (p product) {
	switch data := data.(type) {
	case []any:
		for _, x := range data {
			p.fill(linkedOffer(x, depth+1))
			if p.price != "" {
				return p
			}
		}
	case map[string]any:
		p = product{plainValue(data["price"]), plainValue(data["priceCurrency"]), plainValue(data["availability"])}
		p.fill(product{price: plainValue(data["lowPrice"])})
		if more, ok := data["priceSpecification"]; ok && depth <= maxLinkedDepth {
			p.fill(linkedOffer(more, depth+1))
		}
		if more, ok := data["offers"]; ok && depth <= maxLinkedDepth {
			p.fill(linkedOffer(more, depth+1))
		}
	}
	return p
}

func plainValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// availability returns the word for one of schema.org, or of Open Graph.
func availability(said string) string {
	said = said[strings.LastIndexByte(said, '/')+1:]
	word := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(said))
	for is, words := range map[string][]string{
		"in stock":     {"instock", "instoreonly", "onlineonly", "limitedavailability", "availablefororder", "madetoorder"},
		"out of stock": {"outofstock", "soldout", "discontinued", "oos"},
		"preorder":     {"preorder", "presale"}, "backorder": {"backorder"},
	} {
		if slices.Contains(words, word) {
			return is
		}
	}
	return strings.ToLower(oneLine(said, 40))
}
