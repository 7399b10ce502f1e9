package synth

import (
	"fmt"
	"time"

	"freshet"
)

// Crash is a web of two hundred pages on fifty hosts for killing a daemon that
// watches it. All forms are there, with and without validators and coding; no
// page has noise, so that what was stored can be held against [Web.Body] byte
// by byte; one host in ten now and then asks to be left alone. Each page ticks
// steadily, the fastest every two seconds, the slowest every two minutes.
func Crash(seed uint64, start time.Time) *Web {
	const hosts, perHost = 50, 4
	forms := []Form{News, Status, Prices, RSS, Atom, API, Bulletin}
	ticks := []time.Duration{2, 5, 10, 20, 30, 60, 90, 120}
	var pages []Page
	for i := range hosts * perHost {
		host, every := i/perHost, ticks[i%len(ticks)]*time.Second
		p := Page{
			ID:           freshet.SourceID(fmt.Sprintf("p%03d", i)),
			Host:         fmt.Sprintf("h%02d", host),
			Name:         fmt.Sprintf("Page %d of host %d", i, host),
			Form:         forms[i%len(forms)],
			Schedule:     Regular{Every: every, Offset: time.Duration(i)*37*time.Millisecond + every/2},
			ETag:         i%2 == 0,
			LastModified: i%3 == 0,
			Gzip:         i%5 == 0,
		}
		if host%10 == 9 && i%perHost == 0 {
			p.Trouble = Trouble{Status: 503, From: 10 * time.Second, For: 5 * time.Second, Every: time.Minute, RetryAfter: 4 * time.Second}
		}
		pages = append(pages, p)
	}
	return New(Config{Seed: seed, Start: start, Pages: pages})
}
