package extract

import (
	"bytes"
	"net/url"

	"codeberg.org/readeck/go-readability/v2"
	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"golang.org/x/net/html"
)

func compileText(a argument) (func(value) (value, error), bool, error) {
	return func(v value) (value, error) {
		if v.form == documentForm {
			g, err := v.doc.read()
			return value{form: textForm, text: g.text, title: g.title, modified: g.modified, dates: g.dates, freshFor: g.freshFor, announced: g.announced}, err
		}
		text, err := v.plain()
		return textValue(v, text), err
	}, false, a.none()
}

func compileSource(a argument) (func(value) (value, error), bool, error) {
	return func(v value) (value, error) {
		if v.form != nodesForm {
			text, err := v.verbatim()
			return textValue(v, plainText(text)), err
		}
		var out bytes.Buffer
		for _, n := range v.nodes {
			if err := html.Render(&out, n); err != nil {
				return v, fail(FailParse, "", "write the elements: %w", err)
			}
			out.WriteByte('\n')
		}
		return textValue(v, plainText(out.Bytes())), nil
	}, false, a.none()
}

func compileMain(a argument) (func(value) (value, error), bool, error) {
	return func(v value) (value, error) {
		v, err := v.elements()
		if err != nil {
			return v, err
		}
		root := &html.Node{Type: html.DocumentNode}
		for _, n := range v.nodes {
			root.AppendChild(cloned(n))
		}
		if len(v.nodes) == 1 && v.nodes[0].Type == html.DocumentNode {
			root = cloned(v.nodes[0])
		}
		p := readability.NewParser()
		p.MaxElemsToParse = maxNodes
		article, err := p.ParseAndMutate(root, &url.URL{})
		if err != nil {
			return v, fail(FailParse, "Use css to choose the part of the page.", "find the main text: %w", err)
		}
		if article.Node == nil {
			return v, fail(FailSelector, "Use css to choose the part of the page.", "the page has no main text")
		}
		out := v.withNodes([]*html.Node{article.Node})
		if title := oneLine(article.Title(), maxTitle); title != "" {
			out.title = title
		}
		return out, nil
	}, true, a.none()
}

func compileMarkdown(a argument) (func(value) (value, error), bool, error) {
	return func(v value) (value, error) {
		v, err := v.elements()
		if err != nil {
			return v, err
		}
		var out []byte
		for _, n := range v.nodes {
			text, err := htmltomarkdown.ConvertNode(n)
			if err != nil {
				return v, fail(FailParse, "", "write the page as Markdown: %w", err)
			}
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			if len(out) > 0 {
				out = append(out, "\n\n"...)
			}
			out = append(out, text...)
		}
		return textValue(v, plainText(out)), nil
	}, true, a.none()
}
