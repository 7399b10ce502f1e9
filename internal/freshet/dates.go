package freshet

import (
	"slices"
	"time"
)

// Shifted returns the outcome with all its times moved: the clock that they were
// read from was that far off.
func (o Outcome) Shifted(by time.Duration) Outcome {
	if by == 0 {
		return o
	}
	for _, t := range []*time.Time{&o.Since, &o.Pushed, &o.Began, &o.Ended, &o.Modified, &o.NotBefore} {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	o.Dates = slices.Clone(o.Dates)
	for i, t := range o.Dates {
		o.Dates[i] = t.Add(by)
	}
	if o.Word != nil {
		o.Word = o.Word.Shifted(by)
	}
	if o.Foretold != nil {
		o.Foretold = o.Foretold.Shifted(by)
	}
	return o
}

// Shifted returns the poll with its times moved.
func (p Poll) Shifted(by time.Duration) Poll {
	for _, t := range []*time.Time{&p.At, &p.Since, &p.Pushed} {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	along := p.Along
	p.Along = nil
	for _, c := range along {
		if !c.Since.IsZero() {
			c.Since = c.Since.Add(by)
		}
		p.Along = append(p.Along, c)
	}
	return p
}
