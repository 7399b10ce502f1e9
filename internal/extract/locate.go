package extract

import (
	"bytes"
	"encoding/json"
	"strings"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Bounds on looking for the element of a place.
const (
	maxLocated   = 1 << 20 // bytes of a page
	leastLocated = 3       // pages that have to have it
	mostTaken    = 2       // lines that the page loses with it
)

// Locate returns the step that drops the smallest element with an id or a class that
// holds what differs in a line of all pages. The pages are versions of one, read
// without any steps; line reports whether a line of their text is the one. There is no
// such step if the pages have no such element each, or lose more by it than the line.
func Locate(pages [][]byte, line func(string) bool) (reading.Step, bool) {
	if len(pages) < leastLocated {
		return reading.Step{}, false
	}
	found, err := safely(func() (reading.Step, error) { return locate(pages, line) })
	return found, err == nil && found.Name != ""
}

func locate(pages [][]byte, line func(string) bool) (best reading.Step, err error) {
	var blocks []*html.Node // that show the line, one of each page
	var roots []*html.Node
	for _, body := range pages {
		if len(body) > maxLocated {
			return best, nil
		}
		root, err := (&document{body: body, kind: reading.HTML}).root()
		if err != nil {
			return best, err
		}
		block := showing(root, line)
		if block == nil {
			return best, nil
		}
		roots, blocks = append(roots, root), append(blocks, block)
	}
	size := 0
	for _, selector := range selectorsAround(blocks[0], proposer{roots[0]}) {
		text, ok := sameElsewhere(selector, roots, blocks)
		if !ok || size > 0 && len(text) >= size {
			continue
		}
		if step := dropping(selector); spares(step, pages, line) {
			best, size = step, len(text)
		}
	}
	return best, nil
}

// showing returns the smallest element that shows a line; nil if none does.
func showing(n *html.Node, line func(string) bool) (smallest *html.Node) {
	shows := func(n *html.Node) bool {
		for l := range bytes.Lines(nodesText([]*html.Node{n}, false)) {
			if line(strings.TrimSuffix(string(l), "\n")) {
				return true
			}
		}
		return false
	}
	if !shows(n) {
		return nil
	}
	for within := true; within; {
		within = false
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode && shows(c) {
				n, within = c, true
				break
			}
		}
	}
	return n
}

// selectorsAround returns selectors for an element and what is in it, and for the
// nearest one around it that has any.
func selectorsAround(block *html.Node, p proposer) (list []string) {
	add := func(n *html.Node) bool {
		if n.Type != html.ElementNode || attributeOf(n, "id") == "" && attributeOf(n, "class") == "" {
			return false
		}
		if s := p.selectorOf(n); s != "" {
			list = append(list, s)
			return true
		}
		return false
	}
	for n := range block.Descendants() {
		add(n)
	}
	for n := block; n != nil && n.Data != "body"; n = n.Parent {
		if add(n) {
			break
		}
	}
	return list
}

// sameElsewhere reports whether a selector matches one element of each page, which has
// other text there and leaves the same of the line, and returns the longest such text.
func sameElsewhere(selector string, roots, blocks []*html.Node) (longest string, ok bool) {
	group, err := parseCSS("drop", selector)
	if err != nil {
		return "", false
	}
	var first, rest string
	differs := false
	for i, root := range roots {
		found := queryAll(root, group)
		if len(found) != 1 {
			return "", false
		}
		text, left := oneLine(innerText(found[0]), maxCell), ""
		if isWithin(found[0], blocks[i]) {
			left = strings.Replace(oneLine(innerText(blocks[i]), maxCell), text, "", 1)
		}
		if i == 0 {
			first, rest = text, left
		}
		if left != rest {
			return "", false
		}
		differs = differs || text != first
		if len(text) > len(longest) {
			longest = text
		}
	}
	return longest, differs
}

func isWithin(n, of *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == of {
			return true
		}
	}
	return false
}

func dropping(selector string) reading.Step {
	arg, err := json.Marshal(selector)
	if err != nil {
		panic(err) // a string always marshals
	}
	return reading.Step{Name: "drop", Arg: string(arg)}
}

// spares reports whether a step takes a line out of pages, or what differs in it, and
// little else.
func spares(step reading.Step, pages [][]byte, line func(string) bool) bool {
	for _, body := range pages {
		before, err := Extract(reading.Recipe{Kind: reading.HTML}, freshet.Response{Body: body})
		if err != nil {
			return false
		}
		after, err := Extract(reading.Recipe{Kind: reading.HTML, Read: []reading.Step{step}}, freshet.Response{Body: body})
		if err != nil || countLines(before.Text)-countLines(after.Text) > mostTaken {
			return false
		}
		for l := range bytes.Lines(after.Text) {
			if line(strings.TrimSuffix(string(l), "\n")) {
				return false
			}
		}
	}
	return true
}
