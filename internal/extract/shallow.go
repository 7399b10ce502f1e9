package extract

import (
	"bytes"

	"golang.org/x/net/html"
)

// Elements stay nested so deep of a page that the parser refuses; it takes 512, with those that it adds
// itself. Formatting that nobody closed leaves room for the rest, and elements without attributes for those
// that selectors name.
const (
	maxNesting    = 400
	maxPlain      = 300
	maxFormatting = 100
)

// shallow returns a page without the tags of the elements that are nested deeper. Their text stays.
func shallow(src []byte) []byte {
	out := make([]byte, 0, len(src))
	var open []string
	count, left := map[string]int{}, map[string]int{} // elements that are open, and that were left out and are open
	since := 0                                        // how many were open when the first was left out
	for z := html.NewTokenizer(bytes.NewReader(src)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out
		}
		before := len(out)
		out = append(out, z.Raw()...)
		tag, hasAttributes := z.TagName()
		name, most := string(tag), maxNesting
		switch {
		case isFormatting[name]:
			most = maxFormatting
		case !hasAttributes:
			most = maxPlain
		}
		switch isStart := kind == html.StartTagToken; {
		case isStart && isVoid[name], isStart && endsItself[name] && len(open) > 0 && open[len(open)-1] == name:
		case isStart && len(open) < most:
			open = append(open, name)
			count[name]++
		case isStart:
			if len(left) == 0 {
				since = len(open)
			}
			left[name]++
			out = out[:before]
		case kind == html.EndTagToken && left[name] > 0:
			left[name]--
			out = out[:before]
		case kind == html.EndTagToken && count[name] > 0:
			for last := ""; last != name; {
				last = open[len(open)-1]
				open = open[:len(open)-1]
				count[last]--
			}
			if len(open) < since {
				clear(left)
			}
		}
	}
}

// isFormatting has the elements that say how text looks, isVoid those without content, and endsItself those that end where the next one begins.
var (
	isFormatting = set("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "span", "strike", "strong", "tt", "u")

	isVoid     = set("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
	endsItself = set("dd", "dt", "li", "option", "p", "td", "th", "tr")
)

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, n := range names {
		s[n] = true
	}
	return s
}
