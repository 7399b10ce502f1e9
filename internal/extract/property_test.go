package extract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// textOf returns the text of an HTML page.
func textOf(t interface{ Fatalf(string, ...any) }, r reading.Recipe, body string) string {
	rd, err := extract.Extract(r, page(body))
	if err != nil {
		t.Fatalf("extract from %q: %v", body, err)
	}
	return string(rd.Text)
}

// A node is part of a page from which noise can be kept apart.
type node struct {
	tag   string
	attrs []string
	text  string
	kids  []node
}

var (
	words  = rapid.SampledFrom([]string{"rain", "river", "is 3 < 4", "fish & chips", "größer", "日本語", "x", "1,5 m³/s"})
	inner  = []string{"b", "i", "a", "span", "em", "code", "button"}
	blocks = []string{"div", "p", "h1", "h3", "section", "blockquote", "article"}
)

// drawNode draws a well-formed piece of a page: elements stand only where the
// standard lets them stand.
func drawNode(t *rapid.T, depth int, inline bool) node {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		return node{text: words.Draw(t, "text")}
	}
	n := node{attrs: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{`class="a b"`, `id='x>y'`, "data-n=1", "lang=de", "translate"}), 0, 4, rapid.ID).Draw(t, "attributes")}
	tags := inner
	if !inline {
		tags = append(append([]string{}, blocks...), "ul", "table", "span")
	}
	n.tag = rapid.SampledFrom(tags).Draw(t, "tag")
	kids := rapid.IntRange(0, 4).Draw(t, "children")
	for range kids {
		switch n.tag {
		case "ul":
			n.kids = append(n.kids, node{tag: "li", kids: []node{drawNode(t, depth-1, false)}})
		case "table":
			var row node
			for range kids {
				row.kids = append(row.kids, node{tag: "td", kids: []node{drawNode(t, depth-1, false)}})
			}
			row.tag = "tr"
			n.kids = append(n.kids, node{tag: "tbody", kids: []node{row}})
		case "div", "section", "blockquote", "article":
			n.kids = append(n.kids, drawNode(t, depth-1, false))
		case "a", "button": // may not nest
			n.kids = append(n.kids, node{text: words.Draw(t, "label")})
		default:
			n.kids = append(n.kids, drawNode(t, depth-1, true))
		}
	}
	return n
}

// write writes the node, with as much noise as noise makes.
func (n node) write(b *strings.Builder, noise func() string, shuffle func([]string) []string, upper bool) {
	if n.tag == "" {
		b.WriteString(html.EscapeString(n.text))
		return
	}
	tag := n.tag
	if upper {
		tag = strings.ToUpper(tag)
	}
	b.WriteString("<" + tag)
	for _, a := range shuffle(n.attrs) {
		b.WriteString(" " + a)
	}
	b.WriteString(">")
	for _, k := range n.kids {
		b.WriteString(noise())
		k.write(b, noise, shuffle, upper)
		b.WriteString(noise())
	}
	b.WriteString("</" + tag + ">")
}

// TestNoiseDoesNotShow writes the same page twice, once with comments, scripts,
// tokens and shuffled attributes all over it.
func TestNoiseDoesNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 4, false)
		var quiet, noisy strings.Builder
		n.write(&quiet, func() string { return "" }, func(a []string) []string { return a }, false)
		n.write(&noisy, func() string {
			return rapid.SampledFrom([]string{
				"", "<!-- built 12:03:04 -->", `<script nonce="r4nd">if (a < b) {}</script>`, "<style>p{}</style>",
				"<template><p>x</p></template>", "<svg><path d='M0'/></svg>", "<noscript><p>x</p></noscript>", "&#8203;", "<wbr>",
			}).Draw(t, "noise")
		}, func(a []string) []string {
			return append(rapid.Permutation(a).Draw(t, "order"), fmt.Sprintf(`data-nonce="%d"`, rapid.IntRange(0, 99).Draw(t, "nonce")))
		}, rapid.Bool().Draw(t, "upper case"))
		want, got := textOf(t, reading.Recipe{}, quiet.String()), textOf(t, reading.Recipe{}, noisy.String())
		if got != want {
			t.Errorf("noise shows in %q:\n%s", noisy.String(), cmp.Diff(want, got))
		}
	})
}

// TestSpaceDoesNotShow stretches every white space in a page and adds more
// around its blocks.
func TestSpaceDoesNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		n := drawNode(t, 4, false)
		n.write(&b, func() string { return "" }, func(a []string) []string { return a }, false)
		tight := b.String()
		gap := rapid.SampledFrom([]string{"  ", "\n", "\r\n\t", " \f ", "&nbsp; "})
		var out strings.Builder
		text := true
		for _, r := range tight {
			switch {
			case r == '<':
				text = false
			case r == '>':
				text = true
			case r == ' ' && text:
				out.WriteString(gap.Draw(t, "gap"))
				continue
			case r == ' ':
				out.WriteString(" \n ")
				continue
			}
			out.WriteRune(r)
		}
		loose := "\n" + out.String() + " \n"
		for _, tag := range append(blocks, "li", "ul", "table", "tr") {
			loose = strings.ReplaceAll(loose, "</"+tag+">", " \n</"+tag+">\n\t")
		}
		want, got := textOf(t, reading.Recipe{}, tight), textOf(t, reading.Recipe{}, loose)
		if got != want {
			t.Errorf("white space shows in %q:\n%s", loose, cmp.Diff(want, got))
		}
	})
}

// TestTreeReadsLikeStream reads a page in one pass and by way of a tree.
func TestTreeReadsLikeStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		n := drawNode(t, 4, false)
		n.write(&b, func() string { return "" }, func(a []string) []string { return a }, false)
		body := "<!doctype html><html><head><title>T</title></head><body>" + b.String() + "</body></html>"
		want, got := textOf(t, reading.Recipe{}, body), textOf(t, reading.Recipe{CSS: "body"}, body)
		if got != want {
			t.Errorf("the tree of %q reads otherwise than the page (-page +tree):\n%s", body, cmp.Diff(want, got))
		}
	})
	body := string(samplePage())
	if want, got := textOf(t, reading.Recipe{}, body), textOf(t, reading.Recipe{CSS: "body"}, body); got != want {
		t.Errorf("the tree of the sample page reads otherwise than the page (-page +tree):\n%s", cmp.Diff(want, got))
	}
}

// TestJSONOrderDoesNotShow writes the same document with its members in
// another order, other white space and other escapes.
func TestJSONOrderDoesNotShow(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int64().AsAny())
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.StringN(0, 5, -1), value(depth-1), 0, 5).AsAny())
	}
	rapid.Check(t, func(t *rapid.T) {
		doc := value(4).Draw(t, "document")
		tight, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		loose := shuffled(t, doc)
		read := func(b []byte) string {
			rd, err := extract.Extract(reading.Recipe{Kind: reading.JSON}, freshet.Response{Body: b})
			if err != nil {
				t.Fatalf("extract from %s: %v", b, err)
			}
			checkText(t, rd.Text)
			return string(rd.Text)
		}
		want := read(tight)
		if got := read(loose); got != want {
			t.Errorf("%s and %s read otherwise:\n%s", tight, loose, cmp.Diff(want, got))
		}
		if again := read([]byte(want)); again != want {
			t.Errorf("the canonical form of %s changes when it is read again:\n%s", tight, cmp.Diff(want, again))
		}
		var a, b any
		if json.Unmarshal(tight, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("the canonical form of %s says something else:\n%s", tight, want)
		}
	})
}

// shuffled writes v with the members of objects in any order and every
// character of a string escaped.
func shuffled(t *rapid.T, v any) []byte {
	var b bytes.Buffer
	switch v := v.(type) {
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		b.WriteString("{\n")
		for i, name := range rapid.Permutation(names).Draw(t, "members") {
			if i > 0 {
				b.WriteString(" ,")
			}
			b.Write(shuffled(t, name))
			b.WriteString("\t: ")
			b.Write(shuffled(t, v[name]))
		}
		b.WriteString(" }")
	case []any:
		b.WriteString("[ ")
		for i, e := range v {
			if i > 0 {
				b.WriteString(",\r\n")
			}
			b.Write(shuffled(t, e))
		}
		b.WriteString("]")
	case string:
		b.WriteByte('"')
		for _, r := range v {
			if r < 0x10000 {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		b.WriteByte('"')
	default:
		if err := json.NewEncoder(&b).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
