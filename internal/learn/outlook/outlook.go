// Package outlook defines what the learner estimates about a source.
package outlook

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
)

// A Range is an estimate and how far it can be trusted: nine times in ten the
// truth is expected to lie between Low and High.
type Range struct {
	Mean, Low, High float64
}

// Times returns a range that is f times as high.
func (r Range) Times(f float64) Range {
	return Range{Mean: r.Mean * f, Low: r.Low * f, High: r.High * f}
}

// An Outlook is the estimate for a source at a moment, from polls of it and of similar
// sources.
type Outlook struct {
	At    time.Time // the moment
	Since time.Time // when the source was last seen; zero if never

	Rate     Rate    // over all hours
	Now      Range   // changes a second that forecasts go by around At: a mean, which leaves room for high rates
	Moment   Range   // changes a second around At, as far as polls can tell
	Taught   int     // changes that were imported
	Expected float64 // changes since it was last seen
	Chance   float64 // that there was at least one

	Worth float64   // of a poll at At, for its cost
	Price float64   // what a poll must be worth to be made under the present budget; zero if not known
	Idle  bool      // a change is not likely enough for a poll, whatever the budget
	Due   time.Time // when the worth is expected to reach the price; zero if it is not in sight

	Heard IndexHint // from the index that is believed most; zero if none speaks for the source

	Foretold Announced  // by its own word, of the kind that is believed most; zero if it says nothing
	Resting  QuietHours // zero if it does not say when it does not change

	Tally // of what it did until now
}

// A Tally estimates, from polls, what became of changes: a
// poll shows that a source has changed since it was last seen, but neither how
// often nor when. Tallies of several sources add up. What is long past counts
// for less, so that a Tally speaks of the present.
type Tally struct {
	Sources  float64 // that are counted
	Polls    float64 // that saw the source, the first not counted
	Found    float64 // of those, that found a change
	Captured float64 // changes that a poll has seen
	Happened float64 // changes that are thought to have happened, seen or not
	Variance float64 // of what is thought to have happened, by chance
	Doubt    float64 // how far off it may be because rates are: errors that do not average out
	Shown    float64 // of the changes missed, those told by dates or by how evenly the source changes, and not by chance alone
	Uneven   float64 // how far off those may be, because how evenly is not quite known
	Fewer    float64 // how many fewer may have happened, because it is not known in which bursts they come
	More     float64 // how many more
	Bursts   float64 // of those that happened, those that are inferred from bursts alone

	Delay   float64 // seconds between changes and their capture, expected, summed over the captured
	Watched float64 // seconds of the source's life
	Stale   float64 // of those, in which our copy was expected to be out of date
	Age     float64 // integral over Watched of how long our copy had been out of date, in square seconds
	Behind  float64 // integral over Watched of how many changes our copy lacked, in seconds
}

// Add returns both tallies as one.
func (t Tally) Add(o Tally) Tally {
	return Tally{
		Sources: t.Sources + o.Sources, Polls: t.Polls + o.Polls, Found: t.Found + o.Found, Captured: t.Captured + o.Captured,
		Happened: t.Happened + o.Happened, Variance: t.Variance + o.Variance, Doubt: t.Doubt + o.Doubt, Shown: t.Shown + o.Shown, Uneven: t.Uneven + o.Uneven, Fewer: t.Fewer + o.Fewer, More: t.More + o.More, Bursts: t.Bursts + o.Bursts,
		Delay: t.Delay + o.Delay, Watched: t.Watched + o.Watched, Stale: t.Stale + o.Stale, Age: t.Age + o.Age, Behind: t.Behind + o.Behind,
	}
}

// Scale returns the tally with everything it counts multiplied by f.
func (t Tally) Scale(f float64) Tally {
	return Tally{
		Sources: t.Sources, Polls: t.Polls * f, Found: t.Found * f, Captured: t.Captured * f,
		Happened: t.Happened * f, Variance: t.Variance * f, Doubt: t.Doubt * f, Shown: t.Shown * f, Uneven: t.Uneven * f, Fewer: t.Fewer * f, More: t.More * f, Bursts: t.Bursts * f,
		Delay: t.Delay * f, Watched: t.Watched * f, Stale: t.Stale * f, Age: t.Age * f, Behind: t.Behind * f,
	}
}

// Alike returns how far off a sum over sources is, where 1 is that all are off alike. They learn
// from one another, and nobody knows how much of an error they share: 0.35 of the variance was
// fitted to made-up webs.
func (t Tally) Alike() float64 {
	const shared = 0.35
	return math.Sqrt(shared + (1-shared)/max(1, t.Sources))
}

// ByBursts returns how many fewer or more changes may have happened because of bursts. Kinds of
// bursts are weighed as if one of them were the truth, and none is: on made-up webs what is inferred
// from them was off by a factor of three either way after a week, when one kind had prevailed.
func (t Tally) ByBursts() (fewer, more float64) {
	return math.Hypot(t.Alike()*t.Fewer, t.Bursts*2/3), math.Hypot(t.Alike()*t.More, 2.6*t.Bursts)
}

// MeanDelay returns the expected time between a change and its capture.
func (t Tally) MeanDelay() time.Duration {
	if t.Captured <= 0 {
		return 0
	}
	return time.Duration(t.Delay / t.Captured * float64(time.Second))
}

// Freshness returns the expected share of time in which our copy was up to date.
func (t Tally) Freshness() float64 {
	if t.Watched <= 0 {
		return 1
	}
	return max(0, 1-t.Stale/t.Watched)
}

// MeanAge returns for how long, on average over time, our copy had been out of
// date.
func (t Tally) MeanAge() time.Duration {
	if t.Watched <= 0 {
		return 0
	}
	return time.Duration(t.Age / t.Watched * float64(time.Second))
}

// ChangeRatio returns the share of the polls that found a change.
func (t Tally) ChangeRatio() float64 {
	if t.Polls <= 0 {
		return 0
	}
	return t.Found / t.Polls
}

// Divergence returns how many changes our copy lacked, on average over time.
func (t Tally) Divergence() float64 {
	if t.Watched <= 0 {
		return 0
	}
	return t.Behind / t.Watched
}

// An IndexHint is what an index reports about a page, and how often it was right. The zero
// IndexHint reports nothing: any other has a date.
type IndexHint struct {
	Index freshet.Slot // which source says it
	Kind  evidence.IndexKind

	// Dated is when the page has changed by the index, if it was not polled since; zero
	// if it is not said to have changed. Until is up to when it is said to be as it was
	// when it was last seen, if it is not said to have changed.
	Dated, Until time.Time

	// Of Times polls that what the index said could be held against, it was true of
	// Right. What is long past counts for less.
	Right, Times float64
}

// An Announced is the announced next change of a source, and how often such announcements
// were right.
type Announced struct {
	At    time.Time // zero if nothing is said
	By    evidence.NextKind
	Every time.Duration

	// Of Times such moments that polls could be held against, a change came soon after
	// Right. What is long past counts for less.
	Right, Times float64

	Believed bool // it is gone by
}

// QuietHours are the announced quiet hours of a feed, and how often they were right.
type QuietHours struct {
	Rests        evidence.QuietHours
	Right, Times float64 // as in Foretold, of polls that saw such hours
	Believed     bool
}
