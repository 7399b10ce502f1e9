package synth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// Body returns what a page says in one version, as answered at a moment. The
// moment matters only to pages with noise. It returns nil if there is no such
// page or version.
func (w *Web) Body(id freshet.SourceID, version int, at time.Time) []byte {
	p := w.byID[id]
	if p == nil {
		return nil
	}
	if _, ok := w.born(p, version); !ok {
		return nil
	}
	return w.body(p, version, at)
}

func (w *Web) body(p *page, version int, at time.Time) []byte {
	switch p.Form {
	case Status:
		return w.statusPage(p, version, at)
	case Prices:
		return w.pricePage(p, version, at)
	case RSS:
		return w.rss(p, version)
	case Atom:
		return w.atom(p, version)
	case API:
		return w.readings(p, version, at)
	case Bulletin:
		return w.bulletin(p, version)
	case Sitemap:
		return w.sitemap(p, version)
	default:
		return w.newsPage(p, version, at)
	}
}

// mediaType returns the Content-Type of a form.
func (f Form) mediaType() string {
	switch f {
	case RSS:
		return "application/rss+xml; charset=utf-8"
	case Atom:
		return "application/atom+xml; charset=utf-8"
	case API:
		return "application/json"
	case Bulletin:
		return "text/plain; charset=utf-8"
	case Sitemap:
		return "application/xml"
	default:
		return "text/html; charset=utf-8"
	}
}

// An item is one headline or entry. A new one comes with each version.
type item struct {
	edition int
	at      time.Time
	title   string
	text    string
}

// items returns the newest n items of a version, the newest first.
func (w *Web) items(p *page, version, n int) []item {
	var items []item
	for edition := version; edition >= 1 && len(items) < n; edition-- {
		at, _ := w.born(p, edition)
		chance := w.chance(p.ID, "item", edition)
		items = append(items, item{
			edition: edition,
			at:      at.UTC(),
			title:   headline(chance),
			text:    sentence(chance) + " " + sentence(chance),
		})
	}
	return items
}

// touched returns the version at which row j of n last changed: each version
// touches one row, in turn. Rows not yet touched are as of version 1.
func touched(version, j, n int) int {
	return max(version-((version-j)%n+n)%n, 1)
}

// headline makes a title out of common words.
func headline(chance *rand.Rand) string {
	s := pick(chance, subjects) + " " + pick(chance, verbs) + " " + pick(chance, objects)
	return strings.ToUpper(s[:1]) + s[1:]
}

// sentence makes a statement out of common words.
func sentence(chance *rand.Rand) string {
	return fmt.Sprintf("The %s of the %s will %s %s, and %d %s %s it.",
		pick(chance, nouns), pick(chance, nouns), pick(chance, verbs), pick(chance, objects),
		2+chance.IntN(98), pick(chance, subjects), pick(chance, verbs))
}

func pick(chance *rand.Rand, words []string) string { return words[chance.IntN(len(words))] }

var (
	subjects = strings.Fields(`harbours bakers ministers engineers rivers gardeners pilots archives teachers markets
		swimmers choirs farmers trains bridges sailors printers beekeepers clocks libraries`)
	verbs = strings.Fields(`welcome open follow measure carry restore question count repair trade cross publish
		rebuild admire postpone weigh discover move`)
	objects = strings.Fields(`timetables lanterns harvests tides contracts records telescopes maps ferries letters
		seeds tunnels songs budgets snowfalls orchards bells engines`)
	nouns = strings.Fields(`council valley station orchestra harbour museum weather newspaper factory coast
		university parliament workshop mountain island quarter`)
	goods = strings.Fields(`apples bread candles drills envelopes flour gloves honey ink jars kettles lamps mugs nails
		oats paint`)
	services = strings.Fields(`login search mail storage payments reports`)
	states   = []string{"operational", "degraded", "under maintenance", "recovering", "down"}
	weather  = []string{"few clouds", "broken clouds", "light rain", "mist", "clear sky", "snow showers"}
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

// A measurement is one row of a JSON endpoint.
type measurement struct {
	Sensor  string  `json:"sensor"`
	Edition int     `json:"edition"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
}

// readings is a JSON document with a few rows, of which each version has a new
// value for one.
func (w *Web) readings(p *page, version int, at time.Time) []byte {
	doc := struct {
		Name    string        `json:"name"`
		Edition int           `json:"edition"`
		Served  string        `json:"served_at,omitempty"`
		Rows    []measurement `json:"readings"`
	}{Name: p.Name, Edition: version}
	if p.Noise != Silent {
		doc.Served = at.UTC().Format(time.RFC3339Nano)
	}
	const rows = 8
	for j := range rows {
		edition := touched(version, j, rows)
		chance := w.chance(p.ID, "reading", j, edition)
		doc.Rows = append(doc.Rows, measurement{
			Sensor:  fmt.Sprintf("%s-%d", nouns[j], j+1),
			Edition: edition,
			Value:   float64(chance.IntN(100_000)) / 100,
			Unit:    "kPa",
		})
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return append(b, '\n')
}

// bulletin is what an airfield tells approaching aircraft, in plain text.
func (w *Web) bulletin(p *page, version int) []byte {
	at, _ := w.born(p, version)
	chance := w.chance(p.ID, "bulletin", version)
	return fmt.Appendf(nil, `%s INFORMATION %c
edition %d, time %s
runway %02d in use
wind %03d degrees %d knots
visibility %d kilometres, %s
temperature %d, dew point %d, pressure %d
`,
		p.Name, 'A'+rune((version-1)%26), version, at.UTC().Format("150405")+"Z",
		1+chance.IntN(36), 10*chance.IntN(36), 2+chance.IntN(30),
		1+chance.IntN(10), pick(chance, weather),
		5+chance.IntN(25), chance.IntN(5), 980+chance.IntN(50))
}

// VersionIn finds the number of the version that a text was taken from, be it
// a whole body, the text extracted from it or a selected part: every page says
// its edition, every item the edition it came with, and the highest counts.
func VersionIn(text []byte) (int, bool) {
	const word = "edition"
	version, found := 0, false
	for {
		i := bytes.Index(text, []byte(word))
		if i < 0 {
			return version, found
		}
		text = text[i+len(word):]
		if n, ok := leadingNumber(bytes.TrimLeft(text, "\": \t\n")); ok {
			version, found = max(version, n), true
		}
	}
}

// leadingNumber reads the digits that b begins with.
func leadingNumber(b []byte) (n int, ok bool) {
	for i, c := range b {
		if c < '0' || c > '9' || i == 18 {
			break
		}
		n, ok = n*10+int(c-'0'), true
	}
	return n, ok
}
