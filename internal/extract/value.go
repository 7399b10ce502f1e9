package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
)

// A form is how what is read is held between two steps.
type form uint8

const (
	documentForm form = iota // bytes with a kind: a response that nothing was done with yet
	nodesForm                // elements of a page or of an XML document
	jsonForm                 // values
	textForm                 // text
	itemsForm                // rows, entries
)

// String names the form for people.
func (f form) String() string {
	return [...]string{"the response", "elements", "JSON", "text", "items"}[f]
}

// A value is what goes from one step to the next. Steps never change one: they
// make another.
type value struct {
	form  form
	doc   *document
	nodes []*html.Node
	json  []any
	text  []byte // as a page would show it, or as the last step made it
	items []freshet.Item

	title     string
	modified  time.Time
	dates     []time.Time
	freshFor  time.Duration
	announced evidence.Announcement
	header    []string // of the columns of items that are rows
	named     bool     // items whose fields the user named, as the groups of a pattern
	selected  bool     // nodes that were chosen by name, and show even if a page would hide them
}

func textValue(v value, text []byte) value {
	return value{form: textForm, text: text, title: v.title, modified: v.modified, dates: v.dates, freshFor: v.freshFor, announced: v.announced}
}

func (v value) withNodes(nodes []*html.Node) value {
	return value{form: nodesForm, nodes: nodes, title: v.title, selected: true}
}

func (v value) withJSON(values []any) value {
	return value{form: jsonForm, json: values, title: v.title}
}

func (v value) withItems(items []freshet.Item, header []string) value {
	return value{form: itemsForm, items: items, header: header, title: v.title}
}

// elements returns a value as elements: those of a page or XML document, or of
// text that is HTML.
func (v value) elements() (value, error) {
	switch v.form {
	case nodesForm:
		return v, nil
	case documentForm:
		root, err := v.doc.root()
		if err != nil {
			return v, err
		}
		return value{form: nodesForm, nodes: []*html.Node{root}, title: titleOf(root)}, nil
	case textForm:
		root, err := parsePage(v.text)
		if err != nil {
			return v, err
		}
		return value{form: nodesForm, nodes: []*html.Node{root}, title: v.title}, nil
	case jsonForm: // a text in it may be HTML
		text, err := v.plain()
		if err != nil {
			return v, err
		}
		if len(v.json) != 1 {
			return v, misfit("a page", v.form, "Use jq or jsonpath to choose one text first.")
		}
		if s, ok := v.json[0].(string); ok {
			return textValue(v, []byte(s)).elements()
		}
		return textValue(v, text).elements()
	}
	return v, misfit("a page", v.form, "Put this step before the one that makes items.")
}

// values returns a value as JSON: that of a JSON document, or of text that is JSON.
func (v value) values() (value, error) {
	switch v.form {
	case jsonForm:
		return v, nil
	case documentForm:
		values, err := v.doc.values()
		return v.withJSON(values), err
	case itemsForm:
		values, err := jsonOfItems(v.items)
		return v.withJSON(values), err
	}
	text, err := v.verbatim()
	if err != nil {
		return v, err
	}
	values, err := parseValues(text)
	return v.withJSON(values), err
}

// plain returns a value as the text that is compared.
func (v value) plain() ([]byte, error) {
	switch v.form {
	case documentForm:
		rd, err := v.doc.read()
		return rd.text, err
	case nodesForm:
		return nodesText(v.nodes, v.selected), nil
	case jsonForm:
		return jsonText(v.json)
	case itemsForm:
		if v.text != nil { // all of them, where items are but the first
			return v.text, nil
		}
		return itemsText(v.items, v.header), nil
	}
	return v.text, nil
}

// verbatim is plain, except that the text in elements is as written: a script is
// not laid out.
func (v value) verbatim() ([]byte, error) {
	switch v.form {
	case documentForm:
		return v.doc.decoded()
	case nodesForm:
		var b bytes.Buffer
		for i, n := range v.nodes {
			if i > 0 {
				b.WriteByte('\n')
			}
			for c := range n.Descendants() {
				if c.Type == html.TextNode {
					b.WriteString(c.Data)
				}
			}
		}
		return b.Bytes(), nil
	case jsonForm:
		if len(v.json) == 1 {
			if s, ok := v.json[0].(string); ok {
				return []byte(s), nil
			}
		}
	}
	return v.plain()
}

// bytes returns a value as it was sent, for steps that decode something.
func (v value) bytes() ([]byte, error) {
	if v.form == documentForm {
		return v.doc.body, nil
	}
	return v.verbatim()
}

func misfit(wanted string, have form, hint string) error {
	return fail(FailParse, hint, "this step needs %s, but the step before gives %s", wanted, have)
}

// jsonText writes values one after the other: a string as it reads, any other
// value as canonical JSON.
func jsonText(values []any) (out []byte, err error) {
	for _, v := range values {
		text, err := nodeText(v)
		if err != nil {
			return nil, err
		}
		if out = append(out, text...); len(out) > maxText {
			return nil, fail(FailLimit, "Select less.", "the selected values take more than %d MiB", maxText>>20)
		}
	}
	return out, nil
}

// parseValues reads a JSON document, or several of them one after the other.
func parseValues(src []byte) ([]any, error) {
	_, err := parseJSON(src) // for its limits and its messages
	if e, ok := errors.AsType[*Error](err); ok && (e.Class == FailLimit || !severalDocuments(src)) {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(withoutGuard(src)))
	d.UseNumber()
	var values []any
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			return values, nil
		} else if err != nil {
			return nil, fail(FailParse, "", "not a JSON document: %w", err)
		}
		if values = append(values, v); len(values) > maxValues {
			return nil, fail(FailLimit, "", "there are more than %d JSON documents", maxValues)
		}
	}
}

// severalDocuments reports whether src is JSON lines: a sequence of objects or lists.
func severalDocuments(src []byte) bool {
	d := json.NewDecoder(bytes.NewReader(withoutGuard(src)))
	n := 0
	for ; d.More(); n++ {
		var v json.RawMessage
		if d.Decode(&v) != nil || n > maxValues || len(v) == 0 || v[0] != '{' && v[0] != '[' {
			return false
		}
	}
	return n > 1
}
