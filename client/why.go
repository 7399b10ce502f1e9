package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// A Why explains the next poll of a source, as the API tells it.
type Why struct {
	ID       freshet.SourceID `json:"id"`
	URL      string           `json:"url"`
	Name     string           `json:"name,omitempty"`
	At       time.Time        `json:"at" doc:"The moment of which all of this speaks"`
	Sentence string           `json:"sentence" doc:"All of it in words"`
	LastSeen time.Time        `json:"last_seen,omitzero" doc:"Missing if never"`
	Outlook  *Outlook         `json:"outlook,omitempty" doc:"What the policy thinks of the source; missing if it does not say"`
	Heard    *Heard           `json:"heard,omitempty" doc:"What a sitemap, feed or other index announces about the source; missing if none does"`
	Foretold *Foretold        `json:"foretold,omitempty" doc:"When the source announces that it changes next; missing if it does not"`
	Resting  *Resting         `json:"resting,omitempty" doc:"When a feed says that it is not updated; missing if it does not say"`
	Pushed   *Pushed          `json:"pushed,omitempty" doc:"What a hook or a WebSub hub says of the source, if no poll has shown yet whether that is true"`
	Hold     Hold             `json:"hold" doc:"What holds the poll back, apart from what it is worth"`
	Asked    bool             `json:"asked,omitempty" doc:"Somebody asked for a poll"`
	MaxGap   Duration         `json:"max_gap,omitzero"`
	Deadline time.Time        `json:"deadline,omitzero" doc:"When max_gap runs out"`
	Strategy string           `json:"strategy,omitempty" doc:"The times at which it is polled, its own or those of a tag; missing if the policy decides"`
	Active   string           `json:"active,omitempty" doc:"The hours in which it is polled; missing if at all hours"`
	Planned  time.Time        `json:"planned,omitzero" doc:"The next of these times, or the one that was missed"`
	Opens    time.Time        `json:"opens,omitzero" doc:"When the window opens in which the policy polls at all; missing if it is open"`
	Waiting  int              `json:"waiting,omitempty" doc:"Sources that wait for their first poll, if this one does"`
	Within   Duration         `json:"within,omitzero" doc:"In which the budget reaches for all of these"`
	Next     time.Time        `json:"next,omitzero" doc:"When the poll is expected; missing if unknown"`
	Cause    string           `json:"cause,omitempty" enum:"policy,bound,hand,doubt,push,strategy" doc:"Expected cause of the poll"`
	Trouble  string           `json:"trouble,omitempty" doc:"Why nothing can be captured at all, if nothing can"`

	Taught *Taught `json:"taught,omitempty" doc:"Imported update times that are learned from"`

	GivenChances *GivenChances `json:"chances,omitempty" doc:"The forecast that was set, if it is still valid"`

	Stake *Stake `json:"stake,omitempty" doc:"What its changes matter by the queries that they match; missing if none matched one with an importance"`

	SharedWith []freshet.SourceID `json:"shared_with,omitempty" nullable:"false" doc:"Other sources that watch the same document: a poll of one is a poll of all"`
}

// A Stake is what the changes of a source matter by the queries that they match.
type Stake struct {
	Factor  float64 `json:"factor" doc:"As how many changes one of the source counts, on the mean"`
	Changes int     `json:"changes" doc:"The last changes of the source, of which that is the mean"`
	Matched int     `json:"matched" doc:"Of those, that matched a query with an importance"`
}

// An Outlook is what is thought of a source.
type Outlook struct {
	RatePerDay    Rate      `json:"rate_per_day" doc:"Changes a day, on average over all hours"`
	RateNowPerDay *Estimate `json:"rate_now_per_day,omitempty" doc:"Changes a day at the rate of this moment, which moves with the time of day and the minute of the hour; missing unless rate_per_day is estimated"`
	Expected      float64   `json:"expected" doc:"Changes since it was last seen that the policy counts with; a guess unless rate_per_day is estimated"`
	Chance        float64   `json:"chance" doc:"That there was at least one; likewise"`
	LostPerDay    float64   `json:"lost_per_day,omitempty" doc:"What waiting costs: changes a day that are replaced before they are seen"`
	DelayedPerDay float64   `json:"delayed_per_day,omitempty" doc:"What waiting costs where nothing is replaced: days of delay a day, over all changes that wait"`
	Worth         float64   `json:"worth,omitempty" doc:"Of a poll now, for its cost"`
	Price         float64   `json:"price,omitempty" doc:"What a poll must be worth to be made under the present budget; missing if not known"`
	Idle          bool      `json:"idle,omitempty" doc:"A change is not likely enough for a poll, whatever the budget (least_chance)"`
	Due           time.Time `json:"due,omitzero" doc:"When the worth is expected to reach the price; missing if that is not in sight"`
	Captured      Captured  `json:"captured" doc:"Estimated results so far"`
}

// A Heard is what a list of pages says of one of them, and how far that has been true.
type Heard struct {
	Index   freshet.SourceID `json:"index" doc:"The source that says it"`
	Kind    string           `json:"kind" enum:"sitemap,feed,hub" doc:"What it is; hub: a page with links"`
	Changed time.Time        `json:"changed,omitzero" doc:"When the page has changed by it, if it was not polled since"`
	Until   time.Time        `json:"until,omitzero" doc:"Up to when the page has not changed by it, if it does not say that it has"`
	Right   float64          `json:"right" doc:"How often it was right when a poll could check; older observations count less"`
	Times   float64          `json:"times" doc:"How often a poll could check; likewise"`
}

// A Pushed is a notification from outside that a source has changed, and how often such
// notifications were true.
type Pushed struct {
	At    time.Time `json:"at" doc:"When it arrived; the first, if there were several"`
	Right float64   `json:"right" doc:"How many of them came with a change; older ones count less"`
	Times float64   `json:"times" doc:"How many there were; likewise"`
}

// A Hold is what holds a poll back.
type Hold struct {
	Kind     string    `json:"kind" enum:"none,under_way,paused,hours,backoff,min_gap,hint,source_gap,source_share,host_share,host_busy,host_delay,crawl_delay,host_away,host_failing,workers,budget"`
	Reason   string    `json:"reason" doc:"The same in words"`
	Until    time.Time `json:"until,omitzero" doc:"Missing if time alone does not end it"`
	Failures int       `json:"failures,omitempty" doc:"Running, of the source or its host, if they are why"`
}

// Why explains the next poll of a source. Only a daemon at work can.
func (r Sources) Why(ctx context.Context, id freshet.SourceID) (Why, error) {
	return get[Why](ctx, r.c, r.sourcePath(id, "why"), nil)
}
