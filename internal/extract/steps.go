package extract

// A StepKind is a step that a recipe can have, with its description.
type StepKind struct {
	Name    string
	Takes   string // what it works on
	Gives   string
	Arg     string // what it is written with; "" if nothing
	Help    string // in one line
	Example string // as written in a file: one step
	Input   string // what the example is tried on
	Output  string // and what becomes of it
	Notes   string // more that there is to know, for the documentation

	compile func(argument) (run func(value) (value, error), heavy bool, err error)
}

// Steps returns the steps that there are.
func Steps() []StepKind { return stepKinds() }

const samplePage = `<h1>Pumps</h1><ul><li><a href="/a">Alpha</a> <b class="price">10 €</b></li><li><a href="/b">Beta</a> <b class="price">12 €</b></li></ul><p class="ad">Buy now</p>`

const sampleJSON = `{"pumps": [{"name": "Alpha", "price": 10}, {"name": "Beta", "price": 12}]}`

func stepKinds() []StepKind {
	return []StepKind{
		{Name: "css", Takes: "page, XML", Gives: "elements", Arg: "SELECTOR", Help: "keep the elements that match a CSS selector; SELECTOR@ATTRIBUTE keeps an attribute",
			Example: `css: .price`, Input: samplePage, Output: "10 €\n12 €\n",
			Notes: "`{selector: .price, skip: 1, first: 3}` leaves out the first element that matches, and keeps the next three. In XML the case of names does not matter. An element within another that matches is not repeated. A selector that matches nothing is an error, never an empty text: an element that has vanished must not look like one that was emptied.", compile: compileCSS},
		{Name: "xpath", Takes: "page, XML", Gives: "elements, text", Arg: "PATH", Help: "keep what an XPath 1.0 expression selects",
			Example: `xpath: //li/a/@href`, Input: samplePage, Output: "/a\n/b\n",
			Notes: "`{selector: //li, skip: 1, first: 3}` keeps a part of the elements, as with `css`. An expression may also give a text, a number or true and false, as `count(//li)` does. Names in XML keep their case and their prefixes, as in `//dc:creator`. There is no function that reads a file or another page.", compile: compileXPath},
		{Name: "drop", Takes: "page, XML", Gives: "elements", Arg: "SELECTOR", Help: "remove the elements that match a CSS selector, or an XPath that begins with /",
			Example: `drop: [h1, .ad]`, Input: samplePage, Output: "- Alpha 10 €\n- Beta 12 €\n",
			Notes: "Takes one selector, a list, or `{css: [...], xpath: [...]}`.", compile: compileDrop},
		{Name: "main", Takes: "page", Gives: "elements", Help: "keep the main article of a page, without menus, ads and footers",
			Example: `main`, Input: sampleArticle, Output: sampleArticleText, compile: compileMain},
		{Name: "markdown", Takes: "page", Gives: "text", Help: "write a page as Markdown, with links",
			Example: `markdown`, Input: `<h2>News</h2><p>Read <a href="/a">this</a>.</p>`, Output: "## News\n\nRead [this](/a).\n", compile: compileMarkdown},
		{Name: "text", Takes: "anything", Gives: "text", Help: "write what there is as text, as Freshet does at the end of each chain",
			Example: `text`, Input: samplePage, Output: "# Pumps\n- Alpha 10 €\n- Beta 12 €\nBuy now\n", compile: compileText},
		{Name: "source", Takes: "anything", Gives: "text", Help: "write what there is as it was received: elements with their tags, in the lines that they have",
			Example: `source`, Input: "<p>Read <b>this</b>.</p>", Output: "<p>Read <b>this</b>.</p>\n",
			Notes: "For patterns that match tags, as in `- source`, then `- lines: {keep: '<b'}`.", compile: compileSource},
		{Name: "jsonpath", Takes: "JSON", Gives: "JSON", Arg: "PATH", Help: "keep the values that a JSONPath (RFC 9535) selects",
			Example: `jsonpath: $.pumps[*].name`, Input: sampleJSON, Output: "Alpha\nBeta\n", compile: compileJSONPath},
		{Name: "jq", Takes: "JSON", Gives: "JSON", Arg: "PROGRAM", Help: "run a jq program; without env, input, debug and now",
			Example: `jq: .pumps[] | "\(.name) \(.price)"`, Input: sampleJSON, Output: "Alpha 10\nBeta 12\n",
			Notes: "A string is written as it reads, anything else as JSON. JSON in a page can be reached too: `css: script[type=\"application/ld+json\"]`, then `jq`.", compile: compileJQ},
		{Name: "regex", Takes: "text", Gives: "text, items", Arg: "PATTERN", Help: "keep what matches, one match a line; groups keep a part, named groups make fields",
			Example: `regex: (\d+) €`, Input: samplePage, Output: "10\n12\n",
			Notes: "The syntax is that of [RE2](https://github.com/google/re2/wiki/Syntax), in which no pattern runs for ever; `^` and `$` stand for the ends of a line. `{pattern: ..., group: 2}` keeps one group. With named groups, `(?P<name>...)`, each match is an item with fields; of a single match the groups are values of the version.", compile: compileRegex},
		{Name: "replace", Takes: "text", Gives: "text", Arg: "{pattern: PATTERN, with: TEXT}", Help: "replace what matches; $1 stands for the first group",
			Example: `replace: {pattern: '(\d+) €', with: 'EUR $1'}`, Input: "Alpha 10 €\n", Output: "Alpha EUR 10\n",
			Notes: "Takes a list of replacements too.", compile: compileReplace},
		{Name: "lines", Takes: "text", Gives: "text", Arg: "{keep, drop, between, trim, unique, sort, fold, reverse, head, tail, separator}", Help: "keep, drop, sort or cut lines",
			Example: `lines: {keep: €, sort: true, head: 1}`, Input: "Beta 12 €\nsold out\nAlpha 10 €\n", Output: "Alpha 10 €\n",
			Notes: "They are done in this order: `between: [BEGIN, END]` keeps the lines between two that match, `trim` takes away white space and blank lines, `keep` and `drop` take one pattern or a list, then `unique`, `sort`, `reverse`, `head: N` and `tail: N`. `fold` sorts capitals like small letters. `separator: ', '` cuts the text there instead of at the ends of lines. The words alone will do for those that need no value: `lines: [trim, sort]`.", compile: compileLines},
		{Name: "mask", Takes: "text", Gives: "text", Arg: "numbers, dates, times, hashes or {pattern: PATTERN}", Help: "hide what changes without meaning anything",
			Example: `mask: [dates, times]`, Input: "Updated 2026-03-12 at 10:15:01, 3 offers\n", Output: "Updated [date] at [time], 3 offers\n",
			Notes: "`{pattern: PATTERN, with: TEXT}` hides what a pattern matches.", compile: compileMask},
		{Name: "pretty", Takes: "JSON, XML, HTML, YAML", Gives: "text", Arg: "json, xml, yaml or html", Help: "indent a document, so that a change shows in its line",
			Example: `pretty: xml`, Input: "<a><b x='1'>one</b><b/></a>", Output: "<a>\n  <b x=\"1\">one</b>\n  <b></b>\n</a>\n",
			Notes: "Without a word, the document is written as what it looks like. YAML that refers to itself more than 20 times is refused.", compile: compilePretty},
		{Name: "table", Takes: "page, CSV", Gives: "items", Arg: "NUMBER or {table, delimiter, header}", Help: "read a table of a page or a CSV file as rows",
			Example: `table`, Input: "<table><tr><th>Name<th>Price<tr><td>Alpha<td>10 €<tr><td>Beta<td>12 €</table>", Output: "Name | Price\nAlpha | 10 €\nBeta | 12 €\n",
			Notes: "Of several tables the one with the most cells is read; `table: 2` reads the second, and `css` can choose one first. The delimiter of a CSV file is detected unless it is named. Rows are items: the key is the first column that tells them apart, unless `items: {key: COLUMN}` names one.", compile: compileTable},
		{Name: "pdf", Takes: "PDF", Gives: "text", Help: "read the text of a PDF file, one page after the other",
			Example: `pdf`,
			Notes:   "A PDF file is read like this without being asked. Pages that are pictures have no text.", compile: compilePDF},
		{Name: "ical", Takes: "iCalendar", Gives: "items", Help: "read the events of a calendar",
			Example: `ical`, Input: "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20260312T100000Z\r\nSUMMARY:Fair\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", Output: "2026-03-12T10:00:00Z Fair\n",
			Notes: "A calendar is read like this without being asked. Stamps that change at each request (DTSTAMP, SEQUENCE) are left out.", compile: compileICal},
		{Name: "xlsx", Takes: "XLSX", Gives: "items", Arg: "SHEET", Help: "read a sheet of a workbook as rows, the first unless one is named",
			Example: `xlsx`,
			Notes:   "A workbook is read like this without being asked. `xlsx: 2` or `xlsx: Prices` reads another sheet.", compile: compileXLSX},
		{Name: "decode", Takes: "bytes, text", Gives: "the response", Arg: "base64, gzip, jwt, url or html", Help: "decode what is wrapped: the result is read like a response",
			Example: `decode: base64`, Input: "SGVsbG8K", Output: "Hello\n",
			Notes: "gzip within gzip is undone at once. Of a JSON Web Token the header and the claims are shown; the signature is not checked.", compile: compileDecode},
	}
}

const sampleArticle = `<title>Floods</title><nav><a href="/">Home</a> <a href="/news">News</a></nav><article><h1>Floods</h1>` +
	`<p>The river rose by two metres in the night, and the lower town had to be left before dawn, said the mayor on Monday.</p>` +
	`<p>By noon the water had begun to fall again, slowly at first, then faster, and the first families went back to look at their houses.</p>` +
	`<p>The bridge stays closed until engineers have looked at its piers, which may take a week or more, depending on the weather.</p></article>` +
	`<footer>Copyright, imprint, privacy</footer>`

const sampleArticleText = "The river rose by two metres in the night, and the lower town had to be left before dawn, said the mayor on Monday.\n" +
	"By noon the water had begun to fall again, slowly at first, then faster, and the first families went back to look at their houses.\n" +
	"The bridge stays closed until engineers have looked at its piers, which may take a week or more, depending on the weather.\n"
