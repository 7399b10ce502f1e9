package outlook

// A Rhythm is what was learnt of when a source changes, in UTC: by the hour of the day,
// the day of the week from Monday, and five minutes of the hour. Minutes is empty where
// time is learnt too coarsely for them.
type Rhythm struct {
	Rate     Rate    // as in an Outlook
	Happened float64 // estimated changes
	Watched  float64 // seconds that it was watched; what is long past counts for less in both
	Taught   int     // imported changes
	Own      bool    // the rhythm is the source's own, and not only that of its site
	Hours    []RhythmBin
	Weekdays []RhythmBin
	Minutes  []RhythmBin

	Foretold Announced // as in an Outlook
	Resting  QuietHours
}

// A RhythmBin is one stretch of a day, a week or an hour.
type RhythmBin struct {
	Factor float64 // how many times as often as on average changes are expected
	Seen   float64 // changes that were seen in it
	Due    float64 // changes that were to be seen in it if all stretches were alike: how much it was watched
}
