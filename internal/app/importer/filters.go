package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A chain turns the filters of a job into steps. What a filter gets depends on those before it:
// filters of text get the source of a page, unless html2text has made a text of it.
type chain struct {
	*Entry
	format Format
	form   form

	stripped bool // white space at the beginning is to be removed before the next filter of text
}

// A form is what a filter gets.
type form int

const (
	asResponse form = iota // nothing was done with it yet
	asElements             // of a page
	asMarkup               // text with tags
	asText                 // text without
)

// filters adds the steps for filters: a list, or a text such as css:main,html2text,strip.
func (c *chain) filters(v any) {
	switch v := v.(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			if name, arg, ok := strings.Cut(strings.TrimSpace(part), ":"); ok {
				c.filter(name, arg)
			} else if name != "" {
				c.filter(name, nil)
			}
		}
	case []any:
		for _, one := range v {
			c.filters(one)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.filter(name, v[name])
		}
	case nil:
	default:
		c.lost(fmt.Sprintf("filter %v", v), "it has no name")
	}
}

// An argument is what a filter takes: a text, or values by their names.
type argument struct {
	object
	alone any // the argument, if it has no names
}

// main returns the argument that may stand alone, with the white space that it has.
func (a argument) main(names ...string) string {
	for _, v := range append([]any{a.alone}, values(a.object, names)...) {
		if text, ok := v.(string); ok {
			return text
		} else if text := textOf(v); text != "" {
			return text
		}
	}
	return ""
}

func values(o object, names []string) (all []any) {
	for _, name := range names {
		all = append(all, o[name])
	}
	return all
}

// filter adds the steps for a filter.
func (c *chain) filter(name string, arg any) {
	a := argument{objectOf(arg), arg}
	switch name {
	case "css", "xpath":
		c.elements(name, a)
	case "element-by-id", "element-by-class", "element-by-style":
		kind := strings.TrimPrefix(name, "element-by-")
		c.element(name, fmt.Sprintf("[%s=%s]", kind, inJSON(a.main(kind))), a.main(kind))
	case "element-by-tag":
		c.element(name, a.main("tag"), a.main("tag"))
	case "jq", "jsonpath":
		c.form = asText
		c.needed(name, a.main("query", "path"), func(query string) { c.step(name, query) })
	case "html2text":
		c.html2text(a)
	case "beautify":
		c.pretty("html", asMarkup)
	case "format-json", "pretty-json":
		c.pretty("json", asText)
	case "pretty-xml", "format-xml":
		c.pretty("xml", asMarkup)
	case "jsontoyaml":
		c.pretty("yaml", asText)
	case "pdf2text":
		c.plain("pdf")
		if a.text("password") != "" {
			c.lost("the password of pdf2text", "encrypted PDF files cannot be read")
		}
	case "ical2text":
		c.plain("ical")
	case "csv2text":
		c.table(a)
	case "re.sub", "re.findall":
		c.needed(name, a.main("pattern"), func(pattern string) { c.pattern(name, pattern, a) })
	case "strip": // what is compared has no white space around it
		c.stripped = c.form == asResponse || c.form == asMarkup
		if a.on("splitlines") {
			c.lines("trim", true)
		}
		if chars := a.text("chars"); chars != "" {
			c.step("replace", map[string]any{"pattern": `\A[` + regexp.QuoteMeta(chars) + `]+|[` + regexp.QuoteMeta(chars) + `]+\z`, "with": ""})
		}
	default:
		c.lineFilter(name, a)
	}
}

// lineFilter adds the step for a filter of lines.
func (c *chain) lineFilter(name string, a argument) {
	step := map[string]any{}
	switch name {
	case "grep":
		step["keep"] = goPattern(a.main("re", "text"), false)
	case "grepi":
		step["drop"] = goPattern(a.main("re", "text"), false)
	case "keep_lines_containing", "keep_lines":
		step["keep"] = linesWith(a)
	case "delete_lines_containing", "remove_lines_containing", "delete_lines":
		step["drop"] = linesWith(a)
	case "sort":
		step["sort"], step["fold"] = true, true
		if a.on("reverse") {
			step["reverse"] = true
		}
	case "reverse":
		step["reverse"] = true
	case "remove-duplicate-lines", "remove_duplicate_lines":
		step["unique"] = true
	case "remove_repeated", "remove-repeated":
		step["unique"] = true
		c.notef("remove_repeated keeps lines that come back later; the step lines: unique keeps each line once")
	case "striplines", "strip_each_line", "strip_empty_lines", "remove-empty-lines", "clean-new-lines":
		step["trim"] = true
	default:
		c.otherFilter(name, a)
		return
	}
	pattern := textOf(step["keep"]) + textOf(step["drop"])
	_, keeps := step["keep"]
	_, drops := step["drop"]
	if (keeps || drops) && pattern == "" {
		c.lost("filter "+name, "it has no argument")
		return
	}
	if separator := a.main("separator"); (step["sort"] != nil || step["reverse"] != nil || step["unique"] != nil) && separator != "" && !isOn(separator) {
		step["separator"] = separator
	}
	c.toText(pattern, !keeps && !drops)
	c.step("lines", step)
}

// toText makes a text of what a filter of text gets. It is the source of a page, so that patterns
// match tags, unless whole lines are arranged and no pattern looks for tags.
func (c *chain) toText(pattern string, arranged bool) {
	switch {
	case c.form == asResponse && !arranged, c.form == asElements && strings.ContainsAny(pattern, `<>"`):
		c.plain("source")
		c.form = asMarkup
	case c.form == asElements, c.form == asResponse:
		c.plain("text")
	}
	if c.stripped {
		c.step("replace", map[string]any{"pattern": `\A\s+`, "with": ""})
		c.stripped = false
	}
}

// otherFilter notes a filter that has no step, with the nearest that exists.
func (c *chain) otherFilter(name string, a argument) {
	const sum, raw = "the text itself is compared, and only a hash of it is needed to see a change", "bytes that are no text are compared by their checksum"
	nearest := map[string]string{
		"ocr": "texts in pictures are not read; the picture itself is compared", "sha1sum": sum, "sha256sum": sum, "hexdump": raw, "ascii85": raw, "base64": raw,
		"absolute_links": "links are compared as they stand in the page",
	}[name]
	switch {
	case name == "shellpipe" || name == "execute":
		nearest = fmt.Sprintf("add the source to the configuration file, with allow_exec: true and url: %s", inJSON(fmt.Sprintf("exec:curl -fsSL '%s' | %s", strings.ReplaceAll(c.Source.URL, "'", "%27"), a.main("command"))))
	case nearest == "":
		nearest = "it is not a filter of urlwatch or webchanges, but a hook"
	}
	c.lost("filter "+name, nearest)
}

// needed calls do with the argument of a filter, or notes that there is none.
func (c *chain) needed(name, arg string, do func(string)) {
	if arg == "" {
		c.lost("filter "+name, "it has no argument")
		return
	}
	do(arg)
}

// plain adds a step that makes a text and takes no argument.
func (c *chain) plain(step string) {
	c.Source.Read, c.form = append(c.Source.Read, step), asText
}

func (c *chain) pretty(as string, becomes form) {
	c.step("pretty", as)
	c.form = becomes
}

// element adds a step that keeps the elements that a filter names.
func (c *chain) element(name, selector, arg string) {
	c.needed(name, arg, func(string) {
		c.step("css", selector)
		c.form = asElements
	})
}

// elements adds the steps for a selection of elements.
func (c *chain) elements(kind string, a argument) {
	selector := strings.TrimSpace(a.main("selector", "path"))
	if selector == "" {
		c.lost("filter "+kind, "it has no argument")
		return
	}
	c.form = asElements
	spaces := a.object.object("namespaces")
	if a.text("method") == "xml" && len(c.Source.Read) == 0 {
		c.Source.Select.Kind = "xml"
	}
	if exclude := a.text("exclude"); exclude != "" {
		c.step("drop", map[string]any{kind: []any{withoutPrefixes(kind, exclude, spaces)}})
	}
	selection := map[string]any{"selector": withoutPrefixes(kind, selector, spaces)}
	for key, theirs := range map[string]string{"skip": "skip", "first": "maxitems"} {
		if n := a.text(theirs); n != "" && n != "0" {
			selection[key] = a.object[theirs]
		}
	}
	if len(selection) == 1 {
		c.step(kind, selection["selector"])
	} else {
		c.step(kind, selection)
	}
	if a.on("sort") {
		c.plain("text")
		c.step("lines", map[string]any{"sort": true, "fold": true})
	}
}

// withoutPrefixes returns a selector in which names of XML need no prefix: which one a document
// uses is up to it.
func withoutPrefixes(kind, selector string, spaces object) string {
	for _, prefix := range slices.Sorted(maps.Keys(spaces)) {
		if kind == "xpath" {
			selector = regexp.MustCompile(`\b`+regexp.QuoteMeta(prefix)+`:([\pL_][\pL\pN_.-]*)`).ReplaceAllString(selector, `*[local-name()='$1']`)
		} else {
			selector = strings.ReplaceAll(selector, prefix+"|", "")
		}
	}
	return selector
}

// html2text makes a text of a page, with links if the method keeps them.
func (c *chain) html2text(a argument) {
	method := a.text("method")
	if a.object == nil {
		method = a.main()
	}
	markdown := method == "pyhtml2text" || c.format == Webchanges && (method == "" || method == "html2text")
	switch {
	case c.form == asText:
	case c.form == asMarkup:
		c.step("replace", map[string]any{"pattern": "<[^>]*>", "with": ""})
		c.lines("trim", true)
	case markdown && !a.on("ignore_links"):
		c.plain("markdown")
	default:
		c.plain("text")
	}
	c.form = asText
}

// pattern adds the steps for an expression that replaces or finds.
func (c *chain) pattern(name, pattern string, a argument) {
	c.toText(pattern, false)
	pattern = goPattern(pattern, true)
	with, ok := a.object["repl"].(string)
	switch {
	case name == "re.sub":
		c.step("replace", map[string]any{"pattern": pattern, "with": goReplacement(with)})
	case !ok || with == `\g<0>`:
		c.step("regex", map[string]any{"pattern": pattern, "group": 0})
	default:
		c.step("regex", map[string]any{"pattern": pattern, "group": 0})
		c.step("replace", map[string]any{"pattern": pattern, "with": goReplacement(with)})
	}
	c.form = max(c.form, asMarkup)
}

// table adds the steps for a CSV file. A message has the names of columns or their numbers, as in
// "{name}: {price}".
func (c *chain) table(a argument) {
	message := a.main("format_message")
	if message == "" || !strings.Contains(message, "{") {
		c.plain("table")
		return
	}
	rows := ".[]"
	byNumber := a.on("ignore_header") || a.off("has_header")
	if byNumber {
		c.step("table", map[string]any{"header": false})
		if !a.off("has_header") {
			rows = ".[1:][]"
		}
	} else {
		c.step("table", map[string]any{"header": true})
		rows += " | with_entries(.key |= ascii_downcase)"
	}
	n := 0
	columns := regexp.MustCompile(`\{[^{}]*\}`).ReplaceAllStringFunc(strings.ReplaceAll(strings.ReplaceAll(message, `\`, `\\`), `"`, `\"`), func(column string) string {
		name := strings.Trim(column, "{}")
		if name == "" {
			name = fmt.Sprint(n)
			n++
		}
		if i := 0; byNumber {
			_, _ = fmt.Sscan(name, &i)
			name = fmt.Sprint(i + 1)
		}
		return `\(.[` + strings.ReplaceAll(inJSON(strings.ToLower(name)), `\`, `\\`) + `] // "")`
	})
	c.step("jq", rows+` | "`+columns+`"`)
	c.form = asText
}

// linesWith returns the pattern of lines that contain a text or match an expression.
func linesWith(a argument) string {
	if re := a.text("re"); re != "" {
		return goPattern(re, false)
	}
	return regexp.QuoteMeta(a.main("text"))
}
