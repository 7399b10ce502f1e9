package extract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/antchfx/xpath"
	"golang.org/x/net/html"

	"freshet/internal/invalid"
	"freshet/internal/lazyregexp"
)

const selectorHint = "Look at the page as it is now and choose another selector, or leave it out to watch the whole page."

// trailingAttr is the attribute at the end of a selector, as in a@href. A CSS
// selector has no @ outside of brackets.
var trailingAttr = lazyregexp.New(`@([A-Za-z_][\w:.-]*)$`)

func compileCSS(a argument) (func(value) (value, error), bool, error) {
	css, some, err := selectionOf(a, "article or a@href")
	if err != nil {
		return nil, false, err
	}
	f, err := cssFinder(a.field, css)
	return some.of(f), true, err
}

// A selection is a part of the elements that a selector finds.
type selection struct {
	Selector string `json:"selector"`
	Skip     int    `json:"skip"`  // so many elements at the beginning
	First    int    `json:"first"` // keep so many of the rest; zero means all
}

// selectionOf reads a selector, alone or with the part of the elements that is wanted.
func selectionOf(a argument, example string) (selector string, s selection, err error) {
	if !strings.HasPrefix(a.json, "{") {
		selector, err = a.text(example)
		return selector, s, err
	}
	if err := a.object(&s); err != nil {
		return "", s, err
	}
	if strings.TrimSpace(s.Selector) == "" {
		return "", s, a.missing("{selector: " + example + ", first: 3}")
	}
	if s.Skip < 0 || s.First < 0 {
		return "", s, invalid.Errorf(a.field, "skip and first must not be negative")
	}
	return s.Selector, s, checkLength(a.field, s.Selector)
}

// of returns what finds the part alone.
func (s selection) of(find func(value) (value, error)) func(value) (value, error) {
	if s.Skip == 0 && s.First == 0 {
		return find
	}
	return func(v value) (value, error) {
		v, err := find(v)
		if err != nil {
			return v, err
		}
		if v.form == textForm {
			lines := strings.SplitAfter(string(v.text), "\n")
			v.text = []byte(strings.Join(partOf(lines[:len(lines)-1], s), ""))
			return v, nil
		}
		if v.nodes = partOf(v.nodes, s); len(v.nodes) == 0 {
			return v, fail(FailSelector, selectorHint, "no more than %d elements on the page match the selector %s", s.Skip, quoted(s.Selector))
		}
		return v, nil
	}
}

// partOf returns a part of a list.
func partOf[T any](list []T, s selection) []T {
	list = list[min(s.Skip, len(list)):]
	if s.First > 0 {
		list = list[:min(s.First, len(list))]
	}
	return list
}

// cssFinder returns what finds the elements, or the attributes, that match.
func cssFinder(field, css string) (func(value) (value, error), error) {
	selector, attr := css, ""
	if m := trailingAttr.FindStringSubmatchIndex(css); m != nil {
		selector, attr = strings.TrimSpace(css[:m[0]]), css[m[2]:m[3]]
	}
	var group cascadia.SelectorGroup
	if selector != "" || attr == "" {
		var err error
		if group, err = parseCSS(field, selector); err != nil {
			return nil, err
		}
	}
	return func(v value) (value, error) {
		v, err := v.elements()
		if err != nil {
			return v, err
		}
		found := v.nodes
		if group != nil {
			found = matching(v.nodes, group)
		}
		if len(found) == 0 {
			return v, fail(FailSelector, selectorHint, "nothing on the page matches the selector %s", quoted(css))
		}
		if attr == "" {
			return v.withNodes(found), nil
		}
		return attributesOf(v, found, attr, css)
	}, nil
}

// matching returns the elements below nodes that match, those within others that
// match left out.
func matching(nodes []*html.Node, group cascadia.SelectorGroup) (found []*html.Node) {
	seen := map[*html.Node]bool{}
	for _, n := range nodes {
		last := (*html.Node)(nil)
		for _, m := range queryAll(n, group) {
			if last != nil && within(m, last) || seen[m] {
				continue
			}
			last, seen[m] = m, true
			found = append(found, m)
		}
	}
	return found
}

// queryAll is cascadia.QueryAll, except that the names in XML, whose case
// counts elsewhere, are matched whatever their case.
func queryAll(n *html.Node, group cascadia.SelectorGroup) []*html.Node {
	if n.Namespace != xmlSpace {
		return cascadia.QueryAll(n, group)
	}
	names := map[*html.Node]string{}
	for c := range n.Descendants() {
		if lower := strings.ToLower(c.Data); c.Type == html.ElementNode && lower != c.Data {
			names[c], c.Data = c.Data, lower
		}
	}
	defer func() {
		for c, name := range names {
			c.Data = name
		}
	}()
	return cascadia.QueryAll(n, group)
}

// attributesOf returns an attribute of each element that has it, one a line.
func attributesOf(v value, nodes []*html.Node, attr, selector string) (value, error) {
	var list []string
	for _, n := range nodes {
		if val, ok := attributeValue(n, attr); ok {
			list = append(list, val)
		}
	}
	if list == nil {
		return v, fail(FailSelector, selectorHint, "no element that matches %s has the attribute %s", quoted(selector), attr)
	}
	return textValue(v, textLines(list)), nil
}

func attributeValue(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if strings.EqualFold(a.Key, key) {
			return a.Val, true
		}
	}
	return "", false
}

// textLines returns texts one a line.
func textLines(list []string) []byte {
	var out []byte
	for _, s := range list {
		out = append(append(out, oneLine(s, 1<<20)...), '\n')
	}
	return out
}

func compileXPath(a argument) (func(value) (value, error), bool, error) {
	path, some, err := selectionOf(a, "//article")
	if err != nil {
		return nil, false, err
	}
	f, err := xpathFinder(a.field, path)
	return some.of(f), true, err
}

func parseXPath(field, path string) (*xpath.Expr, error) {
	if err := checkLength(field, path); err != nil {
		return nil, err
	}
	expr, err := safely(func() (*xpath.Expr, error) { return xpath.Compile(path) })
	if err != nil {
		return nil, invalid.Errorf(field, "%s in %s", strings.TrimPrefix(err.Error(), "expression "), quoted(path))
	}
	return expr, nil
}

// xpathFinder returns what finds the elements, attributes, texts, numbers or
// truths that a path selects.
func xpathFinder(field, path string) (func(value) (value, error), error) {
	expr, err := parseXPath(field, path)
	if err != nil {
		return nil, err
	}
	return func(v value) (value, error) {
		v, err := v.elements()
		if err != nil {
			return v, err
		}
		var nodes []*html.Node
		var list []string
		for _, n := range v.nodes {
			switch result := expr.Evaluate(newNavigator(n)).(type) {
			case *xpath.NodeIterator:
				for result.MoveNext() {
					at := result.Current().(*navigator)
					if at.attr < 0 && (at.at.Type == html.ElementNode || at.at.Type == html.DocumentNode) {
						nodes = append(nodes, at.at)
					} else {
						list = append(list, at.Value())
					}
					if len(nodes)+len(list) > maxNodes {
						return v, fail(FailLimit, "Choose a path that selects less.", "the path selects more than %d nodes", maxNodes)
					}
				}
			case nil:
			default:
				text, err := json.Marshal(result)
				if s, ok := result.(string); ok {
					text, err = []byte(s), nil
				}
				if err != nil {
					return v, fail(FailParse, "", "the path gives %v", result)
				}
				list = append(list, string(text))
			}
		}
		if len(nodes) > 0 {
			return v.withNodes(outermost(nodes)), nil
		}
		if len(list) > 0 {
			return textValue(v, textLines(list)), nil
		}
		return v, fail(FailSelector, selectorHint, "nothing on the page matches the path %s", quoted(path))
	}, nil
}

// outermost returns nodes without repeats and without those within others.
func outermost(nodes []*html.Node) (kept []*html.Node) {
	all, met := make(map[*html.Node]bool, len(nodes)), map[*html.Node]bool{}
	for _, n := range nodes {
		all[n] = true
	}
	for _, n := range nodes {
		p := n.Parent
		for p != nil && !all[p] {
			p = p.Parent
		}
		if p == nil && !met[n] {
			met[n] = true
			kept = append(kept, n)
		}
	}
	return kept
}

func compileDrop(a argument) (func(value) (value, error), bool, error) {
	var list texts
	if strings.HasPrefix(a.json, "{") {
		var by struct {
			CSS   texts `json:"css"`
			XPath texts `json:"xpath"`
		}
		if err := a.object(&by); err != nil {
			return nil, false, err
		}
		list = append(by.CSS, by.XPath...)
	} else if a.json == "" || json.Unmarshal([]byte(a.json), &list) != nil {
		return nil, false, a.missing(".ad or [nav, footer]")
	}
	if len(list) == 0 {
		return nil, false, a.missing(".ad or [nav, footer]")
	}
	var finders []func(*html.Node) []*html.Node
	for _, s := range list {
		if strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "(") {
			expr, err := parseXPath(a.field, s)
			if err != nil {
				return nil, false, err
			}
			finders = append(finders, func(n *html.Node) (found []*html.Node) {
				for it := expr.Select(newNavigator(n)); it.MoveNext(); {
					if at := it.Current().(*navigator); at.attr < 0 {
						found = append(found, at.at)
					}
				}
				return found
			})
			continue
		}
		group, err := parseCSS(a.field, s)
		if err != nil {
			return nil, false, err
		}
		finders = append(finders, func(n *html.Node) []*html.Node {
			found := queryAll(n, group)
			if n.Type == html.ElementNode && group.Match(n) {
				found = append(found, n)
			}
			return found
		})
	}
	return func(v value) (value, error) { return drop(v, finders) }, true, nil
}

// drop removes what the finders find from a copy of the elements.
func drop(v value, finders []func(*html.Node) []*html.Node) (value, error) {
	v, err := v.elements()
	if err != nil {
		return v, err
	}
	var kept []*html.Node
	for _, n := range v.nodes {
		n = cloned(n)
		gone := false
		for _, find := range finders {
			for _, m := range find(n) {
				if m == n {
					gone = true
				} else if m.Parent != nil {
					m.Parent.RemoveChild(m)
				}
			}
		}
		if !gone {
			kept = append(kept, n)
		}
	}
	out := v.withNodes(kept)
	out.selected = v.selected
	return out, nil
}

// cloned returns a copy of a tree, without what stands around it. Trees are not
// deep: the parser bounds them.
func cloned(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: n.Attr}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.AppendChild(cloned(child))
	}
	return c
}

// safely calls what may panic.
func safely[T any](call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return call()
}
