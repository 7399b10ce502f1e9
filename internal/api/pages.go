package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

func (a *versionAPI) routeRendered(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-rendered", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/rendered", Tags: tags,
		Summary:     "Show a version as a page without scripts and external content",
		Description: "Scripts, handlers, forms, frames and all addresses are removed. Intended for a sandboxed frame.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, a.getRendered)
}

type renderedOutput struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Frame       string `header:"X-Frame-Options"`
	Number      int    `header:"X-Version-Number"`
	Body        []byte
}

// renderedPolicy lets nothing run and nothing load, and puts the page into an origin of
// its own. Only our own page may frame it.
const renderedPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox"

type renderedInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Number string           `path:"number" doc:"Number of the version, or latest"`
	Mark   int              `query:"mark" minimum:"0" doc:"Outline the element with this number of the outline"`
	Pick   bool             `query:"pick" doc:"Let the user choose an element: a script of Freshet, and no other, sends the number of the element under the pointer to the parent page. The frame needs sandbox=allow-scripts"`
}

func (a *versionAPI) getRendered(ctx context.Context, in *renderedInput) (*renderedOutput, error) {
	v, err := a.version(ctx, &versionPath{in.ID, in.Number})
	if err != nil {
		return nil, err
	}
	if err := rest.Hold(ctx, 4*v.RawBytes); err != nil {
		return nil, err
	}
	raw, err := a.store.Raw(ctx, in.ID, v.Number)
	if err != nil {
		return nil, fmt.Errorf("body of version %d of source %s: %w", v.Number, in.ID, err)
	}
	out := &renderedOutput{ContentType: "text/html; charset=utf-8", Policy: renderedPolicy, Frame: "SAMEORIGIN", Number: v.Number}
	if !strings.Contains(v.MediaType, "html") {
		text, err := a.store.Text(ctx, in.ID, v.Number)
		if err != nil {
			return nil, err
		}
		out.Body = fmt.Appendf(nil, "<!doctype html><meta charset=utf-8><pre style=\"white-space:pre-wrap\">%s</pre>", html.EscapeString(string(text)))
		return out, nil
	}
	page, err := extract.HTML(v.MediaType, raw.Body)
	if err != nil {
		return nil, err
	}
	if in.Pick {
		out.Policy = pickPolicy
	}
	out.Body, err = harmless(page, in.Mark, in.Pick)
	return out, err
}

// dropped are the elements that run, load or lead somewhere, with all that is in them.
var dropped = []atom.Atom{
	atom.Script, atom.Iframe, atom.Frame, atom.Frameset, atom.Object, atom.Embed, atom.Applet, atom.Link, atom.Meta, atom.Base,
	atom.Form, atom.Audio, atom.Video, atom.Source, atom.Track, atom.Template, atom.Noscript, atom.Svg, atom.Math,
}

// keptAttributes are those that neither run nor load anything.
var keptAttributes = []string{"class", "id", "style", "title", "alt", "lang", "dir", "colspan", "rowspan", "width", "height", "align", "valign", "start", "type", "datetime", "scope"}

// harmless removes everything from a page that could run, load or lead anywhere. It outlines the
// element with a number, if that stays, or adds the script that lets a person pick one.
func harmless(page []byte, mark int, pick bool) ([]byte, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	var marked *html.Node
	if all := elements(doc); mark > 0 && mark <= len(all) {
		marked = all[mark-1]
	}
	if pick {
		number(doc, func() { clean(doc) })
	} else {
		clean(doc)
	}
	if marked != nil {
		draw(marked)
	}
	var out bytes.Buffer
	if err := html.Render(&out, doc); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// draw draws a line around an element.
func draw(n *html.Node) {
	n.Attr = slices.DeleteFunc(n.Attr, func(at html.Attribute) bool { return at.Key == "id" || at.Key == "style" })
	n.Attr = append(n.Attr, html.Attribute{Key: "id", Val: "freshet-mark"},
		html.Attribute{Key: "style", Val: "outline: 3px solid #0b6670 !important; outline-offset: 2px; background: #dcedee !important; color: #0f1e1f !important; scroll-margin: 80px"})
}

func clean(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.CommentNode || c.Namespace != "" || c.Type == html.ElementNode && slices.Contains(dropped, c.DataAtom):
			n.RemoveChild(c)
		case c.Type == html.ElementNode:
			c.Attr = slices.DeleteFunc(c.Attr, func(at html.Attribute) bool {
				return at.Namespace != "" || !slices.Contains(keptAttributes, at.Key) || at.Key == "style" && leads(at.Val)
			})
			if c.DataAtom == atom.Style {
				cleanStyle(c)
			}
			clean(c)
		}
		c = next
	}
}

// leads reports whether a style could load something.
func leads(style string) bool {
	style = strings.ToLower(style)
	return strings.Contains(style, "url") || strings.Contains(style, "@import") || strings.Contains(style, "image-set") || strings.Contains(style, `\`)
}

// cleanStyle empties a style that could load something.
func cleanStyle(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if leads(c.Data) {
			c.Data = ""
		}
	}
}

func (a *versionAPI) routeOutline(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-outline", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/outline", Tags: tags,
		Summary: "List the elements of a version that have content, each with a CSS selector",
		Description: fmt.Sprintf("In page order, at most %d. The mark parameter of rendered takes the number of an element. ", maxOutline) +
			"Meant for choosing what to compare: nothing of the page has to run for that.",
	}, a.getOutline)
}

// maxOutline is how many elements are listed.
const maxOutline = 1000

func (a *versionAPI) getOutline(ctx context.Context, in *versionPath) (*rest.Body[client.Outline], error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(v.MediaType, "html") {
		return nil, rest.NewProblem(http.StatusConflict, "this version is not an HTML page, so it has no elements")
	}
	if err := rest.Hold(ctx, 6*v.RawBytes); err != nil {
		return nil, err
	}
	doc, err := a.parsed(ctx, in.ID, v)
	if err != nil {
		return nil, err
	}
	return rest.Reply(outlined(doc, v.Number)), nil
}

// outlined returns the outline of the page of a version.
func outlined(doc *html.Node, version int) client.Outline {
	list := client.Outline{Version: version, Items: outlineOf(doc)}
	if len(list.Items) > maxOutline {
		list.Items, list.Cut = list.Items[:maxOutline], true
	}
	return list
}

// parsed returns the page of a version.
func (a *versionAPI) parsed(ctx context.Context, id freshet.SourceID, v freshet.Version) (*html.Node, error) {
	raw, err := a.store.Raw(ctx, id, v.Number)
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
		if len(items) > maxOutline { // one more than is returned
			break
		}
		items = append(items, client.OutlineItem{Number: i + 1, Depth: depth, Tag: n.Data, Selector: o.selector(n), Text: mask.Shorten(text, 160), Chars: len([]rune(text))})
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

// pickScript is the one script that runs in a page from which a person picks an element. It sends
// the page around it the number of the element under the pointer and of the one that was clicked,
// and marks the element whose number it receives. Only numbers pass either way.
const pickScript = `(() => {
  const of = (e) => e.target instanceof Element ? e.target.closest('[data-freshet]') : null;
  const tell = (act, el) => parent.postMessage({ freshet: act, number: el ? Number(el.getAttribute('data-freshet')) : 0 }, '*');
  let lit = null, marked = null;
  addEventListener('mouseover', (e) => {
    const el = of(e);
    if (el === lit) return;
    if (lit) lit.removeAttribute('data-freshet-lit');
    if (el) el.setAttribute('data-freshet-lit', '');
    lit = el;
    tell('over', el);
  }, true);
  addEventListener('click', (e) => {
    e.preventDefault();
    e.stopPropagation();
    const el = of(e);
    if (el) tell('choose', el);
  }, true);
  addEventListener('message', (e) => {
    if (e.source !== parent || !e.data || !Number.isInteger(e.data.mark)) return;
    if (marked) marked.removeAttribute('data-freshet-mark');
    marked = document.querySelector('[data-freshet="' + e.data.mark + '"]');
    if (!marked) return;
    marked.setAttribute('data-freshet-mark', '');
    marked.scrollIntoView({ block: 'nearest' });
  });
  tell('ready', null);
})();`

// pickStyle shows what is under the pointer, and what is chosen.
const pickStyle = `[data-freshet] { cursor: pointer !important; }
[data-freshet-lit] { outline: 2px dashed #bf7d08 !important; outline-offset: 1px !important; }
[data-freshet-mark] { outline: 3px solid #0b6670 !important; outline-offset: 2px !important; background: #dcedee !important; color: #0f1e1f !important; }`

// pickPolicy is renderedPolicy, but for that one script, which is known by its hash. The page
// has an origin of its own, so the script reaches nothing of ours.
var pickPolicy = func() string {
	sum := sha256.Sum256([]byte(pickScript))
	return "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; style-src 'unsafe-inline'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
}()

// number gives the elements that the outline lists their numbers, after cleaning: nothing
// that was captured can look like one.
func number(doc *html.Node, cleaned func()) {
	all := elements(doc)
	listed := outlineOf(doc)
	cleaned()
	for _, item := range listed[:min(len(listed), maxOutline)] {
		n := all[item.Number-1]
		n.Attr = append(n.Attr, html.Attribute{Key: "data-freshet", Val: strconv.Itoa(item.Number)})
	}
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Body && n.Type == html.ElementNode {
			n.AppendChild(textElement(atom.Style, pickStyle))
			n.AppendChild(textElement(atom.Script, pickScript))
			return
		}
	}
}

// textElement returns an element with a text of ours in it.
func textElement(tag atom.Atom, text string) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: tag.String(), DataAtom: tag}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	return n
}
