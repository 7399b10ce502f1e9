package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"freshet/internal/safeyaml"
)

// eachJob reads jobs: one per YAML document, or a list in one document.
func eachJob(text string, yield func(Entry) error) error {
	if strings.HasPrefix(text, "%") || strings.Contains(text, "\n%") { // directives belong to the following document
		return eachJobOf(text, 0, yield)
	}
	begin, at, first, line := 0, 0, 0, 0
	for next := range strings.Lines(text) {
		if next = strings.TrimRight(next, " \t\r\n"); next == "---" && at > begin {
			if err := eachJobOf(text[begin:at], first, yield); err != nil {
				return err
			}
			begin, first = at, line
		}
		at += lineLength(text[at:])
		line++
	}
	return eachJobOf(text[begin:], first, yield)
}

// lineLength returns the length of the first line of a text including its line break.
func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// eachJobOf reads the jobs of a part of a text that follows linesBefore lines.
func eachJobOf(text string, before int, yield func(Entry) error) error {
	tree, err := safeyaml.Parse([]byte(text))
	if e, ok := errors.AsType[*safeyaml.Error](err); ok {
		e.Line += before
	}
	if err != nil {
		return fmt.Errorf("this is not YAML: %w", err)
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		nodes := []ast.Node{doc.Body}
		if list, ok := doc.Body.(*ast.SequenceNode); ok {
			nodes = list.Values
		}
		for _, n := range nodes {
			e := jobOf(n)
			e.Line += before
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobOf returns what becomes of a job.
func jobOf(n ast.Node) (e Entry) {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		e.Line = tk.Position.Line
	}
	job := map[string]any{}
	if err := safeyaml.Unmarshal([]byte(n.String()), &job); err != nil {
		e.Err = fmt.Errorf("a job has keys and values, such as url: https://…")
		return e
	}
	url := textOf(job["url"])
	if url == "" {
		url = textOf(job["navigate"])
		if url != "" {
			e.Source.Render = true
		}
	}
	switch {
	case url == "" && job["command"] != nil:
		e.Err = fmt.Errorf("commands are not brought over: list it as an exec: source in the configuration file")
		return e
	case url == "":
		e.Err = fmt.Errorf("there is no url")
		return e
	}
	e.Source.URL, e.Source.Name = url, textOf(job["name"])
	if e.Source.Name == "" {
		e.Source.Name = textOf(job["note"])
	}
	switch tags := job["tags"].(type) {
	case []any:
		for _, t := range tags {
			e.Source.Tags = append(e.Source.Tags, tagsOf([]string{textOf(t)})...)
		}
	case string:
		e.Source.Tags = tagsOf(strings.Split(tags, ","))
	}
	e.filters(job["filter"])
	for _, key := range slices.Sorted(maps.Keys(job)) {
		switch key {
		case "url", "navigate", "name", "note", "tags", "filter", "kind":
		default:
			e.Notes = append(e.Notes, key+" is not carried over")
		}
	}
	return e
}

// filters turns the filters of a job into steps.
func (e *Entry) filters(said any) {
	var list []any
	switch f := said.(type) {
	case nil:
		return
	case string: // css:main,html2text,strip
		for part := range strings.SplitSeq(f, ",") {
			name, arg, ok := strings.Cut(strings.TrimSpace(part), ":")
			if ok {
				list = append(list, map[string]any{name: arg})
			} else if name != "" {
				list = append(list, name)
			}
		}
	case []any:
		list = f
	default:
		list = []any{f}
	}
	for _, f := range list {
		name, arg := "", any(nil)
		switch f := f.(type) {
		case string:
			name = f
		case map[string]any:
			for k, v := range f {
				name, arg = k, v
			}
		}
		e.filter(name, arg)
	}
}

func (e *Entry) filter(name string, arg any) {
	text := textOf(arg)
	if m, ok := arg.(map[string]any); ok { // {selector: main, exclude: nav}
		for _, key := range []string{"selector", "path", "re", "pattern", "query"} {
			if text == "" {
				text = textOf(m[key])
			}
		}
		if textOf(m["exclude"]) != "" && (name == "css" || name == "xpath") {
			e.Notes = append(e.Notes, "exclude of the filter "+name+" is not carried over; add a step drop")
		}
	}
	switch name {
	case "css", "xpath", "jsonpath":
		e.step(name, text)
	case "jq":
		e.step("jq", text)
	case "element-by-id":
		e.step("css", "#"+text)
	case "element-by-class":
		e.step("css", "."+text)
	case "element-by-tag":
		e.step("css", text)
	case "html2text":
		e.Source.Read = append(e.Source.Read, "text")
	case "strip", "striplines", "remove-duplicate-lines", "pretty-xml", "format-json", "pretty-json": // such is what is compared here anyhow
	default:
		e.Notes = append(e.Notes, "filter "+name+" is not carried over")
	}
}

func (e *Entry) step(kind, arg string) {
	if arg == "" {
		e.Notes = append(e.Notes, "filter "+kind+" has no argument")
		return
	}
	e.Source.Read = append(e.Source.Read, map[string]any{kind: arg})
}

func textOf(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return strings.TrimSpace(s)
	}
	switch v.(type) {
	case map[string]any, []any:
		return ""
	}
	return fmt.Sprint(v)
}
