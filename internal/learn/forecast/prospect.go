package forecast

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/learn/outlook"
)

// A Prospect is what is expected of a source that is polled.
type Prospect struct {
	ID   freshet.SourceID
	Host string
	Tags []string

	Rate  outlook.Range     // changes a second
	Known outlook.Knowledge // what of it is known

	Life           objective.Visibility
	Urgency        objective.Urgency
	Weight, Cost   float64 // 0 means 1
	MinGap, MaxGap time.Duration
	Level          objective.ServiceLevel

	// Rest is for how long after a poll the policy leaves the source alone because
	// a change is too unlikely for a request, whatever the budget. A service level
	// that needs a poll sooner comes before it.
	Rest time.Duration

	Requests float64       // that a poll takes, and the budget is charged; 0 means 1, and less that other sources share the poll
	Gap      time.Duration // between polls of late; 0 if not known

	// What became of it of late: how many polls a second there were, and which
	// share of its changes they captured. Zero if that is not known.
	Pace float64
	Seen outlook.Range

	// SharedGap says that MinGap is not the source's own but that of all sources.
	SharedGap bool
}

// ProspectOf returns the prospect of a source that changes at a rate.
func ProspectOf(s freshet.Source, rate outlook.Range) Prospect {
	return Prospect{
		ID: s.ID, Host: s.Host(), Tags: s.Tags, Rate: rate,
		Life: s.Life, Urgency: s.Urgency, Weight: s.Importance(), Cost: s.Price(),
		MinGap: s.MinGap, MaxGap: s.MaxGap, Level: s.Level,
	}
}

// Terms are what holds for all sources. The zero Terms have a budget of a
// request a second.
type Terms struct {
	Budget float64 // requests a second that may be spent at present; 0 means 1

	// HostGap is the least time between two polls of one host. Zero means
	// that hosts set no limit.
	HostGap time.Duration

	// SourceShare and HostShare are how much of the budget one source and the
	// sources of one host may take; 0 and 1 mean all. See [sched.Limits].
	SourceShare, HostShare float64

	// Seen is the share of the changes of all sources that was captured of late, by
	// the polls that there were then. What is expected of budgets goes by it: it
	// has seen what chance alone does not explain. Zero if that is not known.
	Seen outlook.Range

	// LevelShare is how much of the budget service levels may claim; 0 means that
	// they do not influence what is polled.
	LevelShare float64

	// Instant is the resolution of lives and urgencies; 0 means a second.
	Instant time.Duration

	// Longest is after what time a source is polled again although it is not
	// worth it, so that none is forgotten; 0 means 30 days, or 50 times as long
	// as it takes to poll all once if that is more.
	Longest time.Duration

	// Curiosity is at how many times the changes that are expected of a source
	// polled on average any source is polled, worth it or not, because what is
	// thought of it may be wrong; 0 means that this is no reason to poll.
	Curiosity float64

	// Patience is the time in which a change that cannot be lost, and whose
	// worth does not fall, is taken to lose most of its worth all the same:
	// otherwise it would never be time to look. 0 means a day.
	Patience time.Duration

	expected float64 // changes at which a source is polled out of curiosity; +Inf if never
	stretch  float64 // of the gaps that service levels need, where they need more than their share
	most     float64 // requests a second that one source may take; +Inf if that is no matter
}

// withDefaults fills in what is not said, for these prospects.
func (t Terms) withDefaults(prospects []Prospect) Terms {
	t.Budget = cmp.Or(t.Budget, 1)
	t.Instant = cmp.Or(t.Instant, time.Second)
	const century = 100 * 365 * 24 * time.Hour
	turns := min(50*float64(len(prospects))/t.Budget, century.Seconds())
	t.Longest = cmp.Or(t.Longest, max(30*24*time.Hour, time.Duration(turns*float64(time.Second))))
	t.Patience = cmp.Or(t.Patience, 24*time.Hour)
	t.expected = math.Inf(1)
	if t.Curiosity > 0 {
		changes := 0.0
		for i := range prospects {
			changes += prospects[i].Rate.Mean
		}
		t.expected = t.Curiosity * changes / t.Budget
	}
	t.most, t.stretch = math.Inf(1), t.stretchAt(prospects, t.Budget)
	return t
}

// held returns the gap that the service level of a prospect asks the policy for,
// in seconds, before it is stretched; 0 if it asks for none.
func (t *Terms) held(p *Prospect) float64 {
	if t.LevelShare <= 0 || p.Level == (objective.ServiceLevel{}) {
		return 0
	}
	gap := p.Level.Gap(p.Life, p.Rate.Mean)
	if gap < max(p.MinGap, shortest).Seconds() {
		return 0 // no polling keeps it
	}
	return gap
}

// stretchAt returns by how much the gaps that service levels ask for are stretched
// at a budget.
func (t *Terms) stretchAt(prospects []Prospect, budget float64) float64 {
	needs := 0.0
	if t.LevelShare > 0 {
		for i := range prospects {
			if gap := t.held(&prospects[i]); gap > 0 {
				needs += 1 / gap
			}
		}
	}
	if needs == 0 {
		return 1
	}
	return max(1, needs/(t.LevelShare*budget))
}

// shortest is the least time between two polls of a source, whatever it is
// worth.
const shortest = time.Second

// A Choice names some of the sources.
type Choice struct {
	IDs   []freshet.SourceID
	Tags  []string
	Hosts []string
}

// ParseChoice reads names of sources: an ID, or "tag:T" or "host:H" for all
// sources with that tag or of that host.
func ParseChoice(names []string) (Choice, error) {
	var c Choice
	for _, name := range names {
		kind, of, ok := strings.Cut(name, ":")
		switch {
		case ok && kind == "tag" && of != "":
			c.Tags = append(c.Tags, of)
		case ok && kind == "host" && of != "":
			c.Hosts = append(c.Hosts, strings.ToLower(of))
		case freshet.ValidSourceID(freshet.SourceID(name)):
			c.IDs = append(c.IDs, freshet.SourceID(name))
		default:
			return c, &invalid.Error{Field: "drop", Reason: "\"" + name + "\" is no source; write its id, tag:T or host:H"}
		}
	}
	return c, nil
}

// Has reports whether a prospect is among the chosen.
func (c Choice) Has(p Prospect) bool {
	return slices.Contains(c.IDs, p.ID) || slices.Contains(c.Hosts, p.Host) ||
		slices.ContainsFunc(p.Tags, func(tag string) bool { return slices.Contains(c.Tags, tag) })
}
