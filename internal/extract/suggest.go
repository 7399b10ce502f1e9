package extract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/lazyregexp"
)

// A Suggestion is a way to read a response that the user may want.
type Suggestion struct {
	What   string         `json:"what"` // product, price, main, list, table or feed
	Why    string         `json:"why"`
	Recipe reading.Recipe `json:"recipe"`
	URL    string         `json:"url,omitempty"` // to watch instead, as the page has it
}

// Suggest proposes ways to read a response, the likeliest first. It is for people
// who look at what it proposes: nothing is decided by it.
func Suggest(resp freshet.Response) ([]Suggestion, error) {
	doc := newDocument(reading.Auto, resp)
	switch doc.kind {
	case reading.HTML:
	case reading.JSON:
		return suggestJSON(doc)
	default:
		g, err := doc.read()
		if err != nil {
			return nil, err
		}
		if len(g.items) == 0 {
			return nil, nil
		}
		return []Suggestion{{What: "list", Why: fmt.Sprintf("it is read as %d items without being asked", len(g.items))}}, nil
	}
	root, err := doc.root()
	if err != nil {
		return nil, err
	}
	p := proposer{root: root}
	var all []Suggestion
	for _, propose := range []func() (Suggestion, bool){p.product, p.price, p.list, p.table, p.main, p.feed} {
		s, ok, err := proposed(propose)
		if err != nil {
			return nil, err
		}
		if ok && Check(s.Recipe) == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// proposed calls what may meet a library that panics.
func proposed(propose func() (Suggestion, bool)) (s Suggestion, ok bool, err error) {
	type found struct {
		Suggestion
		ok bool
	}
	f, err := safely(func() (found, error) { s, ok := propose(); return found{s, ok}, nil })
	if err != nil {
		return s, false, fail(FailParse, "", "look at the page: %w", err)
	}
	return f.Suggestion, f.ok, nil
}

func suggestJSON(doc *document) ([]Suggestion, error) {
	values, err := doc.values()
	if err != nil {
		return nil, err
	}
	if len(values) != 1 {
		return nil, nil
	}
	if list, ok := values[0].([]any); ok && len(list) > 0 {
		return []Suggestion{{What: "list", Why: fmt.Sprintf("it is a list of %d", len(list)), Recipe: reading.Recipe{Items: reading.Items{JSONPath: "$[*]"}}}}, nil
	}
	object, _ := values[0].(map[string]any)
	var all []Suggestion
	for name, v := range object {
		list, ok := v.([]any)
		if !ok || len(list) < 2 {
			continue
		}
		if _, ok := list[0].(map[string]any); ok {
			all = append(all, Suggestion{What: "list", Why: fmt.Sprintf("%s is a list of %d objects", name, len(list)),
				Recipe: reading.Recipe{Items: reading.Items{JSONPath: "$[" + quote(name) + "][*]"}}})
		}
	}
	slices.SortFunc(all, func(a, b Suggestion) int { return strings.Compare(a.Why, b.Why) })
	return all, nil
}

// A proposer looks at a page.
type proposer struct{ root *html.Node }

// leastMain is how many bytes of text an article has at least.
const leastMain = 250

func (p proposer) main() (s Suggestion, ok bool) {
	run, _, err := compileMain(argument{field: "main"})
	if err != nil {
		return s, false
	}
	v, err := run(value{form: nodesForm, nodes: []*html.Node{p.root}})
	if err != nil {
		return s, false
	}
	text := nodesText(v.nodes, true)
	if len(text) < leastMain {
		return s, false
	}
	return Suggestion{What: "main", Why: fmt.Sprintf("the article has %d lines", strings.Count(string(text), "\n")), Recipe: reading.Recipe{Read: []reading.Step{{Name: "main"}}}}, true
}

func (p proposer) feed() (s Suggestion, ok bool) {
	for _, n := range cascadia.QueryAll(p.root, cascadia.MustCompile(`link[rel~="alternate"][href]`)) {
		switch attributeOf(n, "type") {
		case "application/rss+xml", "application/atom+xml", "application/feed+json":
			return Suggestion{What: "feed", Why: "the page has a feed, which says more exactly what is new", URL: oneLine(attributeOf(n, "href"), 2000)}, true
		}
	}
	return s, false
}

func (p proposer) table() (s Suggestion, ok bool) {
	tables := cascadia.QueryAll(p.root, cascadia.MustCompile("table"))
	best, most := 0, 0
	for i, n := range tables {
		t := readTable(n)
		if cells := len(t.rows) * len(t.names()); len(t.rows) >= 3 && len(t.names()) >= 2 && cells > most {
			best, most = i+1, cells
		}
	}
	if best == 0 {
		return s, false
	}
	t := readTable(tables[best-1])
	step := reading.Step{Name: "table"}
	if len(tables) > 1 {
		step.Arg = fmt.Sprint(best)
	}
	return Suggestion{What: "table", Why: fmt.Sprintf("a table with %d rows: %s", len(t.rows), oneLine(strings.Join(t.header, ", "), 100)), Recipe: reading.Recipe{Read: []reading.Step{step}}}, true
}

var (
	priceText = lazyregexp.New(`^\D{0,12}(?:\p{Sc}\s*\d[\d.,'\s]*|\d[\d.,'\s]*(?:\p{Sc}|EUR|USD|GBP|CHF))\D{0,12}$`)
	priceName = lazyregexp.New(`(?i)price|preis|prix|amount|cost`)
)

func (p proposer) price() (s Suggestion, ok bool) {
	for _, known := range []string{`meta[itemprop="price"]@content`, `[itemprop="price"][content]@content`, `meta[property="product:price:amount"]@content`} {
		selector, _, _ := strings.Cut(known, "@")
		if cascadia.Query(p.root, cascadia.MustCompile(selector)) != nil {
			return priceBy(known, "the page says so to search engines"), true
		}
	}
	var best *html.Node
	score := 0
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.FirstChild == nil || elementOf([]byte(n.Data)).role >= title {
			continue
		}
		text := oneLine(innerText(n), 60)
		if len(text) > 40 || !priceText.MatchString(text) {
			continue
		}
		points := 1
		if priceName.MatchString(attributeOf(n, "class") + attributeOf(n, "id") + attributeOf(n, "itemprop")) {
			points = 3
		}
		if points > score {
			best, score = n, points
		}
	}
	if best == nil {
		return s, false
	}
	selector := p.selectorOf(best)
	if selector == "" {
		return s, false
	}
	return priceBy(selector, oneLine(innerText(best), 60)), true
}

func priceBy(selector, why string) Suggestion {
	return Suggestion{What: "price", Why: why, Recipe: reading.Recipe{Extract: reading.Extracts{"price": {CSS: selector, As: reading.AsNumber}}}}
}

// list finds the element with the most children of one kind that have texts.
func (p proposer) list() (s Suggestion, ok bool) {
	var best []*html.Node
	score := 0
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data == "head" || n.Data == "select" || isNavigation(n) {
			continue
		}
		alike := map[string][]*html.Node{}
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && !slices.Contains([]string{"tr", "td", "th", "p", "br", "option", "script", "style", "tbody"}, c.Data) {
				alike[kindOfElement(c)] = append(alike[kindOfElement(c)], c)
			}
		}
		for _, group := range alike {
			if len(group) < 4 {
				continue
			}
			size := 0
			for _, c := range group {
				size += min(len(oneLine(innerText(c), 300)), 200)
			}
			if size/len(group) >= 12 && size > score {
				best, score = group, size
			}
		}
	}
	if best == nil {
		return s, false
	}
	selector := p.selectorOf(best[0].Parent)
	if selector == "" {
		return s, false
	}
	items := reading.Items{CSS: selector + " > " + kindOfElement(best[0])}
	linked := 0
	for _, n := range best {
		if cascadia.Query(n, cascadia.MustCompile("a[href]")) != nil {
			linked++
		}
	}
	if 5*linked >= 4*len(best) {
		items.Key = "a@href"
	}
	return Suggestion{What: "list", Why: fmt.Sprintf("%d elements alike", len(best)), Recipe: reading.Recipe{Items: items}}, true
}

// isNavigation reports whether an element is part of a menu or a footer.
func isNavigation(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		switch n.Data {
		case "nav", "footer", "header":
			return true
		}
		if role := attributeOf(n, "role"); role == "navigation" || role == "menu" {
			return true
		}
	}
	return false
}

var steadyName = lazyregexp.New(`^[A-Za-z_][A-Za-z_-]{1,30}$`)

// kindOfElement returns an element as a selector: its name and its first class that does not look
// generated.
func kindOfElement(n *html.Node) string {
	for class := range strings.FieldsSeq(attributeOf(n, "class")) {
		if steadyName.MatchString(class) {
			return n.Data + "." + class
		}
	}
	return n.Data
}

// selectorOf returns a selector that matches an element first, "" if none was
// found.
func (p proposer) selectorOf(n *html.Node) string {
	path := ""
	for range 5 {
		if n == nil || n.Type != html.ElementNode {
			return ""
		}
		if id := attributeOf(n, "id"); steadyName.MatchString(id) {
			return joinedPath("#"+id, path)
		}
		path = joinedPath(kindOfElement(n), path)
		if group, err := cascadia.ParseGroup(path); err == nil && len(cascadia.QueryAll(p.root, group)) == 1 {
			return path
		}
		n = n.Parent
	}
	if group, err := cascadia.ParseGroup(path); err == nil && len(cascadia.QueryAll(p.root, group)) > 0 {
		return path
	}
	return ""
}

func joinedPath(outer, inner string) string {
	if inner == "" {
		return outer
	}
	return outer + " > " + inner
}

// Chain returns how the suggestion is written in a file, as JSON.
func (s Suggestion) Chain() string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s.Recipe); err != nil {
		panic(err) // of texts and steps
	}
	return strings.TrimSpace(b.String())
}
