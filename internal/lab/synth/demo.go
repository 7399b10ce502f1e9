package synth

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Demo is a web of forty pages on eight hosts with very different rhythms, on
// a scale of seconds to minutes: something happens all the time, and where is
// worth learning.
func Demo(seed uint64, start time.Time) *Web {
	var pages []Page
	for _, site := range [][]Page{newsSite(), statusSite(), shopSite(seed), feedSite(), apiSite(), airSite(), blogSite(), atticSite()} {
		pages = append(pages, site...)
	}
	return New(Config{Seed: seed, Start: start, Pages: pages})
}

// A beat is the unit of the demo's time: short, so that a few minutes have in
// them what takes a poller days on the real Web.
const beat = time.Second / 2

// site puts pages on a host, under its name.
func site(host string, form Form, pages ...Page) []Page {
	for i := range pages {
		p := &pages[i]
		p.Path = "/" + host + "/" + string(p.ID)
		p.ID = freshet.SourceID(host + "-" + string(p.ID))
		p.Host, p.Tags = host, append(p.Tags, host)
		if p.Form == News {
			p.Form = form
		}
	}
	return pages
}

func newsSite() []Page {
	main := reading.Recipe{CSS: "main"}
	return site("news", News,
		Page{ID: "front", Name: "The Daily Ferry", Schedule: Cycle{Mean: 16 * beat, Day: 80 * beat, Depth: 1}, ETag: true, Gzip: true},
		Page{ID: "world", Name: "World", Schedule: Poisson{40 * beat}, ETag: true, LastModified: true},
		Page{ID: "sport", Name: "Sport, minute by minute", Schedule: Burst{Quiet: 150 * beat, Count: 8, Gap: 8 * beat}, Gzip: true},
		Page{ID: "local", Name: "Local", Schedule: Poisson{600 * beat}, LastModified: true},
		Page{ID: "culture", Name: "Culture", Schedule: Poisson{900 * beat}, Noise: Hidden},
		Page{ID: "ticker", Name: "Ticker", Schedule: Poisson{18 * beat}, Noise: Visible, Recipe: main},
	)
}

func statusSite() []Page {
	return site("status", Status,
		Page{ID: "login", Name: "Login status", Schedule: Burst{Quiet: 500 * beat, Count: 6, Gap: 10 * beat}, ETag: true},
		Page{ID: "mail", Name: "Mail status", Schedule: Burst{Quiet: 600 * beat, Count: 6, Gap: 10 * beat}},
		Page{ID: "search", Name: "Search status", Schedule: Poisson{900 * beat}, ETag: true},
		Page{ID: "storage", Name: "Storage status", Schedule: Poisson{1200 * beat}, LastModified: true},
		Page{ID: "network", Name: "Network status", Schedule: Burst{Quiet: 500 * beat, Count: 5, Gap: 12 * beat}, Noise: Hidden},
	)
}

func shopSite(seed uint64) []Page {
	restocked := Together{Schedule: Poisson{90 * beat}, Seed: seed, Late: 2 * beat}
	busy := Trouble{Status: 429, From: 25 * beat, For: 6 * beat, Every: 55 * beat, RetryAfter: 8 * beat}
	return site("shop", Prices,
		Page{ID: "tickets", Name: "Tickets", Schedule: restocked, ETag: true, Trouble: busy},
		Page{ID: "flights", Name: "Flights", Schedule: Regular{Every: 20 * beat}, Gzip: true},
		Page{ID: "books", Name: "Books", Schedule: restocked, ETag: true},
		Page{ID: "coffee", Name: "Coffee", Schedule: restocked},
		Page{ID: "tools", Name: "Tools", Schedule: restocked, LastModified: true},
		Page{ID: "sale", Name: "Sale", Schedule: restocked, ETag: true},
	)
}

func feedSite() []Page {
	return site("feeds", RSS,
		Page{ID: "headlines", Name: "Headlines", Schedule: Poisson{16 * beat}, ETag: true, LastModified: true, Gzip: true},
		Page{ID: "science", Name: "Science", Schedule: Poisson{700 * beat}, ETag: true},
		Page{ID: "jobs", Name: "Jobs", Schedule: Poisson{600 * beat}},
		Page{ID: "releases", Name: "Releases", Form: Atom, Schedule: Burst{Quiet: 500 * beat, Count: 5, Gap: 12 * beat}, ETag: true},
		Page{ID: "weather", Name: "Weather warnings", Form: Atom, Schedule: Regular{Every: 240 * beat, Offset: 11 * beat}, LastModified: true},
		Page{ID: "notes", Name: "Notes", Form: Atom, Schedule: Poisson{700 * beat}},
	)
}

func apiSite() []Page {
	rows := reading.Recipe{JSONPath: "$.readings[*]"}
	return site("api", API,
		Page{ID: "queue", Name: "Queue", Schedule: Poisson{14 * beat}, ETag: true},
		Page{ID: "rates", Name: "Exchange rates", Schedule: Regular{Every: 15 * beat, Offset: 4 * beat}, Gzip: true},
		Page{ID: "tides", Name: "Tides", Schedule: Regular{Every: 300 * beat}, ETag: true},
		Page{ID: "grid", Name: "Power grid", Schedule: Poisson{800 * beat}, Noise: Visible, Recipe: rows},
		Page{ID: "inventory", Name: "Inventory", Schedule: Poisson{800 * beat}, LastModified: true},
	)
}

func airSite() []Page {
	at := func(marks ...time.Duration) Clockwork {
		return Clockwork{Turn: 60 * beat, Marks: marks, Late: 2 * beat}
	}
	return site("air", Bulletin,
		Page{ID: "north", Name: "NORTHFIELD", Schedule: at(5*beat, 35*beat), ETag: true},
		Page{ID: "south", Name: "SOUTHFIELD", Schedule: at(20 * beat)},
		Page{ID: "east", Name: "EASTFIELD", Schedule: at(0, 15*beat, 30*beat, 45*beat), ETag: true},
		Page{ID: "west", Name: "WESTFIELD", Schedule: at(50 * beat)},
		Page{ID: "island", Name: "ISLAND STRIP", Schedule: Clockwork{Turn: 120 * beat, Marks: []time.Duration{70 * beat}, Late: 4 * beat}},
	)
}

func blogSite() []Page {
	return site("blog", News,
		Page{ID: "beekeeper", Name: "A beekeeper's year", Schedule: Poisson{900 * beat}, ETag: true, Gzip: true},
		Page{ID: "clocks", Name: "Clocks and cogs", Schedule: Poisson{1500 * beat}, Noise: Hidden},
		Page{ID: "recipes", Name: "Soup of the day", Form: RSS, Schedule: Poisson{700 * beat}},
	)
}

func atticSite() []Page {
	return site("attic", News,
		Page{ID: "imprint", Name: "Imprint", Schedule: Never{}, ETag: true},
		Page{ID: "terms", Name: "Terms", Schedule: Never{}, Noise: Hidden},
		Page{ID: "campaign", Name: "Campaign", Schedule: Until{Poisson{20 * beat}, 90 * beat}, Trouble: Trouble{Status: 410, From: 100 * beat}},
		Page{ID: "moving", Name: "Moving house", Schedule: Poisson{40 * beat}, ETag: true, Trouble: Trouble{Status: 404, From: 40 * beat, For: 30 * beat}},
	)
}
