package client

import (
	"time"

	"freshet/internal/freshet"
)

// A Lab is what can be tried on what the daemon has recorded.
type Lab struct {
	Policies []LabPolicy `json:"policies" nullable:"false" doc:"That can be replayed"`
	Limits   LabLimits   `json:"limits"`
}

// A LabPolicy is a rule by which a replay polls.
type LabPolicy struct {
	Name         string `json:"name" doc:"Options follow a colon, such as fixed:every=10m"`
	About        string `json:"about"`
	Experimental bool   `json:"experimental,omitempty" doc:"A daemon does not poll by it"`
}

// LabLimits are how large a run may be.
type LabLimits struct {
	Policies int `json:"policies"`
	Budgets  int `json:"budgets"`
	Sources  int `json:"sources"`
	Polls    int `json:"polls" doc:"Of the log, the newest"`
	Waiting  int `json:"waiting" doc:"Runs that may wait for the one under way"`
	Kept     int `json:"kept" doc:"Runs that are kept, in memory, until the daemon ends"`
}

// A LabRequest says what to replay, and how.
type LabRequest struct {
	Policies []string           `json:"policies" nullable:"false" minItems:"1" maxItems:"8" doc:"To compare, such as auto and uniform"`
	Budgets  []string           `json:"budgets,omitempty" nullable:"false" maxItems:"8" doc:"Such as 10/m; missing means a quarter to four times what was spent"`
	Sources  []freshet.SourceID `json:"sources,omitempty" nullable:"false" maxItems:"10000" doc:"Only these"`
	Tag      string             `json:"tag,omitempty" maxLength:"64" doc:"Only sources with this tag"`
	Since    string             `json:"since,omitempty" maxLength:"64" doc:"Only polls that ended at this time or later: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 14d"`
	Until    string             `json:"until,omitempty" maxLength:"64" doc:"Only polls that ended before this time"`
	Seed     uint64             `json:"seed,omitempty" doc:"Of what is drawn at random; missing means 1"`
	SeenOnly bool               `json:"seen_only,omitempty" doc:"Do not add, at random, changes that were probably missed between two polls. That favours the policy that made the recording"`
}

// A LabState is how far a run has come.
type LabState string

// The states.
const (
	LabWaiting   LabState = "waiting"
	LabRunning   LabState = "running"
	LabDone      LabState = "done"
	LabFailed    LabState = "failed"
	LabCancelled LabState = "cancelled"
)

// Over reports whether a run has come to its end.
func (s LabState) Over() bool { return s != LabWaiting && s != LabRunning }

// A LabRun is a comparison of policies on what the daemon has recorded.
type LabRun struct {
	ID       string     `json:"id"`
	State    LabState   `json:"state" enum:"waiting,running,done,failed,cancelled"`
	Request  LabRequest `json:"request"`
	AskedAt  time.Time  `json:"asked_at"`
	BeganAt  *time.Time `json:"began_at,omitempty"`
	EndedAt  *time.Time `json:"ended_at,omitempty"`
	Doing    string     `json:"doing,omitempty" enum:"reading,replaying"`
	Progress float64    `json:"progress" minimum:"0" maximum:"1" doc:"Of what it is doing"`
	Ahead    int        `json:"ahead,omitempty" doc:"Runs that come before it"`
	Error    string     `json:"error,omitempty" doc:"Why it failed"`
	Hint     string     `json:"hint,omitempty" doc:"What to do about it"`
	Result   *LabResult `json:"result,omitempty" doc:"Of a run that is done; lists leave it out"`
}

// A LabRunList is part of the runs of a daemon.
type LabRunList struct {
	Items []LabRun `json:"items" nullable:"false" doc:"The newest first"`
	Next  string   `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

// A LabResult is what became of a run.
type LabResult struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Instant Duration  `json:"instant" doc:"Time in which a policy chooses once"`
	Sources int       `json:"sources"`

	Polls     int      `json:"polls" doc:"That were recorded"`
	Changes   int      `json:"changes" doc:"That were recorded: at least so many happened"`
	Added     int      `json:"added" doc:"Changes that were probably missed, and were added at random"`
	Dated     int      `json:"dated" doc:"Of the recorded changes, that their source dates; the others were placed at random between two polls"`
	Gap       Duration `json:"gap" doc:"Between two polls of a source, the median"`
	Window    Duration `json:"window" doc:"In which a change may have happened, the median"`
	WindowP90 Duration `json:"window_p90" doc:"The same, of nine in ten"`
	Cut       bool     `json:"cut,omitempty" doc:"Older polls were left out: there were too many"`

	Weighed  bool        `json:"weighed,omitempty" doc:"Sources differ in weight, or late is worth less: worth is not the share of changes"`
	Recorded LabScore    `json:"recorded" doc:"Of the polls that the daemon made"`
	Spent    string      `json:"spent" doc:"Budget that they took"`
	Budgets  []LabBudget `json:"budgets" nullable:"false" doc:"From the smallest on"`
}

// A LabBudget is what policies made of a budget.
type LabBudget struct {
	Budget      string     `json:"budget" doc:"Such as 10/m"`
	PollsPerDay float64    `json:"polls_per_day"`
	Limit       float64    `json:"limit" doc:"Share of the value of all changes that the optimal schedule captures with full knowledge of the changes"`
	LimitExact  bool       `json:"limit_exact,omitempty" doc:"A schedule has it; otherwise none has more"`
	Trials      []LabTrial `json:"trials" nullable:"false" doc:"In the order of the request"`
}

// A LabTrial is what one policy made of a budget.
type LabTrial struct {
	Policy string `json:"policy"`
	LabScore
	OfLimit float64 `json:"of_limit" doc:"Worth as a share of the limit"`
}

// A LabScore says how well polls did.
type LabScore struct {
	Recall    float64  `json:"recall" doc:"Share of changes that were captured"`
	Worth     float64  `json:"worth" doc:"Share of the worth of all changes"`
	Captured  int      `json:"captured"`
	Freshness float64  `json:"freshness" doc:"Share of copies that are up to date, on average over time"`
	Age       Duration `json:"age" doc:"For which a copy has been out of date, on average over time and sources"`
	Delay     Duration `json:"delay" doc:"Of a captured change, on average"`
	Polls     int      `json:"polls"`
	Found     int      `json:"found" doc:"Polls that found a change"`
}
