package lab

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/learn/estimate"
)

// A Recorded is the history that a log of outcomes implies. The log knows of a
// change only that it fell between two polls of its source, and of several in
// between that there was at least one: so the history is a likely one and not
// the truth, and what nobody saw is not in it. The other fields say how far it
// can be trusted.
type Recorded struct {
	History *History // of all sources that were seen, also of those that did not change

	From, To time.Time // the first poll began, the last ended
	Polls    int       // that were made
	Failed   int       // of those, that did not see their source
	First    int       // of those, the first look at a source
	Reread   int       // of those, the first look under another recipe: whether the source had changed is not known

	Changes  int     // windows in which a source changed: at least so many changes happened
	Happened float64 // changes that are thought to have happened in those windows, at a steady rate of each source
	Dated    int     // changes that were put where their source dates them
	Filled   int     // changes that nobody saw and that were put in, see Reading

	Gap      time.Duration // between two looks at a source, the median
	Width    time.Duration // of the windows that changes fell into, the median
	WidthP90 time.Duration // the same, of nine in ten

	Silence     time.Duration // the longest time in which nothing was polled
	SilentSince time.Time     // its beginning

	spans []recordedSpan // by page
	looks lookList       // polls but for first looks, in the order of the log
	free  lookList       // of those, such as cost nothing: they were read from another poll
}

// A recordedSpan is the time of which the log knows something of a source.
type recordedSpan struct {
	from, to int64 // nanoseconds since 1970
	gone     bool  // no longer watched
	dates    bool  // it dates its changes, more often than not
}

// A LogOptions says how a log of outcomes is read. The zero LogOptions will do.
type LogOptions struct {
	Place Placement // of changes within their windows
	Seed  uint64    // of those that are placed by chance

	// Fill puts in also the changes that are thought to have happened unseen,
	// beside one that was seen. How many, and where in the window, is drawn by
	// chance, at the likeliest steady rate of the source. The history is then
	// one of those that could have left this log.
	Fill bool

	// Gone, if set, reports whether a source is no longer watched. It then
	// takes part in replays until its last poll, and not to the end.
	Gone func(freshet.SourceID) bool
}

// FromOutcomes reads a log of outcomes, the oldest first, as a daemon has
// written it. Of a poll it keeps twelve bytes, and of a change sixteen more, or forty
// where windows are filled.
func FromOutcomes(outcomes iter.Seq2[freshet.Outcome, error], r LogOptions) (*Recorded, error) {
	l := logReader{reading: r, recorded: &Recorded{}}
	for o, err := range outcomes {
		if err != nil {
			return nil, err
		}
		if o.Source != "" { // that of a source which has been purged meanwhile
			l.read(&o)
		}
	}
	return l.end(), nil
}

// A logReader reads a log, outcome by outcome.
type logReader struct {
	reading  LogOptions
	recorded *Recorded

	found   gatherer
	sources []sourceNotes // by number in found
	looks   lookList
	free    lookList
	widths  []float32 // seconds, of the window of each change in found
	hiding  []window  // likewise, the window itself, if it is to be filled
	gaps    spanCounts
	windows spanCounts
}

// sourceNotes is what is kept of a source while a log is read.
type sourceNotes struct {
	recordedSpan
	seen  int64   // when the last poll began that saw it; 0 if none did
	still float64 // seconds in windows without a change
	dated int     // changes that it dates, less those that it does not
}

// read takes in one outcome.
func (l *logReader) read(o *freshet.Outcome) {
	r := l.recorded
	r.Polls++
	if r.From.IsZero() || o.Began.Before(r.From) {
		r.From = o.Began
	}
	if quiet := o.Began.Sub(r.To); !r.To.IsZero() && quiet > r.Silence {
		r.Silence, r.SilentSince = quiet, r.To
	}
	if o.Ended.After(r.To) {
		r.To = o.Ended
	}
	if !o.Result.Seen() {
		r.Failed++
		if page, known := l.found.known[string(o.Source)]; known {
			l.look(page, o)
		}
		return
	}
	since, page := l.known(o)
	switch {
	case o.Result == freshet.First && since == 0:
		r.First++
	case o.Result == freshet.First:
		r.Reread++
		l.look(page, o)
	default:
		l.look(page, o)
		l.window(page, since, o)
	}
	l.sources[page].seen = o.Began.UnixNano()
}

// known returns the number of the source of an outcome that saw it, and since
// when it had not been seen; 0 if it never had.
func (l *logReader) known(o *freshet.Outcome) (since int64, page int32) {
	if !o.Since.IsZero() {
		since = o.Since.UnixNano()
	}
	page, ok := l.found.known[string(o.Source)]
	if !ok {
		from := since
		if from == 0 {
			from = o.Began.UnixNano()
		}
		page = l.come(strings.Clone(string(o.Source)), from)
	}
	n := &l.sources[page]
	if since == 0 && o.Result != freshet.First {
		since = n.seen
	}
	n.to = max(n.to, o.Ended.UnixNano())
	return since, page
}

// come gives a number to a source that the log knows something of from then on.
func (l *logReader) come(id string, from int64) int32 {
	if l.found.known == nil {
		l.found.known = map[string]int32{}
	}
	page := int32(len(l.found.pages))
	l.found.known[id] = page
	l.found.pages = append(l.found.pages, freshet.SourceID(id))
	l.sources = append(l.sources, sourceNotes{recordedSpan: recordedSpan{from: from, to: from}})
	return page
}

// look notes a poll.
func (l *logReader) look(page int32, o *freshet.Outcome) {
	l.looks.add(o.Ended.UnixNano(), page, !o.Result.Seen())
	if o.Cause == freshet.BySharing {
		l.free.add(o.Ended.UnixNano(), page, !o.Result.Seen())
	}
}

// window takes in the time between two looks at a source. Where a clock has
// jumped back there is none.
func (l *logReader) window(page int32, since int64, o *freshet.Outcome) {
	ended := o.Ended.UnixNano()
	if since == 0 || since >= ended {
		since = ended - 1
	} else {
		l.gaps.add(max(1, o.Began.UnixNano()-since))
	}
	if o.Result != freshet.Changed {
		l.sources[page].still += float64(ended-since) / 1e9
		return
	}
	at, dated := l.reading.place(since, o)
	if dated {
		l.recorded.Dated++
		l.sources[page].dated++
	} else {
		l.sources[page].dated--
	}
	l.windows.add(ended - since)
	l.widths = append(l.widths, float32(float64(ended-since)/1e9))
	if l.reading.Fill {
		l.hiding = append(l.hiding, window{since, ended, dated})
	}
	l.found.page, l.found.times = append(l.found.page, page), append(l.found.times, at)
}

// end closes the books.
func (l *logReader) end() *Recorded {
	r := l.recorded
	r.Changes = len(l.widths)
	r.Gap = l.gaps.quantile(.5)
	r.Width, r.WidthP90 = l.windows.quantile(.5), l.windows.quantile(.9)
	rates, happened := l.rates()
	r.Happened = happened
	if l.reading.Fill {
		r.Filled = l.fill(rates)
	}
	r.History = l.found.history()
	rank := make([]int32, len(l.found.pages)) // by number in found
	r.spans = make([]recordedSpan, len(rank))
	for n, id := range l.found.pages {
		page, _ := slices.BinarySearch(r.History.pages, id)
		rank[n] = int32(page)
		r.spans[page] = l.sources[n].recordedSpan
		r.spans[page].dates = l.sources[n].dated > 0
		r.spans[page].gone = l.reading.Gone != nil && l.reading.Gone(id)
	}
	l.looks.rename(rank)
	l.free.rename(rank)
	r.looks, r.free = l.looks, l.free
	return r
}

// rates returns the likeliest rate of change of each source, a second, and how
// many changes are thought to have happened in the windows of the changes.
func (l *logReader) rates() (rates []float64, happened float64) {
	first := make([]int, len(l.sources)+1) // where each source's widths begin
	for _, page := range l.found.page {
		first[page+1]++
	}
	for i := range l.sources {
		first[i+1] += first[i]
	}
	sorted, next := make([]float32, len(l.widths)), slices.Clone(first)
	for c, page := range l.found.page {
		sorted[next[page]] = l.widths[c]
		next[page]++
	}
	rates = make([]float64, len(l.sources))
	for i, n := range l.sources {
		windows := sorted[first[i]:first[i+1]]
		rates[i] = estimate.Likeliest(windows, n.still)
		for _, w := range windows {
			happened += estimate.IfAny(rates[i] * float64(w))
		}
	}
	return rates, happened
}

// instants are lengths of time that people count in.
var instants = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Instant returns how finely time is best cut for a replay: about a tenth of
// the usual gap between two looks at a source. With longer instants all sources
// would be polled in each, and there would be nothing to choose; shorter ones
// show nothing more, because the log does not know when within its window a
// change happened.
func (r *Recorded) Instant() time.Duration { return r.instantFor(mostInstants / 2) }

// instantFor returns the same, or longer instants so that there are fewer than that.
func (r *Recorded) instantFor(most int64) time.Duration {
	best := instants[0]
	for _, d := range instants[1:] {
		if d <= r.Gap/10 || int64(r.To.Sub(r.From)/best) >= most {
			best = d
		}
	}
	return best
}

// Period returns the whole of the log, cut into instants; zero means Instant.
func (r *Recorded) Period(instant time.Duration) Period {
	if instant <= 0 {
		instant = r.Instant()
	}
	p := Period{Start: aligned(r.From, instant), End: aligned(r.To, instant).Add(instant), Instant: instant}
	if math.Abs(float64(r.To.Unix())) > farthest {
		p.End = r.To // which Quantise refuses, in words
	}
	return p
}

// A Placement says where in its window a change is put that its source does not
// date: it is only known to lie between two polls.
type Placement uint8

// The placements.
const (
	Spread Placement = iota // anywhere, by chance
	Early                   // as soon as it can have happened
	Late                    // as late as it can have happened
)

var placements = [...]string{"spread", "early", "late"}

// String returns the placement in a word.
func (p Placement) String() string {
	if int(p) >= len(placements) {
		return fmt.Sprintf("unknown(%d)", p)
	}
	return placements[p]
}

// ParsePlacement reads what String wrote.
func ParsePlacement(s string) (Placement, error) {
	for i, name := range placements {
		if s == name {
			return Placement(i), nil
		}
	}
	return 0, invalid.Errorf("place", "unknown placement %q; use one of %s", s, strings.Join(placements[:], ", "))
}

// place returns the likely time of a change, and whether its source dates it
// itself. It was after since, and before the poll ended: an
// answer is on its way before it has arrived.
func (r LogOptions) place(since int64, o *freshet.Outcome) (at int64, dated bool) {
	first := since + 1
	last := max(first, o.Ended.UnixNano()-1)
	if at := o.Modified.UnixNano(); !o.Modified.IsZero() && at > since && !o.Modified.After(o.Ended) {
		return min(at, last), true
	}
	switch r.Place {
	case Early:
		return first, false
	case Late:
		return last, false
	}
	// A change is placed by what it is and not by its turn, so that a part of
	// the log gives the same history as the whole.
	own := rand.NewPCG(r.Seed^hashOf(string(o.Source)), uint64(o.Ended.UnixNano()))
	return first + rand.New(own).Int64N(last-first+1), false
}

// hashOf returns a number for a name.
func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// A window is the time between two looks at a source, of which the later one
// found it changed.
type window struct {
	since, ended int64 // nanoseconds since 1970
	dated        bool  // the source says when it changed
}

// fill puts in the changes that are thought to have happened unseen in windows
// of which one was seen, and returns how many. A source that dates a change
// dates the latest, so that the others came before it.
func (l *logReader) fill(rates []float64) (filled int) {
	salt := hashOf("fill") // so that they fall elsewhere than what was placed
	for c, w := range l.hiding {
		page, last := l.found.page[c], w.ended-1
		if w.dated {
			last = l.found.times[c]
		}
		chance := rand.New(rand.NewPCG(l.reading.Seed^salt^hashOf(string(l.found.pages[page])), uint64(w.ended)))
		for range atLeastOne(rates[page]*float64(l.widths[c]), chance.Float64()) - 1 {
			at := w.since + 1
			if last > at {
				at += chance.Int64N(last - at)
			}
			l.found.page, l.found.times = append(l.found.page, page), append(l.found.times, at)
			filled++
		}
	}
	return filled
}

// atLeastOne returns a number of events, of which x are expected and at least
// one has come: the one that a draw from 0 to 1 stands for.
func atLeastOne(x, draw float64) int {
	term := math.Exp(-x) // the chance of none
	wanted := term + draw*(1-term)
	sum := term
	for n := 1; n < 1000; n++ {
		term *= x / float64(n)
		sum += term
		if sum >= wanted {
			return n
		}
	}
	return 1000
}

// A recordedLook is a poll that a daemon made.
type recordedLook struct {
	at     int64 // when it ended, in nanoseconds since 1970
	page   int32
	failed bool
}

// A lookList holds polls, some ten million of them: in blocks, because a slice
// that grows is there twice while it does.
type lookList struct {
	blocks []*lookBlock
	n      int
}

// A lookBlock holds a few thousand polls.
type lookBlock struct {
	at   [lookBlockSize]int64
	page [lookBlockSize]int32 // its complement if the poll failed
}

const lookBlockSize = 8192

// add appends a poll.
func (l *lookList) add(at int64, page int32, failed bool) {
	if l.n == len(l.blocks)*lookBlockSize {
		l.blocks = append(l.blocks, &lookBlock{})
	}
	b, i := l.blocks[len(l.blocks)-1], l.n%lookBlockSize
	if failed {
		page = ^page
	}
	b.at[i], b.page[i] = at, page
	l.n++
}

// rename gives the pages other numbers.
func (l *lookList) rename(to []int32) {
	for i := range l.n {
		b := l.blocks[i/lookBlockSize]
		if page := &b.page[i%lookBlockSize]; *page < 0 {
			*page = ^to[^*page]
		} else {
			*page = to[*page]
		}
	}
}

// all returns the polls in order.
func (l *lookList) all() iter.Seq[recordedLook] {
	return func(yield func(recordedLook) bool) {
		for i := range l.n {
			b := l.blocks[i/lookBlockSize]
			look := recordedLook{at: b.at[i%lookBlockSize], page: b.page[i%lookBlockSize]}
			if look.failed = look.page < 0; look.failed {
				look.page = ^look.page
			}
			if !yield(look) {
				return
			}
		}
	}
}
