package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// An itemFinder finds the items in a response.
type itemFinder struct {
	field  string
	find   func(value) (value, error) // nil: the items that the steps make
	key    *namedField
	column string // that is the key of rows
	fields []namedField
}

func compileItems(r reading.Items) (*itemFinder, error) {
	if r.IsZero() {
		return nil, nil
	}
	f := &itemFinder{field: "items"}
	find, language, err := finderOf("items", reading.Extract{CSS: r.CSS, XPath: r.XPath, JSONPath: r.JSONPath, JQ: r.JQ})
	if err != nil {
		return nil, err
	}
	f.find = find
	if r.Key != "" && (language == "" || isMember(r.Key, language)) {
		f.column = r.Key
	} else if r.Key != "" {
		one, err := compileField("items.key", "key", keyExtract(r.Key, language))
		if err != nil {
			return nil, err
		}
		f.key = &one
	}
	f.fields, err = compileFields("items.fields", r.Fields, language)
	return f, err
}

// isMember reports whether a key names a member of JSON objects.
func isMember(key, language string) bool {
	return (language == "jsonpath" || language == "jq") && !strings.ContainsAny(key, "$.[]|")
}

// keyExtract returns a key in the language of the selector of the items.
func keyExtract(key, language string) reading.Extract {
	switch language {
	case "xpath":
		return reading.Extract{XPath: key}
	case "jsonpath":
		return reading.Extract{JSONPath: key}
	case "jq":
		return reading.Extract{JQ: key}
	}
	return reading.Extract{CSS: key}
}

// items returns the items in a response, and what they were found in. End is what
// the steps made of the response.
func (f *itemFinder) items(start, end value) (Items, value, error) {
	if f.find == nil {
		return f.rekeyed(itemsOf(end)), end, nil
	}
	found, err := f.find(start)
	if err != nil {
		return Items{}, found, step{field: f.field}.blame(err)
	}
	var list []freshet.Item
	for _, one := range parts(found) {
		item, err := f.item(one)
		if err != nil {
			return Items{}, found, err
		}
		if list = append(list, item); len(list) == maxItems {
			break
		}
	}
	return ListOf(keyed(list, nil)), found, nil
}

// parts returns each element, value or line as a value of its own.
func parts(v value) (list []value) {
	switch v.form {
	case nodesForm:
		for _, n := range v.nodes {
			list = append(list, v.withNodes([]*html.Node{n}))
		}
	case jsonForm:
		for _, x := range spread(v.json) {
			list = append(list, v.withJSON([]any{x}))
		}
	default:
		for line := range bytes.Lines(v.text) {
			list = append(list, textValue(v, line))
		}
	}
	return list
}

// spread returns the elements of an array that stands alone.
func spread(values []any) []any {
	if len(values) == 1 {
		if list, ok := values[0].([]any); ok {
			return list
		}
	}
	return values
}

// item makes an item of an element or a value.
func (f *itemFinder) item(one value) (item freshet.Item, err error) {
	switch one.form {
	case nodesForm:
		item = itemOfElement(one.nodes[0])
	case jsonForm:
		item = itemOfJSON(one.json[0])
	default:
		item = freshet.Item{Text: oneLine(string(one.text), maxCell)}
	}
	if f.column != "" {
		if v, ok := item.Fields[f.column]; ok {
			item.Key = textOf(v)
		}
	}
	if f.key != nil {
		v, _, err := f.key.take(one)
		if err != nil {
			return item, err
		}
		item.Key = textOf(v)
	}
	if len(f.fields) > 0 {
		item.Fields = freshet.Fields{}
	}
	for _, field := range f.fields {
		v, _, err := field.take(one)
		if err != nil {
			return item, err
		}
		setField(&item, field.name, v)
	}
	return item, nil
}

// setField sets a field of an item. Those that every item can have, have a place
// of their own.
func setField(item *freshet.Item, name string, v any) {
	place := map[string]*string{"title": &item.Title, "link": &item.Link, "date": &item.Date, "text": &item.Text}[name]
	if s, ok := v.(string); ok && place != nil {
		*place = s
		return
	}
	item.Fields[name] = v
}

// rekeyed returns items with the key that the recipe names, where they have it.
func (f *itemFinder) rekeyed(items Items) Items {
	if f.column == "" {
		return items
	}
	list := slices.Clone(items.All())
	for i := range list {
		if v, ok := list[i].Fields[f.column]; ok {
			list[i].Key = textOf(v)
		}
	}
	return ListOf(uniqueKeys(list))
}

// itemOfElement makes an item of an element of a page: its text, and where its
// first link leads.
func itemOfElement(n *html.Node) freshet.Item {
	item := freshet.Item{Text: oneLine(string(nodesText([]*html.Node{n}, true)), maxCell)}
	item.Text = strings.TrimPrefix(item.Text, "- ")
	if n.Namespace == xmlSpace {
		return itemOfXML(n)
	}
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && c.Data == "a" && attributeOf(c, "href") != "" {
			item.Link = oneLine(attributeOf(c, "href"), 2000)
			item.Title = oneLine(string(nodesText([]*html.Node{c}, true)), maxTitle)
			break
		}
	}
	if n.Data == "a" {
		item.Link = oneLine(attributeOf(n, "href"), 2000)
	}
	if id := attributeOf(n, "id"); id != "" {
		item.Key = oneLine(id, 200)
	}
	return item
}

// itemOfXML makes an item of an XML element: the texts of its children by name.
func itemOfXML(n *html.Node) freshet.Item {
	item := freshet.Item{Fields: freshet.Fields{}}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode {
			item.Fields[c.Data] = oneLine(innerText(c), maxCell)
		}
	}
	if len(item.Fields) == 0 {
		return freshet.Item{Text: oneLine(innerText(n), maxCell)}
	}
	return item
}

// itemOfJSON makes an item of a value: of an object, its members.
func itemOfJSON(v any) freshet.Item {
	object, ok := v.(map[string]any)
	if !ok {
		return freshet.Item{Text: oneLine(textOf(v), maxCell)}
	}
	item := freshet.Item{Fields: freshet.Fields{}}
	for name, v := range object {
		item.Fields[name] = bounded(v)
	}
	return item
}

// bounded returns a value of JSON as a field keeps it.
func bounded(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case string:
		return oneLine(v, maxCell)
	case nil, bool, float64:
		return v
	case int:
		return float64(v)
	}
	return oneLine(textOf(v), maxCell)
}

// textOf returns a value in one line.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// itemsOf returns the items that a value has in it: its own, or the objects of a
// list in JSON.
func itemsOf(v value) Items {
	switch v.form {
	case itemsForm:
		return ListOf(v.items)
	case documentForm:
		if v.doc.kind == reading.JSON {
			if len(v.doc.body) > largeBody { // its tree would be many times as large, and nobody asked
				return Items{}
			}
			if doc, err := v.doc.parsedJSON(); err == nil {
				return doc.itemsOf(0)
			}
			return Items{} // the text of several documents cannot be read either
		}
		g, err := v.doc.read()
		if err != nil {
			return Items{}
		}
		return ListOf(g.items)
	case jsonForm:
		if len(v.json) == 1 && !isList(v.json[0]) {
			if inner := onlyList(v.json[0]); inner != nil {
				return itemsOf(v.withJSON([]any{inner}))
			}
			return Items{} // one object is a document, not a list
		}
		values := spread(v.json)
		var list []freshet.Item
		for _, x := range values[:min(len(values), maxItems)] {
			if _, ok := x.(map[string]any); !ok {
				return Items{}
			}
			list = append(list, itemOfJSON(x))
		}
		return ListOf(keyed(list, nil))
	}
	return Items{}
}

// listNames are what the list of an answer is called.
var listNames = [...]string{"items", "entries", "results", "data"}

// onlyList returns the one list of objects that an object has, as answers of APIs
// mostly do.
func onlyList(v any) (found []any) {
	object, _ := v.(map[string]any)
	for _, name := range listNames {
		if list, ok := object[name].([]any); ok && len(list) > 0 {
			return list
		}
	}
	for _, member := range object {
		list, ok := member.([]any)
		if !ok || len(list) == 0 {
			continue
		}
		if _, ok := list[0].(map[string]any); !ok {
			continue
		}
		if found != nil {
			return nil
		}
		found = list
	}
	return found
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// itemsText returns items as text.
func itemsText(list []freshet.Item, header []string) []byte {
	if header != nil {
		t := rows{header: header}
		names := t.names()
		for _, item := range list {
			var row []string
			for _, name := range names {
				row = append(row, textOf(item.Fields[name]))
			}
			t.rows = append(t.rows, row)
		}
		return t.text()
	}
	var out []byte
	for _, item := range list {
		var parts []string
		for _, s := range []string{item.Date, item.Title, item.Link} {
			if s != "" {
				parts = append(parts, s)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(item.Fields)) {
			parts = append(parts, textOf(item.Fields[name]))
		}
		if len(parts) == 0 {
			parts = append(parts, item.Text)
		}
		out = appendRow(out, parts)
	}
	return out
}

// jsonOfItems returns items as JSON for the steps that work on it.
func jsonOfItems(list []freshet.Item) ([]any, error) {
	all := make([]any, 0, len(list))
	for _, item := range list {
		object := map[string]any{}
		for name, v := range map[string]string{"title": item.Title, "link": item.Link, "date": item.Date, "text": item.Text} {
			if v != "" {
				object[name] = v
			}
		}
		for name, v := range item.Fields {
			if list, ok := v.([]string); ok {
				anys := make([]any, len(list))
				for i, s := range list {
					anys[i] = s
				}
				v = anys
			}
			object[name] = v
		}
		if len(object) == 0 {
			object["key"] = item.Key
		}
		all = append(all, object)
	}
	return []any{all}, nil
}
