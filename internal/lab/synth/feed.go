package synth

import (
	"bytes"
	"fmt"
	"html"
	"time"
)

const feedLength = 10

// rss is an RSS 2.0 feed of the latest items.
func (w *Web) rss(p *page, version int) []byte {
	var b bytes.Buffer
	link := w.URL(p.ID)
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel>
<title>%s</title><link>%s</link><description>Made-up news</description>
`, html.EscapeString(p.Name), link)
	for _, it := range w.items(p, version, feedLength) {
		fmt.Fprintf(&b, "<item><title>%s (edition %d)</title><link>%s/%d</link><guid>%s/%d</guid><pubDate>%s</pubDate><description>%s</description></item>\n",
			it.title, it.edition, link, it.edition, link, it.edition, it.at.Format(time.RFC1123Z), it.text)
	}
	b.WriteString("</channel></rss>\n")
	return b.Bytes()
}

// atom is an Atom feed of the latest items.
func (w *Web) atom(p *page, version int) []byte {
	var b bytes.Buffer
	link, items := w.URL(p.ID), w.items(p, version, feedLength)
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<title>%s</title><id>%s</id><link href="%s"/><updated>%s</updated>
`, html.EscapeString(p.Name), link, link, items[0].at.Format(time.RFC3339Nano))
	for _, it := range items {
		fmt.Fprintf(&b, "<entry><title>%s (edition %d)</title><id>%s/%d</id><link href=\"%s/%d\"/><updated>%s</updated><summary>%s</summary></entry>\n",
			it.title, it.edition, link, it.edition, link, it.edition, it.at.Format(time.RFC3339Nano), it.text)
	}
	b.WriteString("</feed>\n")
	return b.Bytes()
}
