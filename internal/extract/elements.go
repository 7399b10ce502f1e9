package extract

// An element is what a tag means to the layout of a page.
type element struct {
	role  role
	level uint8  // of a heading
	name  string // of an element in which markup does not count
}

type role uint8

const (
	inline  role = iota // does not show by itself
	spaced              // set off by spaces, such as a button
	block               // a line of its own
	lineEnd             // <br>
	heading
	list
	item // of a list
	table
	row
	cell
	pre      // white space counts
	image    // shown by its alternative text
	title    // of the page
	textArea // its text is shown, markup does not count
	verbatim // likewise, and entities do not count either
	dropped  // neither its text nor markup within it counts
	template // dropped, but may hold markup and nest
	foreign  // SVG and MathML: dropped, with rules of its own
)

// elementOf returns what the element called name is. The case of name does not
// matter.
func elementOf(name []byte) element {
	var buf [12]byte
	if len(name) > len(buf) {
		return element{}
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	switch string(buf[:len(name)]) {
	case "p", "div", "section", "article", "aside", "header", "footer", "main", "nav", "search", "address",
		"blockquote", "center", "dd", "dt", "details", "summary", "dialog", "fieldset", "legend", "figure",
		"figcaption", "form", "hgroup", "hr", "body", "html", "head", "caption", "thead", "tbody", "tfoot",
		"optgroup", "option", "frameset", "marquee":
		return element{role: block}
	case "br":
		return element{role: lineEnd}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return element{role: heading, level: buf[1] - '0'}
	case "ul", "ol", "dl", "menu", "dir":
		return element{role: list}
	case "li":
		return element{role: item}
	case "table":
		return element{role: table}
	case "tr":
		return element{role: row}
	case "td", "th":
		return element{role: cell}
	case "pre", "listing":
		return element{role: pre}
	case "button", "input", "select", "label", "video", "audio", "object", "embed", "meter", "progress":
		return element{role: spaced}
	case "img", "area":
		return element{role: image}
	}
	return opaque(string(buf[:len(name)]))
}

// opaque returns what an element is in which markup does not count or does not
// show.
func opaque(name string) element {
	switch name {
	case "title":
		return element{role: title, name: "title"}
	case "textarea":
		return element{role: textArea, name: "textarea"}
	case "xmp":
		return element{role: verbatim, name: "xmp"}
	case "plaintext":
		return element{role: verbatim, name: "plaintext"}
	case "script":
		return element{role: dropped, name: "script"}
	case "style":
		return element{role: dropped, name: "style"}
	case "iframe":
		return element{role: dropped, name: "iframe"}
	case "noscript":
		return element{role: dropped, name: "noscript"}
	case "noembed":
		return element{role: dropped, name: "noembed"}
	case "noframes":
		return element{role: dropped, name: "noframes"}
	case "template":
		return element{role: template, name: "template"}
	case "svg":
		return element{role: foreign, name: "svg"}
	case "math":
		return element{role: foreign, name: "math"}
	}
	return element{}
}
