package synth

import (
	"bytes"
	"fmt"
	"html"
	"time"
)

// newsPage lists the latest headlines.
func (w *Web) newsPage(p *page, version int, at time.Time) []byte {
	return w.html(p, version, at, func(b *bytes.Buffer) {
		b.WriteString("<ul class=\"headlines\">\n")
		for _, it := range w.items(p, version, 8) {
			fmt.Fprintf(b, "<li><article><h2><a href=\"/archive/%s/%d\">%s</a></h2><p>%s <time>%s</time></p></article></li>\n",
				p.ID, it.edition, it.title, it.text, it.at.Format(time.TimeOnly))
		}
		b.WriteString("</ul>\n")
	})
}

// statusPage says of each service how it is; each version is news of one.
func (w *Web) statusPage(p *page, version int, at time.Time) []byte {
	return w.html(p, version, at, func(b *bytes.Buffer) {
		b.WriteString("<dl>\n")
		for j, service := range services {
			chance := w.chance(p.ID, "status", j, touched(version, j, len(services)))
			fmt.Fprintf(b, "<dt>%s</dt><dd>%s, %d ms</dd>\n", service, pick(chance, states), 5+chance.IntN(900))
		}
		b.WriteString("</dl>\n")
	})
}

// pricePage is a table of goods; each version has a new price for one.
func (w *Web) pricePage(p *page, version int, at time.Time) []byte {
	return w.html(p, version, at, func(b *bytes.Buffer) {
		b.WriteString("<table><thead><tr><th>Article</th><th>Price</th><th>In stock</th></tr></thead><tbody>\n")
		for j, article := range goods {
			chance := w.chance(p.ID, "price", j, touched(version, j, len(goods)))
			fmt.Fprintf(b, "<tr><td>%s</td><td>%d.%02d</td><td>%d</td></tr>\n",
				article, 1+chance.IntN(80), chance.IntN(100), chance.IntN(300))
		}
		b.WriteString("</tbody></table>\n")
	})
}

// html puts the frame of a site round what fills main, and the page's noise
// into the frame.
func (w *Web) html(p *page, version int, at time.Time, main func(*bytes.Buffer)) []byte {
	var b bytes.Buffer
	name := html.EscapeString(p.Name)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>%s</title>", name)
	if p.Noise == Hidden {
		chance := w.chance(p.ID, "nonce", int(at.UnixNano()))
		fmt.Fprintf(&b, "<meta name=\"csrf-token\" content=\"%016x\"><script nonce=\"%016x\">var visit = \"%016x\";</script><!-- %016x -->",
			chance.Uint64(), chance.Uint64(), chance.Uint64(), chance.Uint64())
	}
	fmt.Fprintf(&b, "<style>body { margin: 2rem }</style></head>\n<body>\n<header><h1>%s</h1>", name)
	if p.Noise == Visible {
		fmt.Fprintf(&b, "<p class=\"clock\">It is %s and you are visitor %d.</p>",
			at.UTC().Format("15:04:05.000000"), w.chance(p.ID, "visitor", int(at.UnixNano())).IntN(1e9))
	}
	b.WriteString("</header>\n<main>\n")
	main(&b)
	// The number comes last, so that the first difference is one worth reading.
	fmt.Fprintf(&b, "<p>edition %d</p>\n</main>\n<footer><p>All of %s is made up.</p></footer>\n</body>\n</html>\n", version, name)
	return b.Bytes()
}
