package synth

import (
	"fmt"
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
