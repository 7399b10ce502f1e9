package paper

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/sched/cyclic"
)

// A captureSet is sources whose past is there to plan from, and whose future to
// be captured. Both are counted in minutes, from the beginning of an hour.
type captureSet struct {
	name string
	real bool // recorded, not made up

	past, future [][]int // by source
	hours        int     // of the future
	before       int     // hours of the past, if it was cut off from a history
}

// captureOf returns the past or the future of one source as a history.
func captureOf(page []int) cyclic.Timeline { return cyclic.Timeline{Pages: [][]int{page}} }

// captureSetting is how regular a made-up source is.
type captureSetting struct {
	name     string
	jitter   float64 // standard deviation of a report's minute
	specials float64 // chance in an hour of a report at any time
}

// captureTypical is the place of the setting that stands for all where one will
// do.
const captureTypical = 1

// captureSettings are those of made-up sources, ever less regular.
var captureSettings = []captureSetting{
	{"1 min, 5% specials", 1, 0.05},
	{"3 min, 20% specials", 3, 0.2},
	{"6 min, 60% specials", 6, 0.6},
}

// captureSize is how many sources there are of each kind, and for how many days.
func captureSize(s Options) (sources, past, future int) {
	if s.Quick {
		return 6, 40, 20
	}
	return 12, 60, 30
}

// captureSets returns airports as the paper describes them, by how regular they
// are; airports with minutes of their own; and those recorded, if they are at
// hand.
func captureSets(s Options) ([]captureSet, error) {
	sources, past, future := captureSize(s)
	var sets []captureSet
	for k, c := range captureSettings {
		r := rand.New(rand.NewPCG(s.Seed, uint64(k+1)))
		set := captureSet{name: c.name, hours: 24 * future}
		for range sources {
			set.add(c.changes(r, 24*(past+future)), 24*past)
		}
		sets = append(sets, set)
	}
	h, err := generate.New(generate.Spec{Kind: "atis", Seed: s.Seed, Pages: 2 * sources, Length: time.Duration(past+future) * 24 * time.Hour})
	if err != nil {
		return nil, err
	}
	turned, err := captureSplit("minutes of their own", h, 1)
	if err != nil {
		return nil, err
	}
	sets = append(sets, turned)
	if s.Traces == "" {
		return sets, nil
	}
	h, err = lab.OpenHistory(filepath.Join(s.Traces, "metar-us.csv.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		return sets, nil
	}
	if err != nil {
		return nil, err
	}
	every := 1
	if s.Quick {
		every = 10
	}
	recorded, err := captureSplit("metar-us", h, every)
	if err != nil {
		return nil, err
	}
	return append(sets, recorded.byPace()...), nil
}

// byPace parts recorded airports into those that mostly report every twenty
// minutes and the others, which report once an hour and specially.
func (s captureSet) byPace() []captureSet {
	steady := captureSet{name: s.name + ", every 20 min", real: true, hours: s.hours}
	other := captureSet{name: s.name + ", others", real: true, hours: s.hours}
	for i, page := range s.past {
		var gaps []int
		for k := 1; k < len(page); k++ {
			gaps = append(gaps, page[k]-page[k-1])
		}
		slices.Sort(gaps)
		to := &other
		if len(gaps) > 0 && gaps[len(gaps)/2] == 20 {
			to = &steady
		}
		to.past, to.future = append(to.past, page), append(to.future, s.future[i])
	}
	return slices.DeleteFunc([]captureSet{steady, other}, func(s captureSet) bool { return len(s.past) == 0 })
}

// changes makes up the changes of a source over so many hours: a report near
// :05 and one near :15, and specials at any time.
func (c captureSetting) changes(r *rand.Rand, hours int) []int {
	var page []int
	for h := range hours {
		add := func(minute float64) {
			if at := h*captureHour + int(minute+captureHour) - captureHour + 1; at >= 1 && at <= hours*captureHour {
				page = append(page, at)
			}
		}
		add(5 + 0.5 + c.jitter*r.NormFloat64()) // the middle of the minute
		add(15 + 0.5 + c.jitter*r.NormFloat64())
		if r.Float64() < c.specials {
			add(captureHour * r.Float64())
		}
	}
	slices.Sort(page)
	return slices.Compact(page)
}

// add adds a source that is planned for after so many hours.
func (s *captureSet) add(page []int, hours int) {
	cut, _ := slices.BinarySearch(page, hours*captureHour+1)
	future := slices.Clone(page[cut:])
	for i := range future {
		future[i] -= hours * captureHour
	}
	s.past, s.future = append(s.past, page[:cut]), append(s.future, future)
}

// captureSplit cuts a history in two: two thirds of its hours are past. Only
// one of every so many sources is taken.
func captureSplit(name string, h *lab.History, every int) (captureSet, error) {
	var first, last time.Time
	for _, t := range h.All() {
		if first.IsZero() || t.Before(first) {
			first = t
		}
		if t.After(last) {
			last = t
		}
	}
	start, end := first.Truncate(time.Hour), last.Truncate(time.Hour).Add(time.Hour)
	g, err := h.Quantise(lab.Period{Start: start, End: end})
	if err != nil {
		return captureSet{}, err
	}
	hours := g.Instants / captureHour
	past := hours * 2 / 3
	set := captureSet{name: name, hours: hours - past, before: past}
	for i := 0; i < len(g.Pages()); i += every {
		page := make([]int, len(g.Of(i)))
		for k, at := range g.Of(i) {
			page[k] = int(at)
		}
		set.add(page, past)
	}
	return set, nil
}

// grid lays the future out to be scored.
func (s captureSet) grid() *lab.Grid {
	return lab.NewGrid(time.Unix(0, 0).UTC(), time.Minute, s.hours*captureHour, s.future)
}
