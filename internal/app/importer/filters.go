package importer

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"freshet/internal/lazyregexp"
)

// filters turns the filters of a job of urlwatch or webchanges into steps.
func (e *Entry) filters(said any) {
	switch said := said.(type) {
	case nil:
	case string: // css:main,html2text,strip
		for part := range strings.SplitSeq(said, ",") {
			name, arg, ok := strings.Cut(strings.TrimSpace(part), ":")
			switch {
			case ok:
				e.filter(name, arg)
			case name != "":
				e.filter(name, nil)
			}
		}
	case []any:
		for _, one := range said {
			switch one := one.(type) {
			case map[string]any:
				e.filterMap(one)
			default:
				e.filters(one)
			}
		}
	case map[string]any:
		e.filterMap(said)
	default:
		e.notef("filter %v is not carried over", said)
	}
}

// filterMap turns a filter with its argument into a step. Mostly it is one.
func (e *Entry) filterMap(filters map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		e.filter(name, filters[name])
	}
}

// An argument is what a filter is given: a text, or values by their names.
type argument struct {
	named map[string]any
	text  string
}

// argumentOf returns an argument. The text is the value of the first key that is there.
func argumentOf(arg any, keys ...string) argument {
	named, _ := arg.(map[string]any)
	a := argument{named: named, text: textOf(arg)}
	for _, key := range keys {
		if a.text == "" {
			a.text = textOf(named[key])
		}
	}
	return a
}

// on reports whether a value is true.
func (a argument) on(key string) bool {
	text := strings.ToLower(textOf(a.named[key]))
	return text == "true" || text == "yes" || text == "1"
}

// filter turns a filter into a step.
func (e *Entry) filter(name string, arg any) {
	switch name {
	case "css", "xpath":
		e.elements(name, argumentOf(arg, "selector", "path"))
	case "element-by-id":
		e.named("css", "#", argumentOf(arg, "id"))
	case "element-by-class":
		e.named("css", ".", argumentOf(arg, "class"))
	case "element-by-tag":
		e.named("css", "", argumentOf(arg, "tag"))
	case "element-by-style":
		if style := argumentOf(arg, "style").text; style != "" {
			e.step("css", "[style="+inJSON(style)+"]")
		}
	case "jq":
		e.named("jq", "", argumentOf(arg, "query"))
	case "jsonpath":
		e.named("jsonpath", "", argumentOf(arg, "path", "query"))
	case "html2text":
		e.html2text(argumentOf(arg, "method"))
	case "beautify":
		e.step("pretty", "html")
	case "format-json", "pretty-json":
		e.step("pretty", "json")
	case "pretty-xml", "format-xml":
		e.step("pretty", "xml")
	case "pdf2text":
		e.Source.Read = append(e.Source.Read, "pdf")
		if textOf(argumentOf(arg).named["password"]) != "" {
			e.notef("the password of pdf2text is not carried over: encrypted PDF files cannot be read")
		}
	case "ical2text":
		e.Source.Read = append(e.Source.Read, "ical")
	case "csv2text":
		e.Source.Read = append(e.Source.Read, "table")
	case "re.sub":
		e.substitute(arg)
	case "re.findall":
		e.find(argumentOf(arg, "pattern"))
	default:
		if !e.lineFilter(name, arg) {
			e.otherFilter(name)
		}
	}
}

// lineFilter turns a filter of lines into a step, and reports whether it is one.
func (e *Entry) lineFilter(name string, arg any) bool {
	switch name {
	case "grep":
		e.lines("keep", goPattern(argumentOf(arg, "re", "text").text))
	case "grepi":
		e.lines("drop", goPattern(argumentOf(arg, "re", "text").text))
	case "keep_lines_containing", "keep_lines":
		e.lines("keep", lineOf(arg))
	case "delete_lines_containing", "remove_lines_containing", "delete_lines":
		e.lines("drop", lineOf(arg))
	case "sort", "reverse":
		a := argumentOf(arg, "separator")
		step := map[string]any{name: true}
		if a.on("reverse") {
			step["reverse"] = true
		}
		e.step("lines", step)
		if sep := textOf(a.named["separator"]); sep != "" || name == "reverse" && a.text != "" && len(a.named) == 0 && a.text != "true" {
			e.notef("the separator of the filter %s is not carried over: lines are put in order", name)
		}
	case "remove-duplicate-lines", "remove_duplicate_lines":
		e.lines("unique", true)
	case "remove_repeated", "remove-repeated":
		e.lines("unique", true)
		e.notef("remove_repeated keeps lines that come back later; the step lines: unique keeps each line once")
	case "striplines", "strip_each_line", "strip_empty_lines", "remove-empty-lines", "clean-new-lines":
		e.lines("trim", true)
	case "strip":
		a := argumentOf(arg, "chars")
		if a.on("splitlines") {
			e.lines("trim", true)
		}
		if textOf(a.named["chars"]) != "" {
			e.notef("strip removes the characters %q; use a step replace", textOf(a.named["chars"]))
		}
	case "absolute_links", "lower", "case":
		if name != "absolute_links" {
			return false
		}
	default:
		return false
	}
	return true
}

// otherFilter notes a filter that has no step, with the nearest that exists.
func (e *Entry) otherFilter(name string) {
	nearest := map[string]string{
		"shellpipe": "run it in a source of its own: an exec: URL in the configuration file",
		"execute":   "run it in a source of its own: an exec: URL in the configuration file",
		"ocr":       "texts in pictures are not read; the picture itself is compared",
		"sha1sum":   "the text itself is compared, and only a hash of it is needed to see a change",
		"sha256sum": "the text itself is compared, and only a hash of it is needed to see a change",
		"hexdump":   "bytes that are no text are compared by their checksum",
		"ascii85":   "bytes that are no text are compared by their checksum",
		"base64":    "bytes that are no text are compared by their checksum",
	}[name]
	if nearest == "" {
		nearest = "it is not a filter of urlwatch or webchanges, but a hook"
	}
	e.notef("filter %s is not carried over: %s", name, nearest)
}

// elements turns a selection of elements into steps.
func (e *Entry) elements(kind string, a argument) {
	if a.text == "" {
		e.notef("filter %s has no argument", kind)
		return
	}
	if exclude := textOf(a.named["exclude"]); exclude != "" {
		e.step("drop", map[string]any{kind: []any{exclude}})
	}
	selector := a.text
	skip, most := textOf(a.named["skip"]), textOf(a.named["maxitems"])
	if skip != "" || most != "" {
		if kind == "css" {
			e.notef("skip and maxitems of the filter css are not carried over: with xpath, (PATH)[position() <= 5] keeps the first five")
		} else {
			selector = window(selector, skip, most)
		}
	}
	e.step(kind, selector)
	if a.on("sort") {
		e.lines("sort", true)
	}
	if len(asMap(a.named["namespaces"])) > 0 {
		e.notef("namespaces of the filter %s are not carried over: names in XML keep the prefixes of the document", kind)
	}
}

// window returns an XPath that keeps some of the nodes that another selects.
func window(path, skip, most string) string {
	var conditions []string
	if skip != "" && skip != "0" {
		conditions = append(conditions, "position() > "+skip)
	}
	if most != "" && most != "0" {
		if skip == "" {
			skip = "0"
		}
		conditions = append(conditions, "position() <= "+most+" + "+skip)
	}
	if len(conditions) == 0 {
		return path
	}
	return "(" + path + ")[" + strings.Join(conditions, " and ") + "]"
}

// named adds a step with a text as its argument.
func (e *Entry) named(step, prefix string, a argument) {
	if a.text == "" {
		e.notef("filter %s has no argument", step)
		return
	}
	e.step(step, prefix+a.text)
}

// html2text writes a page as text, with links if the method does so.
func (e *Entry) html2text(a argument) {
	step := "text"
	if a.text == "pyhtml2text" || a.text == "html2text" {
		step = "markdown"
	}
	e.Source.Read = append(e.Source.Read, step)
}

// lines adds a step that keeps or changes lines.
func (e *Entry) lines(key string, value any) {
	if value == "" {
		e.notef("a filter of lines has no argument")
		return
	}
	e.step("lines", map[string]any{key: value})
}

// lineOf returns the pattern of lines that contain a text or match an expression.
func lineOf(arg any) string {
	a := argumentOf(arg)
	if re := textOf(a.named["re"]); re != "" {
		return goPattern(re)
	}
	if text := textOf(a.named["text"]); text != "" {
		return regexp.QuoteMeta(text)
	}
	return regexp.QuoteMeta(a.text)
}

// substitute turns a replacement into a step. Without a replacement what matches is removed.
func (e *Entry) substitute(arg any) {
	pattern, with := untrimmed(arg), ""
	if named, ok := arg.(map[string]any); ok {
		pattern, with = untrimmed(named["pattern"]), untrimmed(named["repl"])
	}
	if pattern == "" {
		e.notef("filter re.sub has no pattern")
		return
	}
	e.step("replace", map[string]any{"pattern": goPattern(pattern), "with": goReplacement(with)})
}

// find turns a search for all matches into a step.
func (e *Entry) find(a argument) {
	e.named("regex", "", argument{text: goPattern(a.text)})
	if repl := textOf(a.named["repl"]); repl != "" && repl != `\g<0>` {
		e.notef("repl of the filter re.findall is not carried over: a step replace can follow")
	}
}

// untrimmed returns a text with the white space around it.
func untrimmed(v any) string {
	text, _ := v.(string)
	return text
}

var (
	pythonGroup = lazyregexp.New(`\\g<(\w+)>|\\(\d+)`)
	pythonEnd   = lazyregexp.New(`\\Z`)
)

// goPattern returns an expression of Python in the syntax of Go. Without flags ^ and $ stand for
// the ends of the text in Python, and for those of a line here, where lines are read one by one.
func goPattern(pattern string) string { return pythonEnd.ReplaceAllString(pattern, `\z`) }

// goReplacement returns a replacement of Python in the syntax of Go.
func goReplacement(with string) string {
	with = strings.ReplaceAll(with, "$", "$$")
	with = pythonGroup.ReplaceAllString(with, "$${$1$2}")
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(with)
}

// asMap returns a value as names and values.
func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
