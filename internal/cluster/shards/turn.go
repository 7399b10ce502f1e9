package shards

import (
	"math"
	"slices"
	"time"

	"freshet/internal/sched"
)

// turn goes on with the move that is under way, or begins one if that is due.
func (t *Table) turn(now time.Time) {
	if slices.ContainsFunc(t.Seats, func(s Seat) bool { return s.Unsure }) {
		return
	}
	t.resize(now)
	switch {
	case t.moving():
		t.giveUp(now)
	case t.spare() >= 1:
		t.begin(now, t.shareOut(now))
	case !t.Weighed && t.sources() > 0 && !now.Before(t.Since.Add(2*t.instant())) && t.all(func(s Seat) bool { return s.Heard(now) }):
		t.Weighed = true
		t.begin(now, Divide(t.Budget.Polls, t.weights(), true))
	case now.Before(t.Since.Add(t.pause())):
	default:
		t.exchange(now)
	}
}

// exchange moves a part of the budget if prices differ.
func (t *Table) exchange(now time.Time) {
	claims := make([]Claim, len(t.Seats))
	for i, s := range t.Seats {
		if s.Heard(now) {
			claims[i] = s.Claim
		}
	}
	goals := t.goals()
	m := Next(goals, Least(t.Budget.Polls, t.weights(), true), claims, true)
	if t.Met = m.Met; m.Polls == 0 {
		t.settle(now) // to count anew
		return
	}
	goals[m.From] -= m.Polls
	goals[m.To] += m.Polls
	t.begin(now, goals)
}

// begin lowers what is to be lowered. What is to be raised waits for it.
func (t *Table) begin(now time.Time, goals []float64) {
	if slices.Equal(goals, t.goals()) {
		t.settle(now)
		return
	}
	t.Version++
	t.Moves++
	t.Began = now
	for i, goal := range goals {
		s := &t.Seats[i]
		s.Was, s.Goal, s.Part = s.Part, goal, min(s.Part, goal)
	}
}

// resize takes on another budget, if the brains were told of one. While they were told of
// different ones the smallest holds.
func (t *Table) resize(now time.Time) {
	to := t.Budget
	first := true
	for _, s := range t.Seats {
		if s.Store == "" || Check(s.Wants, len(t.Seats)) != nil {
			continue
		}
		if first || s.Wants.PerSecond() < to.PerSecond() {
			to, first = sched.Budget{Polls: s.Wants.Polls, Per: s.Wants.Per}, false
		}
	}
	if to == t.Budget {
		return
	}
	goals := t.goals()
	for i := range goals {
		goals[i] = max(1, goals[i])
	}
	goals = Divide(to.Polls, goals, true)
	same := to.Per == t.Budget.Per
	t.Budget = to
	t.begin(now, goals)
	for i := range t.Seats {
		if s := &t.Seats[i]; !same {
			s.Part = s.Goal // there is nothing to compare it with
		}
		t.Seats[i].Was = 0 // this is not undone
	}
	t.settle(now)
}

// giveUp ends a move that has been under way for too long: a brain that was to lower its
// part, or to take more, does not speak. If nobody has more yet, all is as it was before;
// otherwise those that do not speak get no more.
func (t *Table) giveUp(now time.Time) {
	if now.Sub(t.Began) < max(patience, 3*t.wait()) {
		return
	}
	undo := t.all(func(s Seat) bool { return s.Was > 0 && s.Part <= s.Was })
	before := t.goals()
	for i := range t.Seats {
		s := &t.Seats[i]
		switch {
		case undo:
			s.Part, s.Goal = s.Was, s.Was
		case !s.Heard(now):
			s.Goal = min(s.Goal, s.Part)
		}
	}
	if !slices.Equal(before, t.goals()) {
		t.Version++
	}
	t.settle(now)
}

// settle ends a move if all parts are as they are to be.
func (t *Table) settle(now time.Time) {
	if t.moving() {
		return
	}
	t.Since, t.Began = now, time.Time{}
	for i := range t.Seats {
		t.Seats[i].Was, t.Seats[i].Claim.Made, t.Seats[i].Claim.Given = 0, 0, 0
	}
}

// shareOut returns what each is to have if what is spare goes to those that speak, in
// proportion to what they have.
func (t *Table) shareOut(now time.Time) []float64 {
	goals, weights, left := t.goals(), make([]float64, len(t.Seats)), math.Floor(t.spare())
	dearest := -1
	for i, s := range t.Seats {
		if s.Heard(now) {
			weights[i] = max(1, s.Goal)
			if dearest < 0 || s.Claim.Price > t.Seats[dearest].Claim.Price {
				dearest = i
			}
		}
	}
	for i, x := range Divide(left, weights, false) {
		goals[i] += math.Floor(x)
		left -= math.Floor(x)
	}
	goals[dearest] += left // one speaks in any case: who asks
	return goals
}
