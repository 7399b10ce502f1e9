package results

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
)

// A Recording is a history of change that was recorded in public, and the
// setting in which policies are held against each other on it.
type Recording struct {
	Name string
	lab.Period
	Budget float64 // polls an instant
	Half   bool    // only one half of the pages, by chance
}

// Recordings returns the settings of recordings that are known by name. Each
// period is one without large gaps, each instant is no finer than the recording,
// and each budget makes a choice necessary.
func Recordings() []Recording {
	from, date := recording, midnight
	return []Recording{
		from("quakes-2021", time.Hour, 10, date(2021, 6, 11), date(2021, 7, 10)),
		from("mise-versions", time.Hour, 5, date(2025, 12, 16), date(2026, 8, 22)),
		from("ebay-palm", time.Minute, 2, date(2003, 1, 1), date(2003, 1, 8)),
		from("news-de-a", time.Hour, 20, date(2025, 3, 2), date(2025, 4, 30)),
		from("metar-us", time.Minute, 4, date(2025, 9, 13), date(2025, 9, 20)),
		from("rss-a", 10*time.Minute, 6, date(2023, 3, 1), date(2023, 3, 22)),
		from("outages-fpl-counties", 10*time.Minute, 5, date(2022, 9, 20), date(2022, 10, 10)),
		from("telegram-web", 6*time.Hour, 100, date(2024, 1, 1), date(2024, 7, 1)),
		from("scoop-main", 12*time.Hour, 20, date(2024, 1, 1), date(2025, 1, 1)),
		from("ota-contrib", 12*time.Hour, 10, date(2023, 1, 1), date(2025, 1, 1)),
		from("parking-a", 5*time.Minute, 40, date(2021, 6, 1), date(2021, 6, 29)),
		from("cloud-ipranges", 6*time.Hour, 1, date(2024, 1, 1), date(2025, 1, 1)),
		from("covid-italy", 2*time.Hour, 1, date(2021, 1, 1), date(2022, 1, 1)),
		from("simonw-scrapes", 15*time.Minute, 1, date(2023, 1, 1), date(2024, 1, 1)),
	}
}

// HeldOut returns other settings of the same recordings, on which nothing about
// any policy was chosen: other periods where a recording has any, and otherwise a
// half of the pages. (The other half, and yet other periods, are what auto's
// constants were chosen on.)
func HeldOut() []Recording {
	from, date := recording, midnight
	half := func(r Recording) Recording {
		r.Half = true
		return r
	}
	return []Recording{
		half(from("quakes-2021", time.Hour, 5, date(2021, 6, 11), date(2021, 7, 10))),
		half(from("mise-versions", time.Hour, 2.5, date(2025, 12, 16), date(2026, 8, 22))),
		half(from("ebay-palm", time.Minute, 1, date(2003, 1, 1), date(2003, 1, 8))),
		half(from("news-de-a", time.Hour, 10, date(2025, 3, 2), date(2025, 4, 30))),
		from("metar-us", time.Minute, 4, date(2025, 9, 25), date(2025, 10, 2)),
		from("rss-a", 10*time.Minute, 6, date(2023, 10, 15), date(2023, 11, 5)),
		from("outages-fpl-counties", 10*time.Minute, 5, date(2022, 7, 1), date(2022, 7, 21)),
		from("telegram-web", 6*time.Hour, 100, date(2025, 1, 1), date(2025, 7, 1)),
		from("scoop-main", 12*time.Hour, 20, date(2021, 1, 1), date(2022, 1, 1)),
		from("ota-contrib", 12*time.Hour, 10, date(2025, 1, 1), date(2026, 8, 1)),
		half(from("parking-a", 5*time.Minute, 20, date(2021, 6, 1), date(2021, 6, 29))),
		from("cloud-ipranges", 6*time.Hour, 1, date(2020, 1, 1), date(2021, 1, 1)),
		from("covid-italy", 2*time.Hour, 1, date(2022, 1, 1), date(2023, 1, 1)),
		from("simonw-scrapes", 15*time.Minute, 1, date(2021, 1, 1), date(2022, 1, 1)),
	}
}

func recording(name string, instant time.Duration, budget float64, start, end time.Time) Recording {
	return Recording{Name: name, Period: lab.Period{Start: start, End: end, Instant: instant}, Budget: budget}
}

func midnight(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

// Grid cuts a history as the recording says.
func (r Recording) Grid(h *lab.History) (*lab.Grid, error) {
	if r.Half {
		h = h.Select(secondHalf)
	}
	g, err := h.Quantise(r.Period)
	if err != nil {
		return nil, fmt.Errorf("cutting %s into instants: %w", r.Name, err)
	}
	return g, nil
}

// secondHalf reports whether a page is of the half of the pages that is held out.
func secondHalf(id freshet.SourceID) bool {
	sum := fnv.New32a()
	sum.Write([]byte(id))
	return sum.Sum32()>>7%2 == 1
}

// roundInstants are the instants to choose from where nobody says how finely a
// history is to be cut.
var roundInstants = [...]time.Duration{
	time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// enoughInstants is how many a history of unknown kind is cut into at most.
const enoughInstants = 5000

// suggestInstant returns the finest of some round lengths that cuts the history
// into a few thousand instants at most.
func suggestInstant(h *lab.History) time.Duration {
	first, last, _ := h.Span()
	for _, instant := range roundInstants {
		if last.Sub(first)/instant < enoughInstants {
			return instant
		}
	}
	return roundInstants[len(roundInstants)-1]
}

// suggestBudget returns as many polls an instant as there are changes, in whole
// numbers: enough to capture much and too few to capture all.
func suggestBudget(g *lab.Grid) float64 {
	return max(1, math.Round(float64(g.Changes())/float64(max(1, g.Instants))))
}
