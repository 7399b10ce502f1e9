package learn_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/learn"
)

// Pages that were found for a site stand in for each other, on whichever host they are.
// Those of another site on the same host do not.
func TestPagesOfOneSite(t *testing.T) {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 2})
	const pages = 12
	put := func(slot freshet.Slot, host, of string) {
		l.Put(monday, slot, freshet.Source{URL: fmt.Sprintf("https://%s.example/%d", host, slot), Of: freshet.SourceID(of)}, monday)
	}
	const busyElsewhere, quietThere, busySite = 3 * pages, 3*pages + 1, 3*pages + 2
	for i := range freshet.Slot(pages) {
		put(i, "shared", "busy")
		put(pages+i, "shared", "quiet")
		put(2*pages+i, fmt.Sprint("other", i), "")
	}
	l.Put(monday, busyElsewhere, freshet.Source{URL: "https://sub.shared.example/", Of: "busy"}, time.Time{})
	l.Put(monday, quietThere, freshet.Source{URL: "https://shared.example/new", Of: "quiet"}, time.Time{})
	l.Put(monday, busySite, freshet.Source{ID: "busy", URL: "https://start.example/", Site: &crawl.Settings{}}, time.Time{})
	for day := range 40 {
		hour := float64(24*day + 12)
		for i := range freshet.Slot(pages) {
			l.Observe(time.Time{}, i, found(hour))
			l.Observe(time.Time{}, pages+i, same(hour))
			l.Observe(time.Time{}, 2*pages+i, same(hour))
		}
	}
	quiet := l.RateOf(quietThere)
	for name, slot := range map[string]freshet.Slot{"page of a busy site on another host": busyElsewhere, "source that stands for a busy site": busySite} {
		if rate := l.RateOf(slot); rate < 5*quiet {
			t.Errorf("a %s is taken to change %.4g times an hour, and a page of a quiet site %.4g times", name, rate, quiet)
		}
	}
}
