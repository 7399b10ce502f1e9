package lab

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
)

// A RecordedCase is what a daemon has recorded, and how it fared itself.
type RecordedCase struct {
	*Recorded
	Budget     float64 // polls an instant that were spent
	Score      Score   // of the polls that were really made
	Came, Left int     // sources, within the period

	place               Placement
	ownLife, ownUrgency bool // no other was named
}

// A Retelling says how what a daemon has recorded becomes a case.
type Retelling struct {
	Dir     string // that it was recorded in
	Place   Placement
	Period  Period
	Sources map[freshet.SourceID]freshet.Source // as they were named

	// Weights are taken for weights, and for what is not a source's own.
	Weights             func(*Grid) (Weights, error)
	OwnLife, OwnUrgency bool
}

// Case lays what was recorded on a grid, with the sources' own weights.
func (r *Recorded) Case(t Retelling) (*Case, error) {
	g, err := r.History.Quantise(t.Period)
	if err != nil {
		return nil, err
	}
	k, err := t.Weights(g)
	if err != nil {
		return nil, err
	}
	c := NewCase(t.Dir, g, ownWeights(g, t.Sources, k, t.OwnLife, t.OwnUrgency))
	c.Recorded = &RecordedCase{
		Recorded: r, Budget: float64(r.Spent(g)) / float64(g.Instants),
		Came: r.Came(g), Left: r.Left(g), place: t.Place, ownLife: t.OwnLife, ownUrgency: t.OwnUrgency,
	}
	if c.Recorded.Budget == 0 {
		return nil, freshet.WithHint(fmt.Errorf("no source was polled twice between %s and %s",
			g.Start.Format(time.RFC3339), g.Time(g.Instants).Format(time.RFC3339)), "use a longer part of the recording")
	}
	c.Recorded.Score = r.Own(g, c.Weights, Measures{})
	return c, nil
}

// RecordedFigures say what was recorded, and how far it can be trusted.
type RecordedFigures struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Polls   int     `json:"polls"`
	Failed  int     `json:"failed"`
	First   int     `json:"first_looks"`
	Reread  int     `json:"recipe_changes"`
	Budget  float64 `json:"polls_an_instant"` // without first looks, within the period
	Sources int     `json:"sources"`
	Came    int     `json:"sources_came"` // after the beginning
	Left    int     `json:"sources_left"` // before the end

	Changes  int     `json:"changes_recorded"`  // at least so many happened
	Happened float64 `json:"changes_estimated"` // about so many did
	Filled   int     `json:"changes_filled"`    // so many were put in that nobody saw
	Dated    int     `json:"changes_dated"`
	Place    string  `json:"place"` // of the others

	Gap         float64 `json:"gap_p50_seconds"`
	Width       float64 `json:"window_p50_seconds"`
	WidthP90    float64 `json:"window_p90_seconds"`
	Silence     float64 `json:"longest_silence_seconds"`
	SilentSince string  `json:"longest_silence_from,omitempty"`

	Score *Score `json:"score,omitempty"` // of the polls that were made
}

// Figures returns the figures, without the score.
func (r *RecordedCase) Figures() *RecordedFigures {
	f := &RecordedFigures{
		From: r.From.Format(time.RFC3339), To: r.To.Format(time.RFC3339),
		Polls: r.Polls, Failed: r.Failed, First: r.First, Reread: r.Reread, Budget: r.Budget,
		Sources: len(r.History.Pages()), Came: r.Came, Left: r.Left,
		Changes: r.Changes, Happened: r.Happened, Filled: r.Filled, Dated: r.Dated, Place: r.place.String(),
		Gap: r.Gap.Seconds(), Width: r.Width.Seconds(), WidthP90: r.WidthP90.Seconds(), Silence: r.Silence.Seconds(),
	}
	if r.Silence > 0 {
		f.SilentSince = r.SilentSince.Format(time.RFC3339)
	}
	return f
}

// own is what stands where each source has a life or an urgency of its own.
const own = "own"

// name notes on a trial what the sources say for themselves.
func (r *RecordedCase) name(t *Trial) {
	if r.ownLife {
		t.Life = own
	}
	if r.ownUrgency {
		t.Urgency = own
	}
}

// Trial returns how the polls fared that were really made, as a trial.
func (r *RecordedCase) Trial(c *Case) Trial {
	t := newTrial(c, "recorded", r.Budget)
	t.Score, t.Recorded = r.Score, r.Figures()
	return t
}
