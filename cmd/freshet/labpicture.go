package main

import (
	"fmt"
	"html"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"freshet/plot"
)

// pictureFlags say where pictures go.
type pictureFlags struct{ svg, html string }

func (f *pictureFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.svg, "svg", "", "draw a picture into this file")
	set.StringVar(&f.html, "html", "", "write a page with pictures and figures into this file; it needs no other")
}

// wanted reports whether anybody wants a picture.
func (f *pictureFlags) wanted() bool { return f.svg != "" || f.html != "" }

// A picture is charts with what they are about, and the figures behind them.
type picture struct {
	title, about string
	charts       []interface{ SVG() string }
	head         []string
	words        int // columns of the table, from the left, that are not figures
	rows         [][]string
}

// write draws the picture into the files that were named.
func (f *pictureFlags) write(p picture) error {
	if f.svg != "" {
		if err := os.WriteFile(f.svg, []byte(p.svg()), 0o644); err != nil {
			return fmt.Errorf("write a picture: %w", err)
		}
	}
	if f.html != "" {
		if err := os.WriteFile(f.html, []byte(p.html()), 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	return nil
}

// svg stacks the charts.
func (p picture) svg() string {
	if len(p.charts) == 1 {
		return p.charts[0].SVG()
	}
	var inner strings.Builder
	top := 0
	for _, c := range p.charts {
		s := c.SVG()
		inner.WriteString(strings.Replace(s, "<svg ", fmt.Sprintf(`<svg y="%d" `, top), 1))
		top += plot.Height(s)
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n<title>%s</title>\n%s</svg>\n",
		plot.Width, top, plot.Width, top, html.EscapeString(p.title), inner.String())
}

const pageStyle = `body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:64rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}svg{max-width:100%;height:auto;display:block;margin:1rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #e3e3e3}
.n{text-align:right}
.figures{overflow-x:auto}`

// html returns a page that needs nothing beside itself.
func (p picture) html() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%s</title>\n<style>%s</style></head>\n<body>\n<h1>%s</h1>\n<p>%s</p>\n",
		html.EscapeString(p.title), pageStyle, html.EscapeString(p.title), html.EscapeString(p.about))
	for _, c := range p.charts {
		b.WriteString(c.SVG())
	}
	b.WriteString("<div class=\"figures\"><table>\n")
	p.row(&b, "th", p.head)
	for _, row := range p.rows {
		p.row(&b, "td", row)
	}
	b.WriteString("</table></div>\n</body>\n</html>\n")
	return b.String()
}

// row writes a row of the table.
func (p picture) row(b *strings.Builder, tag string, cells []string) {
	b.WriteString("<tr>")
	for i, c := range cells {
		class := ""
		if i >= p.words {
			class = ` class="n"`
		}
		fmt.Fprintf(b, "<%s%s>%s</%s>", tag, class, html.EscapeString(c), tag)
	}
	b.WriteString("</tr>\n")
}
