package extract

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/goccy/go-yaml"
	"golang.org/x/net/html"

	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

func compilePretty(a argument) (func(value) (value, error), bool, error) {
	as := ""
	if a.json != "" && a.json != "true" {
		s, ok := a.word()
		if !ok {
			return nil, false, invalid.Errorf(a.field, "takes json, xml, yaml or html")
		}
		as = s
	}
	writers := map[string]func(value) ([]byte, error){"json": prettyJSON, "xml": prettyXML, "yaml": prettyYAML, "html": prettyHTML}
	if as != "" && writers[as] == nil {
		return nil, false, invalid.Errorf(a.field, "%s is not one of json, xml, yaml and html", quoted(as))
	}
	return func(v value) (value, error) {
		how := as
		if how == "" {
			how = prettyAs(v)
		}
		text, err := writers[how](v)
		if err != nil {
			return v, err
		}
		return textValue(v, plainText(text)), nil
	}, true, nil
}

// prettyAs returns how a value is written that nobody named a way for.
func prettyAs(v value) string {
	switch {
	case v.form == jsonForm, v.form == itemsForm:
		return "json"
	case v.form == documentForm && v.doc.kind == reading.JSON:
		return "json"
	case v.form == documentForm && v.doc.kind == reading.HTML:
		return "html"
	case v.form == nodesForm && len(v.nodes) > 0 && v.nodes[0].Namespace != xmlSpace:
		return "html"
	case v.form == nodesForm:
		return "xml"
	}
	text, err := v.verbatim()
	if err != nil {
		return "json"
	}
	switch start := bytes.TrimSpace(text); {
	case bytes.HasPrefix(start, []byte("<")):
		return "xml"
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[")):
		return "json"
	}
	return "yaml"
}

func prettyJSON(v value) ([]byte, error) {
	v, err := v.values()
	if err != nil {
		return nil, err
	}
	return jsonText(v.json)
}

// prettyYAML writes YAML or JSON as YAML with sorted keys.
func prettyYAML(v value) ([]byte, error) {
	text, err := v.verbatim()
	if err != nil {
		return nil, err
	}
	docs, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i, doc := range docs {
		b, err := yaml.MarshalWithOptions(withNumbers(doc), yaml.Indent(2), yaml.IndentSequence(true))
		if err != nil {
			return nil, fail(FailParse, "", "the YAML document cannot be written: %w", err)
		}
		if i > 0 {
			out = append(out, "---\n"...)
		}
		out = append(out, b...)
	}
	return out, nil
}

// withNumbers returns a value of JSON with whole numbers as such.
func withNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withNumbers(v[key])
		}
	}
	return v
}

// prettyXML indents an XML document. Texts that stand alone stay in the line of
// their element.
func prettyXML(v value) ([]byte, error) {
	if v.form == nodesForm {
		return prettyHTML(v)
	}
	text, err := v.verbatim()
	if err != nil {
		return nil, err
	}
	root, err := parseXML(text)
	if err != nil {
		return nil, err
	}
	return prettyHTML(value{form: nodesForm, nodes: []*html.Node{root}})
}

// prettyHTML indents a page or elements of it.
func prettyHTML(v value) ([]byte, error) {
	v, err := v.elements()
	if err != nil {
		return nil, err
	}
	var p prettyWriter
	for _, n := range v.nodes {
		p.node(n, 0)
	}
	if p.out.Len() > maxText {
		return nil, fail(FailLimit, asText, "the document is longer than %d MiB when indented", maxText>>20)
	}
	return p.out.Bytes(), nil
}

type prettyWriter struct{ out bytes.Buffer }

func (p *prettyWriter) indent(depth int) {
	for range min(depth, 64) {
		p.out.WriteString("  ")
	}
}

// void are the elements of HTML that have no end.
var void = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true,
	"link": true, "meta": true, "param": true, "source": true, "track": true, "wbr": true,
}

func (p *prettyWriter) node(n *html.Node, depth int) {
	if p.out.Len() > maxText {
		return
	}
	switch n.Type {
	case html.DocumentNode:
		for c := range n.ChildNodes() {
			p.node(c, depth)
		}
	case html.DoctypeNode:
		p.out.WriteString("<!DOCTYPE " + n.Data + ">\n")
	case html.TextNode:
		if text := strings.Join(strings.Fields(n.Data), " "); text != "" {
			p.indent(depth)
			p.text(text)
			p.out.WriteByte('\n')
		}
	case html.ElementNode:
		p.element(n, depth)
	}
}

func (p *prettyWriter) element(n *html.Node, depth int) {
	p.indent(depth)
	p.out.WriteString("<" + n.Data)
	for _, a := range n.Attr {
		p.out.WriteString(" " + a.Key + `="`)
		p.text(a.Val)
		p.out.WriteByte('"')
	}
	p.out.WriteByte('>')
	if void[n.Data] && n.Namespace != xmlSpace {
		p.out.WriteByte('\n')
		return
	}
	switch only := n.FirstChild; {
	case only == nil:
	case only == n.LastChild && only.Type == html.TextNode:
		if n.Data == "script" || n.Data == "style" {
			p.out.WriteString(strings.TrimSpace(only.Data))
		} else {
			p.text(strings.Join(strings.Fields(only.Data), " "))
		}
	default:
		p.out.WriteByte('\n')
		for c := range n.ChildNodes() {
			p.node(c, depth+1)
		}
		p.indent(depth)
	}
	p.out.WriteString("</" + n.Data + ">\n")
}

// escaper escapes no more than a text or a value needs.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func (p *prettyWriter) text(s string) {
	escaper.WriteString(&p.out, s)
}
