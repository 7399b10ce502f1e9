package lab

import "strconv"

// A Score says how a replay went, by one who knows the truth. Means over time
// are exact integrals from instant 0 to the last, in which a change happens at
// the end of its instant, just before that instant's polls.
type Score struct {
	Pages    int `json:"pages"`
	Instants int `json:"instants"`

	Changes   int `json:"changes"`    // that happened
	Captured  int `json:"captured"`   // of those, by a poll within their life
	ZeroDelay int `json:"zero_delay"` // of those, in their own instant
	Polls     int `json:"polls"`      // made
	Found     int `json:"found"`      // of those, of a page that had changed since it was last polled

	IndexPolls int `json:"index_polls,omitempty"` // of the polls, those of indexes, which capture nothing
	Failed     int `json:"failed,omitempty"`      // polls that did not see their page
	Settled    int `json:"-"`                     // changes that a poll of their page came after

	Recall            float64 `json:"recall"`             // captured of the changes; 1 if there were none
	Utility           float64 `json:"utility"`            // weight times urgency, over the captured
	UtilityNormalized float64 `json:"utility_normalized"` // the same, of the weight of all changes

	ChangeRatio         float64 `json:"change_ratio"` // found of the polls that saw their page
	WeightedChangeRatio float64 `json:"weighted_change_ratio"`

	// Means over time of all pages, also weighted by page. The age of a stale
	// copy runs from the first change that it lacks, or from the latest.
	Freshness         float64 `json:"freshness"`
	WeightedFreshness float64 `json:"weighted_freshness"`
	AgeSeconds        float64 `json:"age_seconds"`
	WeightedAge       float64 `json:"weighted_age_seconds"`
	Divergence        float64 `json:"divergence,omitempty"` // see Measures

	Fairness float64 `json:"fairness"` // pages polled at least once, of those that changed; 1 if none did

	MeanDelay float64 `json:"mean_delay_instants"` // of the captured
	DelayP50  int     `json:"delay_p50_instants"`
	DelayP90  int     `json:"delay_p90_instants"`
	DelayP99  int     `json:"delay_p99_instants"`

	Delays []int       `json:"-"` // how many were captured after 0, 1, 2 ... instants
	ByPage []PageScore `json:"-"`
}

// A PageScore says what became of the changes of one page.
type PageScore struct {
	Captured int
	Settled  int // changes that a poll of the page came after
}

// Missed returns how many changes nobody saw.
func (s Score) Missed() int { return s.Changes - s.Captured }

// DelayQuantile returns the smallest delay, in instants, within which the share
// q of the captured changes was captured.
func (s Score) DelayQuantile(q float64) int {
	seen := 0
	for t, n := range s.Delays {
		seen += n
		if seen > 0 && float64(seen) >= q*float64(s.Captured) {
			return t
		}
	}
	return 0
}

// Late returns the share of the captured changes that was captured with a delay
// of t instants or more.
func (s Score) Late(t int) float64 {
	late := 0
	for _, n := range s.Delays[min(t, len(s.Delays)):] {
		late += n
	}
	return Ratio(float64(late), float64(s.Captured), 0)
}

// Ratio returns a/b, or none if there is nothing to divide by.
func Ratio(a, b, none float64) float64 {
	if b == 0 {
		return none
	}
	return a / b
}

// FormatNumber writes a number as short as it can be without loss.
func FormatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// FormatPercent writes a share in percent, with so many digits behind the point.
func FormatPercent(x float64, digits int) string {
	return strconv.FormatFloat(100*x, 'f', digits, 64) + "%"
}
