package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// kinds are the folders of the pages, in the order of the index.
var kinds = []struct{ dir, title string }{
	{"tutorial", "Tutorial"}, {"how-to", "How to"}, {"reference", "Reference"}, {"explanation", "Explanation"},
}

// A page is one document of the site.
type page struct {
	source []byte
	path   string // without its ending, such as how-to/alerts
	title  string
	tree   ast.Node
}

// A section is what search finds: a heading with the text below it.
type section struct {
	URL   string `json:"u"`
	Page  string `json:"p"`
	Title string `json:"t"`
	Text  string `json:"x"`
}

// Site returns the files of the documentation as a static site, by their paths.
var Site = sync.OnceValues(func() (map[string][]byte, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	all, err := readPages(markdown.Parser())
	if err != nil {
		return nil, err
	}
	layout, err := pages.ReadFile("site.html")
	if err != nil {
		return nil, err
	}
	site := map[string][]byte{}
	var found []section
	for _, p := range all {
		p.relink(all)
		found = append(found, p.sections()...)
		var body bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
			return nil, fmt.Errorf("render %s: %w", p.path, err)
		}
		root := strings.Repeat("../", strings.Count(p.path, "/"))
		site[p.path+".html"] = []byte(strings.NewReplacer( // html/template would make the program a sixth larger
			"{{title}}", html.EscapeString(p.title), "{{root}}", root, "{{index}}", indexOf(all, p, root), "{{body}}", scrollable.Replace(body.String()),
		).Replace(string(layout)))
	}
	words, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	site["search.js"] = slices.Concat([]byte("const sections = "), words, []byte(";\n"))
	return site, addFiles(site)
})

// scrollable lets a keyboard scroll what is wider than the screen.
var scrollable = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>", "<th></th>", "<td></td>")

// readPages parses all pages. Those of a kind are in the order in which the first page names them.
func readPages(markdown parser.Parser) (all []*page, err error) {
	first, err := pages.ReadFile("README.md")
	if err != nil {
		return nil, err
	}
	place := func(name string) int { return bytes.Index(first, []byte("("+name)) }
	names := []string{"README.md", "architecture.md"}
	for _, k := range kinds {
		found, err := fs.Glob(pages, k.dir+"/*.md")
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, func(a, b string) int { return place(a) - place(b) })
		names = append(names, found...)
	}
	for _, name := range names {
		source, err := pages.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p := &page{source: source, path: target(name)}
		p.tree = markdown.Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
		if h, ok := p.tree.FirstChild().(*ast.Heading); ok {
			p.title = words(h, source)
		}
		all = append(all, p)
	}
	return all, nil
}

// target returns the path of a page on the site, without its ending.
func target(name string) string {
	if dir, file := path.Split(name); file == "README.md" {
		return dir + "index"
	}
	return strings.TrimSuffix(name, ".md")
}

// addFiles adds what is not a page.
func addFiles(site map[string][]byte) (err error) {
	for _, name := range []string{"site.css", "site.js", "explanation/results.svg", "explanation/results.csv", "explanation/papers.csv", "explanation/papers-full.txt"} {
		if site[name], err = pages.ReadFile(name); err != nil {
			return err
		}
	}
	return nil
}

// anchors makes the ids of headings as code hosts do, so that links hold there and here.
type anchors map[string]int

// Generate returns the id of a heading.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(string(value))))
	a[id]++
	if n := a[id] - 1; n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put notes an id that a page gives itself.
func (a anchors) Put(value []byte) { a[string(value)]++ }

// relink leads links to the pages of the site. Links to other files of the tree become text.
func (p *page) relink(all []*page) {
	var outside []*ast.Link
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if link, ok := n.(*ast.Link); ok && entering && !p.lead(link, all) {
			outside = append(outside, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range outside {
		parent := link.Parent()
		for c := link.FirstChild(); c != nil; c = link.FirstChild() {
			parent.InsertBefore(parent, link, c)
		}
		parent.RemoveChild(parent, link)
	}
}

// lead rewrites the destination of a link, and reports whether it is on the site or on the web.
func (p *page) lead(link *ast.Link, all []*page) bool {
	to := string(link.Destination)
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "mailto:") {
		return true
	}
	file, anchor, _ := strings.Cut(to, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	at := target(path.Join(path.Dir(p.path), file))
	if !strings.HasSuffix(file, ".md") {
		_, err := fs.Stat(pages, at)
		return err == nil
	}
	link.Destination = []byte(strings.TrimSuffix(file, path.Base(file)) + path.Base(at) + ".html" + anchor)
	return slices.ContainsFunc(all, func(o *page) bool { return o.path == at })
}

// sections cuts a page at its headings.
func (p *page) sections() (all []section) {
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			s := section{URL: p.path + ".html", Page: p.title, Title: words(h, p.source)}
			if id, ok := h.AttributeString("id"); ok && h.Level > 1 {
				s.URL += "#" + string(id.([]byte))
			}
			all = append(all, s)
		} else if len(all) > 0 {
			all[len(all)-1].Text += words(n, p.source) + " "
		}
	}
	return all
}

// words returns the text of a node.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(source))
				if t.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// indexOf returns the index of the site as HTML; root leads from the page to the first one.
func indexOf(all []*page, here *page, root string) string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>", k.title)
		for _, p := range all {
			if path.Dir(p.path) != k.dir && (k.dir != "explanation" || p.path != "architecture") {
				continue
			}
			current, parts := "", ""
			if p == here {
				current, parts = ` aria-current="page"`, p.parts()
			}
			fmt.Fprintf(&b, `<li><a href="%s%s.html"%s>%s</a>%s</li>`, root, p.path, current, html.EscapeString(p.title), parts)
		}
		b.WriteString("</ul>\n")
	}
	return b.String()
}

// parts returns the headings of a page, but its title and those of the third level, as a list of links.
func (p *page) parts() string {
	var b strings.Builder
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			id, _ := h.AttributeString("id")
			fmt.Fprintf(&b, `<li><a href="#%s">%s</a></li>`, id, html.EscapeString(words(h, p.source)))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<ul>" + b.String() + "</ul>"
}

// policy is what a browser may do on the site: use its style and its script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Serve answers a request for the file that the path value "file" names; "" is the first page.
func Serve(w http.ResponseWriter, r *http.Request) {
	site, err := Site()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	name := r.PathValue("file")
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	file, ok := site[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file))
}
