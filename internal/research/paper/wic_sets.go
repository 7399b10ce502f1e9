package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"

	"freshet/internal/lab"
	"freshet/internal/research/generate"
)

// The instants of the paper, and a time for them to begin at.
const wicMinute = time.Minute

var wicBegin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A wicSet is a workload of auctions.
type wicSet struct {
	name    string
	about   string
	instant string // how long one is, in words
	per     string // the same, after a number of polls
	real    bool
	seed    uint64
	grid    *lab.Grid
	budgets []float64 // that curves are drawn over
	middle  float64   // the budget of figures 8 and 9
	ample   float64   // from this budget on the paper calls resources no longer low
}

// wicSets returns the generated auctions, and the recorded ones where there are
// any.
func wicSets(s Options) ([]wicSet, error) {
	made, err := wicGenerated(s)
	if err != nil {
		return nil, err
	}
	recorded, err := wicRecorded(s)
	if err != nil {
		return nil, err
	}
	return append([]wicSet{made}, recorded...), nil
}

// wicGenerated makes auctions up. The small size is a quarter of the pages for
// a quarter of a day, so that a minute brings as many bids as at full size and
// the budgets mean the same.
func wicGenerated(s Options) (wicSet, error) {
	pages, instants, budgets := 7550, 1440, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if s.Quick {
		pages, instants, budgets = 1888, 360, []float64{1, 2, 4, 8, 12}
	}
	start := wicBegin
	length := time.Duration(instants) * wicMinute
	h, err := generate.New(generate.Spec{Kind: "bidding", Seed: s.Seed, Start: start, Length: length, Pages: pages})
	if err != nil {
		return wicSet{}, err
	}
	g, err := h.Quantise(lab.Period{Start: start, End: start.Add(length), Instant: wicMinute})
	if err != nil {
		return wicSet{}, err
	}
	// Auctions without a bid in the period are pages all the same.
	changes := make([][]int, pages)
	for page := range g.Pages() {
		for _, at := range g.Of(page) {
			changes[page] = append(changes[page], int(at))
		}
	}
	g = lab.NewGrid(start, wicMinute, instants, changes)
	return wicSet{
		name: "generated auctions", instant: "a minute", per: "a minute", seed: s.Seed, grid: g, budgets: budgets, middle: 8, ample: 12,
		about: fmt.Sprintf("Generated auctions: %d pages over %d one-minute instants, %d changes, %.1f a minute. "+
			"Auctions differ in how many bids they get, and bids keep to the end of an auction and to the time of the day, as fitted to 343 recorded ones (ebay-palm). "+
			"How many bids a day has is not published. It was chosen after a first look, so that 12 polls a minute are about what the busiest hours take, as the paper says: with a fifth more, r = 1 no longer captures more than r = 0.8 at C = 8.",
			pages, instants, g.Changes(), float64(g.Changes())/float64(instants)),
	}, nil
}

// The recorded auctions, and how they are cut into instants.
const (
	wicTrace   = "ebay-palm"
	wicWeek    = 7 * 24 * time.Hour
	wicInstant = 10 * time.Minute // brings a few changes, as a minute of the generated ones does
)

// wicRecorded reads recorded auctions, if the folder has them. Their bids are
// timed from the opening of each auction, as if all had opened at once and most
// had ended at once. So each is turned by a random part of a week, taken as a
// ring: at any time some begin and some end.
func wicRecorded(s Options) ([]wicSet, error) {
	if s.Traces == "" {
		return nil, nil
	}
	h, err := lab.OpenHistory(filepath.Join(s.Traces, wicTrace+".csv.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	draw := rand.New(rand.NewPCG(s.Seed, 0x9a1))
	start := time.Date(2003, 1, 1, 0, 0, 0, 0, time.UTC)
	var changes [][]int
	var turn time.Duration
	last := ""
	for id, at := range h.All() {
		if string(id) != last || changes == nil {
			last, turn = string(id), time.Duration(draw.Int64N(int64(wicWeek)))
			changes = append(changes, nil)
		}
		own := &changes[len(changes)-1]
		offset := ((at.Sub(start)+turn)%wicWeek + wicWeek) % wicWeek
		*own = append(*own, 1+int(offset/wicInstant))
	}
	g := lab.NewGrid(start, wicInstant, int(wicWeek/wicInstant), changes)
	return []wicSet{{
		name: wicTrace, instant: "ten minutes", per: "in ten minutes", real: true, seed: s.Seed, grid: g,
		budgets: []float64{1, 2, 3, 4, 5, 6}, middle: 3, ample: 5,
		about: fmt.Sprintf("Recorded auctions, %s: %d pages over a week of %d ten-minute instants, %d changes, %.1f an instant; each auction begins at a random time of the week.",
			wicTrace, len(changes), g.Instants, g.Changes(), float64(g.Changes())/float64(g.Instants)),
	}}, nil
}

// claim returns a claim about this set.
func (set wicSet) claim(where, claim, expected string) Claim {
	kind := OfPaper
	if set.real {
		kind = Recorded
		where += ", " + set.name + " (real)"
	}
	return Claim{Paper: WIC, Kind: kind, Where: where, Claim: claim, Expected: expected}
}

// titled adds the name of a recorded set to a title.
func (set wicSet) titled(title string) string {
	if set.real {
		return title + ", " + set.name + " (real)"
	}
	return title
}
