package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

func (a *api) routeRendered(h huma.API, tags []string) {
	route(h, a, huma.Operation{
		OperationID: "get-rendered", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/rendered", Tags: tags,
		Summary:     "Show a version as a page that runs nothing and loads nothing",
		Description: "Scripts, handlers, forms, frames and all addresses are taken out. Meant for a frame with sandbox.",
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
	Mark   int              `query:"mark" minimum:"0" doc:"Draw a line around the element with this number, as the outline gives it"`
	Pick   bool             `query:"pick" doc:"Let somebody choose an element: one script of Freshet, and nothing else, tells the page around the frame the number of the element that is pointed at or clicked. The frame needs sandbox=allow-scripts"`
}

func (a *api) getRendered(ctx context.Context, in *renderedInput) (*renderedOutput, error) {
	v, err := a.version(ctx, &versionPath{in.ID, in.Number})
	if err != nil {
		return nil, err
	}
	if err := a.hold(ctx, 4*v.RawBytes); err != nil {
		return nil, err
	}
	raw, err := a.Store.Raw(ctx, in.ID, v.Number)
	if err != nil {
		return nil, fmt.Errorf("body of version %d of source %s: %w", v.Number, in.ID, err)
	}
	out := &renderedOutput{ContentType: "text/html; charset=utf-8", Policy: renderedPolicy, Frame: "SAMEORIGIN", Number: v.Number}
	if !strings.Contains(v.MediaType, "html") {
		text, err := a.Store.Text(ctx, in.ID, v.Number)
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

// harmless takes everything out of a page that could run, load or lead anywhere. It draws a
// line around the element with a number, if that stays, or lets somebody pick one.
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
