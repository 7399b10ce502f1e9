// Package generate makes up histories of changes whose truth is known: of pages that
// change at random or in a rhythm, of auctions, weather reports and sites.
package generate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/lab"
)

// A Spec says what history to make up. The same values always make the
// same history. Zero fields take what the kind thinks best.
type Spec struct {
	Kind string // one of Kinds
	Seed uint64

	Start  time.Time // zero means the beginning of 2026
	Length time.Duration

	Pages  int           // in all; of site sets, on each site
	Sites  int           // of site sets
	PerDay float64       // changes of a page, on the average, where the kind has no rate of its own
	Jitter time.Duration // how far regular changes stray, as a standard deviation
	Cycle  time.Duration // of site sets: a page changes at most once in it
}

// Kinds lists the kinds of history that can be made up.
var Kinds = []string{"poisson", "periodic", "bursty", "auction", "bidding", "vshaped", "normal", "atis", "directories"}

// A generator makes up the changes of one page, as offsets from the start. Site
// sets are told the site's share of changing pages, from 0 to 1.
type generator struct {
	defaults Spec
	page     func(g Spec, r *rand.Rand, rho float64, yield func(time.Duration))
	sites    func(r *rand.Rand, n int) (rho []float64) // nil if pages stand alone
	within   string                                    // the site of which the sites are directories; "" if they are sites
}

const day = 24 * time.Hour

func generatorOf(kind string) (generator, error) {
	switch kind {
	case "poisson":
		return generator{Spec{Length: day, Pages: 1000, PerDay: 12}, poisson, nil, ""}, nil
	case "periodic":
		return generator{Spec{Length: day, Pages: 1000, Jitter: 2 * time.Minute}, periodic, nil, ""}, nil
	case "bursty":
		return generator{Spec{Length: day, Pages: 1000, PerDay: 12}, bursty, nil, ""}, nil
	case "auction":
		return generator{Spec{Length: day, Pages: 7550}, auctioned, nil, ""}, nil
	case "bidding":
		return generator{Spec{Length: day, Pages: 7550, PerDay: 1.3}, bidden, nil, ""}, nil
	case "atis":
		return generator{Spec{Length: 90 * day, Pages: 1, Jitter: 3 * time.Minute}, atis, nil, ""}, nil
	case "vshaped":
		return generator{Spec{Pages: 1400, Sites: 252, Cycle: 30 * day}, repeated, vshaped, ""}, nil
	case "normal":
		return generator{Spec{Pages: 1000, Sites: 300, Cycle: 30 * day}, anew, normal, ""}, nil
	case "directories":
		return generator{Spec{Length: time.Hour, Pages: 35, Sites: 6}, steady, unlike, "site.example/"}, nil
	}
	return generator{}, &invalid.Error{
		Field:  "kind",
		Reason: fmt.Sprintf("unknown kind %q; use one of %s", kind, strings.Join(Kinds, ", ")),
	}
}

// withDefaults fills in what the kind thinks best.
func (g Spec) withDefaults(d Spec) Spec {
	if g.Start.IsZero() {
		g.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	g.Pages = cmp.Or(g.Pages, d.Pages)
	g.Sites = cmp.Or(g.Sites, d.Sites)
	g.PerDay = cmp.Or(g.PerDay, d.PerDay)
	g.Jitter = cmp.Or(g.Jitter, d.Jitter)
	g.Cycle = cmp.Or(g.Cycle, d.Cycle)
	g.Length = cmp.Or(g.Length, d.Length, 5*g.Cycle)
	return g
}

// check says what is wrong, if anything.
func (g Spec) check() error {
	switch {
	case g.Pages < 0 || g.Pages*max(1, g.Sites) > 1e8:
		return invalid.Errorf("pages", "%d is out of range; the total must be from 1 to 100,000,000", g.Pages)
	case g.Sites < 0 || g.Sites > 1e6:
		return invalid.Errorf("sites", "%d is out of range; it must be from 1 to 1,000,000", g.Sites)
	case g.Length < time.Second:
		return invalid.Errorf("length", "%v is too short; the shortest allowed is 1s", g.Length)
	case g.Cycle < 0 || g.Cycle > 0 && g.Cycle < time.Second:
		return invalid.Errorf("cycle", "%v is too short; the shortest allowed is 1s", g.Cycle)
	case g.PerDay < 0 || g.PerDay*g.Length.Hours()/24*float64(g.Pages) > 1e9:
		return invalid.Errorf("per day", "%v changes of a page are too many or too few", g.PerDay)
	case g.Jitter < 0:
		return invalid.Errorf("jitter", "%v must not be negative", g.Jitter)
	}
	return nil
}

// New makes up a history. Changes fall on whole seconds. A page that never
// changes is not in it, as it would not be in a trace file.
func New(s Spec) (*lab.History, error) {
	kind, err := generatorOf(s.Kind)
	if err != nil {
		return nil, err
	}
	s = s.withDefaults(kind.defaults)
	if err := s.check(); err != nil {
		return nil, err
	}
	return lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, rho := range s.pages(kind) {
			for _, at := range s.changes(kind, id, rho) {
				if !yield(freshet.SourceID(id), s.Start.Add(at)) {
					return
				}
			}
		}
	}), nil
}

// pages yields the names of the pages, each with its site's share of changing pages.
func (s Spec) pages(kind generator) iter.Seq2[string, float64] {
	width := len(fmt.Sprint(s.Pages - 1))
	return func(yield func(string, float64) bool) {
		if kind.sites == nil {
			for i := range s.Pages {
				if !yield(fmt.Sprintf("%s-%0*d", s.Kind, width, i), 0) {
					return
				}
			}
			return
		}
		for i, rho := range kind.sites(s.chance(""), s.Sites) {
			for p := range s.Pages {
				if !yield(fmt.Sprintf("%s%s%0*d/%0*d", kind.within, kind.part(), len(fmt.Sprint(s.Sites-1)), i, width, p), rho) {
					return
				}
			}
		}
	}
}

// part returns what one of the parts of a set is called.
func (k generator) part() string {
	if k.within != "" {
		return "part"
	}
	return "site"
}

// changes returns when a page changes, as offsets from the start, in order.
func (s Spec) changes(kind generator, id string, rho float64) (list []time.Duration) {
	kind.page(s, s.chance(id), rho, func(at time.Duration) {
		if at = at.Truncate(time.Second); at >= 0 && at < s.Length {
			list = append(list, at)
		}
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// chance returns the dice of one page, so that a page does not change with how
// many others there are.
func (g Spec) chance(id string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(g.Kind + "\x00" + id))
	return rand.New(rand.NewPCG(g.Seed, h.Sum64()))
}
