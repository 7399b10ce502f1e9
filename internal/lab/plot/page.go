package plot

import (
	"fmt"
	"html"
	"strings"
)

// A Page is charts with what they are about, and the figures behind them.
type Page struct {
	Title, About string
	Charts       []interface{ SVG() string }
	Head         []string
	Words        int // columns of the table, from the left, that are not figures
	Rows         [][]string
}

// SVG stacks the charts.
func (p Page) SVG() string {
	if len(p.Charts) == 1 {
		return p.Charts[0].SVG()
	}
	var inner strings.Builder
	top := 0
	for _, c := range p.Charts {
		s := c.SVG()
		inner.WriteString(strings.Replace(s, "<svg ", fmt.Sprintf(`<svg y="%d" `, top), 1))
		top += Height(s)
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n<title>%s</title>\n%s</svg>\n",
		Width, top, Width, top, html.EscapeString(p.Title), inner.String())
}

const pageStyle = `body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:64rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}svg{max-width:100%;height:auto;display:block;margin:1rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #e3e3e3}
.n{text-align:right}
.figures{overflow-x:auto}`

// HTML returns a page that needs nothing beside itself.
func (p Page) HTML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>\n<style>%s</style></head>\n<body>\n<h1>%s</h1>\n<p>%s</p>\n",
		html.EscapeString(p.Title), pageStyle, html.EscapeString(p.Title), html.EscapeString(p.About))
	for _, c := range p.Charts {
		b.WriteString(c.SVG())
	}
	b.WriteString("<div class=\"figures\"><table>\n")
	p.row(&b, "th", p.Head)
	for _, row := range p.Rows {
		p.row(&b, "td", row)
	}
	b.WriteString("</table></div>\n</body>\n</html>\n")
	return b.String()
}

// row writes a row of the table.
func (p Page) row(b *strings.Builder, tag string, cells []string) {
	b.WriteString("<tr>")
	for i, c := range cells {
		class := ""
		if i >= p.Words {
			class = ` class="n"`
		}
		fmt.Fprintf(b, "<%s%s>%s</%s>", tag, class, html.EscapeString(c), tag)
	}
	b.WriteString("</tr>\n")
}
