package sched_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

func hours(text string) timetable.Hours {
	h, err := timetable.ParseHours(text)
	if err != nil {
		panic(err)
	}
	return h
}

// Whatever wants a poll, outside of the active hours there is none but by hand, and what fell
// due meanwhile is made when they begin. The world begins on a Sunday at 12:00.
func TestActiveHours(t *testing.T) {
	at := func(hours ...float64) (all []time.Duration) {
		for _, h := range hours {
			all = append(all, time.Duration(h*float64(time.Hour)))
		}
		return all
	}
	for _, tt := range []struct {
		name   string
		source freshet.Source
		want   []time.Duration
	}{
		{"max_gap", freshet.Source{Active: hours("13:00-15:00"), MaxGap: time.Hour}, at(1, 2, 25, 26)},
		{"a strategy", freshet.Source{Active: hours("13:00-15:00"), Strategy: strategy("hour {30}")}, at(1, 1.5, 2.5, 25, 25.5, 26.5)},
		{"only on Mondays", freshet.Source{Active: hours("mon 00:00-02:00 Europe/Berlin"), MaxGap: time.Hour}, at(11, 12)},
		{"over midnight", freshet.Source{Active: hours("23:00-01:00"), MaxGap: time.Hour}, at(11, 12, 35, 36)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.SourceGap = 1000 * time.Hour // the policy wants no poll but the first
			w := newWorld(l)
			tt.source.ID, tt.source.URL = "a", "https://a.example/a"
			w.put(tt.source)
			w.run(36*time.Hour + time.Minute)
			if got := w.times("a"); !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
		})
	}
}

// The policy polls in the hours alone, a poll by hand is made at any time, and a push waits.
func TestActiveHoursOfThePolicy(t *testing.T) {
	l := generous()
	l.SourceGap = 10 * time.Minute
	w := newWorld(l)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/a", Active: hours("13:00-14:00")})
	w.run(30 * time.Minute)
	w.s.Apply(w.now, sched.PollRequested{Source: "a"})
	w.run(3 * time.Hour)
	w.s.Apply(w.now, sched.Push{Source: "a", Urgent: true})
	if h, _ := w.s.Hold(w.now, "a"); h.Active == nil {
		t.Error("the hold says nothing of active hours")
	}
	w.run(22 * time.Hour)
	var outside []time.Duration
	inside, pushed := 0, false
	for _, p := range w.polls {
		after := p.At.Sub(start) % (24 * time.Hour)
		if after < time.Hour || after >= 2*time.Hour {
			outside = append(outside, after)
		} else {
			inside++
			pushed = pushed || p.Cause == freshet.ByPush
		}
	}
	if !slices.Equal(outside, []time.Duration{30 * time.Minute}) || inside < 9 || !pushed {
		t.Errorf("polled outside of the hours at %v, %d times in them, by the push %v", outside, inside, pushed)
	}
}

// When the clock that hours go by is set, they follow it.
func TestActiveHoursFollowTheClock(t *testing.T) {
	w := newWorld(generous())
	w.put(freshet.Source{ID: "a", URL: "https://a.example/a", Active: hours("13:00-15:00"), MaxGap: time.Hour})
	w.s.Apply(w.now, sched.ClockSet(func() time.Duration { return 30 * time.Minute })) // it is 12:30
	w.run(40 * time.Minute)
	if got := w.times("a"); len(got) == 0 || got[0] != 30*time.Minute {
		t.Errorf("polled at %v, want first at 13:00 of the clock", got)
	}
}

// The learner does not take the silence of unpolled hours for stillness: of a page that changes all day
// at the same rate and is polled at eight hours of the day, it learns about that rate, and not the third that it sees.
func TestActiveHoursTeachNothing(t *testing.T) {
	rate := func(active string) float64 {
		learner := learn.New(learn.Config{})
		l := sched.Limits{Budget: sched.Budget{Polls: 12, Per: time.Hour}, Workers: 4}
		s := sched.New(&policy.Uniform{}, l, learner)
		w := &world{s: s, now: start}
		w.put(freshet.Source{ID: "a", URL: "https://a.example/a", Active: hours(active), MinGap: 5 * time.Minute})
		changes := rand.New(rand.NewPCG(1, 2))
		seen := start
		w.answer = func(p freshet.Poll, o *freshet.Outcome) {
			for at := seen; at.Before(o.Ended); at = at.Add(time.Minute) {
				if changes.Float64() < 1.0/60 { // once an hour
					o.Result = freshet.Changed
				}
			}
			seen = o.Ended
		}
		w.run(14 * 24 * time.Hour)
		slot, _ := s.Slot("a")
		return learner.Outlook(w.now, slot).Rate.Mean * 24 * 3600
	}
	always, office := rate("00:00-24:00"), rate("09:00-17:00")
	if office < 0.75*always || office > 1.25*always {
		t.Errorf("polled at all hours it changes %.1f times a day by the learner, at eight of them %.1f times", always, office)
	}
}
