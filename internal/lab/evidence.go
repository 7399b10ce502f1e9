package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/invalid"
	"freshet/internal/units"
)

// Evidence is how much replayed polls show of the truth. The zero Evidence is Bits.
type Evidence struct {
	Kind EvidenceKind

	// Entries is how many dates a Feed shows, or how many pages an Index: those that
	// changed last. Zero means all, of an Index.
	// Of Told it is of how many in a hundred changes a page tells the truth.
	Entries int

	// Every is how often an Index is polled, whatever the policy says. Zero means that
	// the policy decides.
	Every time.Duration
}

// An EvidenceKind is a kind of evidence.
type EvidenceKind uint8

// The kinds of evidence.
const (
	// Bits: a poll shows whether the page differs from what was last seen of
	// it, and nothing else.
	Bits EvidenceKind = iota

	// Dated: every poll also shows when the latest visible change happened,
	// as Last-Modified or the newest item of a feed does, also where the poll
	// finds nothing new. A grid knows only the instant of a change, so the
	// middle of that instant is what is shown. A page that has not changed
	// since the grid began shows when it did before that, if the history
	// reaches back so far, and the look at instant 0, which shows every page,
	// shows that date too.
	Dated

	// Feed: every poll also shows when the latest few visible changes happened, as
	// the items of a feed do. Dates are as with Dated.
	Feed

	// Index: polls of pages show bits. Each site has one source more, its index,
	// which says of all pages of the site when they last changed, or of those that
	// changed last: see [freshet.Word]. A poll of it is paid from the budget and
	// captures nothing. Dates are as with Dated, and the look at instant 0 shows the
	// index, too.
	//
	// A site is the pages of one host; pages that have none are one site together.
	// Only a policy that learns as auto does is shown the indexes. To others they
	// would be pages that waste their polls.
	Index

	// Told: a poll that finds a change also shows when the page says that it changes next,
	// as text that says so does. Of some changes that is true, to the middle of the
	// instant; of the others it is a moment at random, up to two mean gaps between its
	// changes ahead.
	Told
)

var evidences = [...]string{"bits", "dated", "feed", "index", "told"}

// mostEntries bounds how many pages an index can be said to show.
const mostEntries = 1_000_000

// String returns the evidence as ParseEvidence reads it.
func (e Evidence) String() string {
	if int(e.Kind) >= len(evidences) {
		return fmt.Sprintf("unknown(%d)", e.Kind)
	}
	s := evidences[e.Kind]
	if e.Entries > 0 || e.Kind == Told {
		s += ":" + strconv.Itoa(e.Entries)
	}
	if e.Every > 0 {
		s += ",every=" + units.FormatDuration(e.Every)
	}
	return s
}

// ParseEvidence reads what String wrote.
func ParseEvidence(s string) (e Evidence, err error) {
	wrong := func(format string, args ...any) (Evidence, error) {
		return Evidence{}, invalid.Errorf("evidence", "%q: %s", s, fmt.Sprintf(format, args...))
	}
	rest, option, hasOption := strings.Cut(s, ",")
	name, number, hasNumber := strings.Cut(rest, ":")
	kind := slices.Index(evidences[:], name)
	if kind < 0 {
		return Evidence{}, invalid.Errorf("evidence", "unknown evidence %q; use one of %s", name, EvidenceForms)
	}
	e.Kind = EvidenceKind(kind)
	most := map[EvidenceKind]int{Feed: evidence.MaxDates, Index: mostEntries, Told: 100}[e.Kind]
	least := 1
	switch {
	case most == 0 && hasNumber:
		return wrong("%s takes no number", name)
	case e.Kind == Feed && !hasNumber:
		return wrong("say how many dates a poll shows, as in feed:5")
	case e.Kind == Told && !hasNumber:
		return wrong("say how often pages tell the truth, in percent, as in told:90")
	case hasNumber:
		if e.Kind == Told {
			least = 0
		}
		if e.Entries, err = strconv.Atoi(number); err != nil || e.Entries < least || e.Entries > most {
			return wrong("%q is not a whole number from %d to %d", number, least, most)
		}
	}
	if !hasOption {
		return e, nil
	}
	every, ok := strings.CutPrefix(option, "every=")
	if e.Kind != Index || !ok {
		return wrong("unknown option %q; only index has one, as in index,every=1h", option)
	}
	if e.Every, err = units.ParseDuration(every); err != nil || e.Every < time.Second {
		return wrong("%q is not a length of time of 1s or more, such as 1h", every)
	}
	return e, nil
}

// EvidenceForms says how evidence is written.
const EvidenceForms = "bits, dated, feed:N, index, index:N, index,every=1h or told:PERCENT"

// dateOf returns the date that a page shows when so many of its changes have
// happened: the middle of the instant of the latest. Before the first it is that
// of the last one before the grid began, or zero if there was none.
func (g *Grid) dateOf(page, happened int) time.Time {
	if happened == 0 {
		if g.before == nil || g.before[page] == math.MinInt64 {
			return time.Time{}
		}
		return time.Unix(0, g.before[page]).UTC()
	}
	return g.Time(int(g.Of(page)[happened-1])).Add(-g.Instant / 2)
}

// datesOf returns the latest n dates of a page of which so many changes have happened,
// the newest first: what dateOf has shown, and what it would have if the grid had begun
// earlier.
func (g *Grid) datesOf(page, happened, n int) (dates []time.Time) {
	for ; happened > 0 && len(dates) < n; happened-- {
		dates = append(dates, g.dateOf(page, happened))
	}
	if g.history == nil {
		return dates
	}
	start, last := g.Start.UnixNano(), int64(math.MaxInt64)
	times := g.history.of(page)
	at, _ := slices.BinarySearch(times, start)
	for at--; at >= 0 && len(dates) < n; at-- {
		if instant := (start - 1 - times[at]) / int64(g.Instant); last == math.MaxInt64 || instant > last { // the last of an instant
			dates, last = append(dates, time.Unix(0, times[at]).UTC()), instant
		}
	}
	return dates
}

// show adds to how a poll of a page ended what else the page shows.
func (w *world) show(page int, o *freshet.Outcome) {
	if w.options.dates != nil && !w.options.dates(page) {
		return
	}
	switch w.options.Evidence.Kind {
	case Dated:
		o.Modified = w.truth.date(page)
	case Feed:
		if o.Dates = w.truth.dates(page, cmp.Or(w.options.Evidence.Entries, evidence.MaxDates)); len(o.Dates) > 0 {
			o.Modified = o.Dates[0]
		}
	case Told:
		if o.Result.Captured() {
			o.Foretold = w.truth.announced(page, w.options.Evidence.Entries)
		}
	}
}
