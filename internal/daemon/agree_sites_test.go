package daemon_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
	"freshet/internal/units"
)

// pagesOfASite returns how many pages the sites have: few, or as many as
// FRESHET_SITE_PAGES says, which make sites sets to 400.
func pagesOfASite(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("FRESHET_SITE_PAGES"))
	if err != nil && os.Getenv("FRESHET_SITE_PAGES") != "" {
		t.Fatal(err)
	}
	return max(n, 12)
}

// sites returns fifty sites, of which some change all the time and most hardly ever,
// under a budget that suffices for a fifth of the pages in a cycle, and for four
// cycles after the first copy. There is one worker, so that no two polls end at one
// instant.
func sites(pages int) (sc scene, cycle time.Duration) {
	const count, perSecond = 50, 20
	all := count * pages
	cycle = max(time.Minute, (time.Duration(all/5/perSecond)*time.Second).Round(time.Minute)+time.Minute)
	first := time.Duration(all/perSecond) * time.Second
	return scene{
		limits: sched.Limits{Budget: sched.Budget{Polls: 60 * perSecond, Per: time.Minute}, Workers: 1},
		period: first + 5*cycle + 13*time.Millisecond,
		expect: max(all, 5000), // so that a tick is longer than an instant
		web: func(start time.Time, latency time.Duration, now func() time.Time) *synth.Web {
			var list []synth.Page
			for site := range count {
				for page := range pages {
					p := synth.Page{ID: freshet.SourceID(fmt.Sprintf("site%02d-%03d", site, page)), Host: fmt.Sprintf("site%02d", site)}
					switch {
					case site%5 == 0:
						p.Schedule = synth.Poisson{Mean: cycle / 2}
					case page%10 == 0:
						p.Schedule = synth.Poisson{Mean: 2 * cycle}
					}
					list = append(list, p)
				}
			}
			return synth.New(synth.Config{Seed: 11, Start: start, Latency: latency, Pages: list, Now: now})
		},
		sources: (*synth.Web).Sources,
		edits:   func(time.Time, []freshet.Source) []lab.Edit { return nil },
	}, cycle
}

// On sites, too, the sampling policies poll the same pages at the same instants in
// the daemon as in the lab: first every page once, and then in cycles by the clock,
// more where more changes.
func TestLabAgreesWithDaemonOnSites(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates polls of fifty sites")
	pages := pagesOfASite(t)
	sc, cycle := sites(pages)
	for _, name := range tier.Cases(2, []string{"auto", "sample-adaptive", "sample-greedy", "sample-proportional"}) {
		t.Run(name, func(t *testing.T) {
			options := ""
			if strings.HasPrefix(name, "sample-") {
				options = ":downloads=20%,step=2,cycle=" + units.FormatDuration(cycle)
			}
			polls := sc.agree(t, name+options, 50*pages*3/2)
			once := map[string]bool{}
			busy, others := 0, 0
			for i, o := range polls {
				id := string(o.Source)
				if i < 50*pages && once[id] {
					t.Fatalf("%s was polled again as poll %d, before there was a copy of all %d pages", id, i+1, 50*pages)
				}
				once[id] = true
				if i < 50*pages {
					continue
				}
				if site, _ := strconv.Atoi(id[4:6]); site%5 == 0 {
					busy++
				} else {
					others++
				}
			}
			t.Logf("%d first looks, then %d polls of the busy fifth and %d of the others", len(once), busy, others)
			if 4*busy < others {
				t.Errorf("%d polls of the fifth of the sites that changes most, and %d of the others", busy, others)
			}
		})
	}
}
