package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet"
)

func (a *api) routeOutline(h huma.API, tags []string) {
	route(h, a, huma.Operation{
		OperationID: "get-outline", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/outline", Tags: tags,
		Summary: "List the elements of a version that say something, each with a CSS selector",
		Description: fmt.Sprintf("In the order of the page, at most %d. The number of an element is what rendered takes as mark. ", maxOutline) +
			"Meant for choosing what to compare: nothing of the page has to run for that.",
	}, a.getOutline)
}

// maxOutline is how many elements are listed.
const maxOutline = 1000

func (a *api) getOutline(ctx context.Context, in *versionPath) (*bodyOf[client.Outline], error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(v.MediaType, "html") {
		return nil, problem(http.StatusConflict, "this version is no HTML page, and has no elements")
	}
	if err := a.hold(ctx, 6*v.RawBytes); err != nil {
		return nil, err
	}
	doc, err := a.parsed(ctx, in.ID, v)
	if err != nil {
		return nil, err
	}
	list := client.Outline{Version: v.Number, Items: outlineOf(doc)}
	if len(list.Items) > maxOutline {
		list.Items, list.Cut = list.Items[:maxOutline], true
	}
	return &bodyOf[client.Outline]{list}, nil
}

// parsed returns the page of a version.
func (a *api) parsed(ctx context.Context, id freshet.SourceID, v freshet.Version) (*html.Node, error) {
	raw, err := a.Store.Raw(ctx, id, v.Number)
	if err != nil {
		return nil, fmt.Errorf("body of version %d of source %s: %w", v.Number, id, err)
	}
	page, err := extract.HTML(v.MediaType, raw.Body)
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return doc, nil
}

// elements returns the elements of a page in their order. The place of one, from 1, is its
// number.
func elements(doc *html.Node) (all []*html.Node) {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

// silent are the elements whose text nobody sees.
var silent = []atom.Atom{atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Title}

// plainName is a name that needs no escape in a selector.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// An outliner names the elements of a page by selectors.
type outliner struct {
	ids, classes map[string]int // how often each is there; a class with its tag before it
	selectors    map[*html.Node]string
	texts        map[*html.Node]string
	depths       map[*html.Node]int
}

// outlineOf returns the elements of a page that say something. One that says the same as the
// element around it is left out.
func outlineOf(doc *html.Node) []client.OutlineItem {
	o := outliner{ids: map[string]int{}, classes: map[string]int{}, selectors: map[*html.Node]string{}, texts: map[*html.Node]string{}, depths: map[*html.Node]int{}}
	all := elements(doc)
	for _, n := range all {
		o.ids[attribute(n, "id")]++
		for _, c := range strings.Fields(attribute(n, "class")) {
			o.classes[n.Data+"."+c]++
		}
	}
	o.read(doc)
	items := []client.OutlineItem{}
	for i, n := range all {
		text := o.texts[n]
		if n.DataAtom == atom.Html || text == "" {
			continue
		}
		depth := 0
		if n.Parent != nil {
			depth = o.depths[n.Parent]
			if n.DataAtom != atom.Body && o.texts[n.Parent] == text && n.Parent.DataAtom != atom.Body {
				o.depths[n] = depth
				continue
			}
		}
		o.depths[n] = depth + 1
		if len(items) > maxOutline { // one more than is told
			break
		}
		items = append(items, client.OutlineItem{Number: i + 1, Depth: depth, Tag: n.Data, Selector: o.selector(n), Text: freshet.Shorten(text, 160), Chars: len([]rune(text))})
	}
	return items
}

// maxOutlineText is how much of the text of an element is looked at, in bytes.
const maxOutlineText = 4096

// read gathers the text that each element shows.
func (o *outliner) read(n *html.Node) string {
	if n.Type == html.TextNode {
		return strings.Join(strings.Fields(n.Data), " ")
	}
	if n.Type == html.ElementNode && slices.Contains(silent, n.DataAtom) {
		return ""
	}
	var parts []string
	size := 0
	for c := range n.ChildNodes() {
		if t := o.read(c); t != "" && size < maxOutlineText {
			parts = append(parts, t)
			size += len(t)
		}
	}
	text := strings.Join(parts, " ")
	o.texts[n] = text
	return text
}

// selector returns a selector that finds this element alone: by its id, by a class that no
// other has, or by its place in the element around it.
func (o *outliner) selector(n *html.Node) string {
	if s, known := o.selectors[n]; known {
		return s
	}
	s := o.made(n)
	o.selectors[n] = s
	return s
}

func (o *outliner) made(n *html.Node) string {
	if id := attribute(n, "id"); plainName.MatchString(id) && o.ids[id] == 1 {
		return "#" + id
	}
	for _, c := range strings.Fields(attribute(n, "class")) {
		if plainName.MatchString(c) && o.classes[n.Data+"."+c] == 1 {
			return n.Data + "." + c
		}
	}
	if n.Parent == nil || n.Parent.Type != html.ElementNode || n.DataAtom == atom.Body {
		return n.Data
	}
	place, alike := 0, 0
	for c := range n.Parent.ChildNodes() {
		if c.Type == html.ElementNode && c.Data == n.Data {
			if alike++; c == n {
				place = alike
			}
		}
	}
	own := n.Data
	if alike > 1 {
		own = fmt.Sprintf("%s:nth-of-type(%d)", n.Data, place)
	}
	return o.selector(n.Parent) + " > " + own
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}
