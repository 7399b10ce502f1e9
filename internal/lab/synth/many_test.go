package synth_test

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
)

// many is a web of two hundred pages on fifty hosts. All forms are there, with and
// without validators and coding, none with noise; one host in ten now and then
// asks to be left alone.
func many(seed uint64, start time.Time) *synth.Web {
	const hosts, perHost = 50, 4
	forms := []synth.Form{synth.News, synth.Status, synth.Prices, synth.RSS, synth.Atom, synth.API, synth.Bulletin}
	ticks := []time.Duration{2, 5, 10, 20, 30, 60, 90, 120}
	var pages []synth.Page
	for i := range hosts * perHost {
		host, every := i/perHost, ticks[i%len(ticks)]*time.Second
		p := synth.Page{
			ID:           freshet.SourceID(fmt.Sprintf("p%03d", i)),
			Host:         fmt.Sprintf("h%02d", host),
			Name:         fmt.Sprintf("Page %d of host %d", i, host),
			Form:         forms[i%len(forms)],
			Schedule:     synth.Regular{Every: every, Offset: time.Duration(i)*37*time.Millisecond + every/2},
			ETag:         i%2 == 0,
			LastModified: i%3 == 0,
			Gzip:         i%5 == 0,
		}
		if host%10 == 9 && i%perHost == 0 {
			p.Trouble = synth.Trouble{Status: 503, From: 10 * time.Second, For: 5 * time.Second, Every: time.Minute, RetryAfter: 4 * time.Second}
		}
		pages = append(pages, p)
	}
	return synth.New(synth.Config{Seed: seed, Start: start, Pages: pages})
}
