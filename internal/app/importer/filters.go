package importer

import (
	"cmp"
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
	all := []any{a.alone}
	for _, name := range names {
		all = append(all, a.object[name])
	}
	for _, v := range all {
		if text, ok := v.(string); ok {
			return text
		} else if text := textOf(v); text != "" {
			return text
		}
	}
	return ""
}

// prettyFilters are the filters that print a document in another form.
var prettyFilters = map[string]string{
	"beautify": "html", "format-json": "json", "pretty-json": "json", "pretty-xml": "xml", "format-xml": "xml", "jsontoyaml": "yaml",
}

// lineFilters are the filters that arrange lines, as the step lines.
var lineFilters = map[string][]string{
	"sort": {"sort", "fold"}, "reverse": {"reverse"}, "remove-duplicate-lines": {"unique"}, "remove-repeated": {"unique"},
	"striplines": {"trim"}, "strip-each-line": {"trim"}, "strip-empty-lines": {"trim"}, "remove-empty-lines": {"trim"}, "clean-new-lines": {"trim"},
}

// patternFilters are the filters that keep or drop lines, as the step lines.
var patternFilters = map[string]string{
	"grep": "keep", "grepi": "drop", "keep-lines-containing": "keep", "keep-lines": "keep",
	"delete-lines-containing": "drop", "remove-lines-containing": "drop", "delete-lines": "drop",
}

const onlyText, noText = "the text itself is compared, and only a hash of it is needed to see a change", "bytes that are no text are compared by their checksum"

// lostFilters are the filters that have no step, with the nearest that exists.
var lostFilters = map[string]string{
	"ocr": "texts in pictures are not read; the picture itself is compared", "sha1sum": onlyText, "sha256sum": onlyText, "hexdump": noText, "ascii85": noText, "base64": noText,
	"absolute_links": "links are compared as they stand in the page",
}

// filter adds the steps for a filter.
func (c *chain) filter(name string, arg any) {
	a := argument{objectOf(arg), arg}
	dashed := strings.ReplaceAll(name, "_", "-")
	switch {
	case prettyFilters[dashed] != "":
		c.step("pretty", prettyFilters[dashed])
		if c.form = asMarkup; prettyFilters[dashed] == "json" || prettyFilters[dashed] == "yaml" {
			c.form = asText
		}
		return
	case lineFilters[dashed] != nil:
		c.arrange(dashed, a)
		return
	case patternFilters[dashed] != "":
		pattern := a.main("re", "text")
		if dashed != "grep" && dashed != "grepi" && a.text("re") == "" {
			pattern = regexp.QuoteMeta(a.main("text"))
		}
		c.needed(name, goPattern(pattern, false), func(pattern string) {
			c.toText(pattern, false)
			c.lines(patternFilters[dashed], pattern)
		})
		return
	}
	switch name {
	case "css", "xpath":
		c.needed(name, strings.TrimSpace(a.main("selector", "path")), func(selector string) { c.elements(name, selector, a) })
	case "element-by-id", "element-by-class", "element-by-style", "element-by-tag":
		kind := strings.TrimPrefix(name, "element-by-")
		c.needed(name, a.main(kind), func(arg string) {
			if kind != "tag" {
				arg = fmt.Sprintf("[%s=%s]", kind, inJSON(arg))
			}
			c.step("css", arg)
			c.form = asElements
		})
	case "jq", "jsonpath":
		c.form = asText
		c.needed(name, a.main("query", "path"), func(query string) { c.step(name, query) })
	case "html2text":
		c.html2text(a)
	case "pdf2text", "ical2text":
		c.plain(strings.TrimSuffix(name, "2text"))
		if a.text("password") != "" {
			c.lost("the password of pdf2text", "encrypted PDF files cannot be read")
		}
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
			set := "[" + regexp.QuoteMeta(chars) + "]+"
			pattern := map[string]string{"left": `\A` + set, "right": set + `\z`}[a.text("side")]
			c.step("replace", map[string]any{"pattern": cmp.Or(pattern, `\A`+set+`|`+set+`\z`), "with": ""})
		}
	case "shellpipe", "execute":
		exec := inJSON(fmt.Sprintf("exec:curl -fsSL '%s' | %s", strings.ReplaceAll(c.Source.URL, "'", "%27"), a.main("command")))
		c.lost("filter "+name, "add the source to the configuration file, with allow_exec: true and url: "+exec)
	default:
		c.lost("filter "+name, cmp.Or(lostFilters[name], "it is not a filter of urlwatch or webchanges, but a hook"))
	}
}

// arrange adds the step for a filter that arranges lines.
func (c *chain) arrange(name string, a argument) {
	step := map[string]any{}
	for _, does := range lineFilters[name] {
		step[does] = true
	}
	if name == "sort" && a.on("reverse") {
		step["reverse"] = true
	}
	if name == "remove-repeated" && !a.off("adjacent") {
		c.notef("remove_repeated keeps lines that come back later; the step lines: unique keeps each line once")
	}
	if a.on("ignore_case") {
		c.lost("ignore_case of "+name, "lines that differ in case are different")
	}
	if separator := a.main("separator"); separator != "" && !isOn(separator) && step["trim"] == nil {
		step["separator"] = separator
	}
	c.toText("", true)
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

// elements adds the steps for a selection of elements.
func (c *chain) elements(kind, selector string, a argument) {
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
