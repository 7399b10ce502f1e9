package policy_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// fair is the worst wait, in ticks, that the floor under what is expected of a
// source lets it have next to others that each have so many changes waiting.
func fair(sources, budget, waiting float64) float64 { return 50 * max(1, waiting) * sources / budget }

// Sources that differ at every poll, that never do, that fail, and ordinary ones:
// none starves, and none eats the budget.
func TestAutoSharesTheBudget(t *testing.T) {
	tier.Slow(t, "it simulates many worlds")
	tests := []struct {
		what   string
		answer func(p freshet.Poll, o *freshet.Outcome) // of the odd ones
		odd    int
		atMost float64 // of an even share of the budget, for each of the odd
		stakes freshet.Source
	}{
		{"differs at every poll", func(_ freshet.Poll, o *freshet.Outcome) { o.Result = freshet.Changed }, 10, 12, freshet.Source{}},
		{"never differs", func(_ freshet.Poll, o *freshet.Outcome) { o.Result = freshet.Unchanged }, 10, 1, freshet.Source{}},
		{"always fails", func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, "timeout" }, 10, 3, freshet.Source{}},
		{"fails for a long while", func(p freshet.Poll, o *freshet.Outcome) {
			if at := p.At.Sub(noon) / time.Minute; at > 1000 && at < 3000 {
				o.Result, o.Failure = freshet.Failed, "timeout"
			}
		}, 10, 3, freshet.Source{}},
		{"never differs, where worth decays", func(_ freshet.Poll, o *freshet.Outcome) { o.Result = freshet.Unchanged }, 10, 1,
			freshet.Source{Life: objective.Visibility{Kind: objective.VisibleForever}, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute}}},
		{"always fails, where worth decays", func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, "timeout" }, 10, 3,
			freshet.Source{Life: objective.Visibility{Kind: objective.VisibleForever}, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute}}},
		{"differs at every poll, where worth decays", func(_ freshet.Poll, o *freshet.Outcome) { o.Result = freshet.Changed }, 10, 20,
			freshet.Source{Life: objective.Visibility{Kind: objective.VisibleForever}, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute}}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			const pages, budget, ticks = 100, 5.0, 4000
			r := newAutoRun(time.Minute, ticks, budget)
			odd := map[freshet.SourceID]bool{}
			for i := range pages {
				id := r.add(tt.stakes, 0.02)
				odd[id] = i < tt.odd
			}
			r.Answer = func(p freshet.Poll, o *freshet.Outcome) {
				if odd[p.Source.ID] {
					tt.answer(p, o)
				}
			}
			r.run(t, nil)
			sound(t, r.auto, r.end, pages)
			spent := 0
			for _, o := range r.outcomes {
				if odd[o.Source] {
					spent++
				}
			}
			multiple := float64(spent) / float64(len(r.outcomes)) * pages / float64(tt.odd)
			wait, of := r.longestWait()
			t.Logf("each of the odd gets %.2f even shares; %s waited for %.0f ticks", multiple, of, wait)
			if multiple > tt.atMost {
				t.Errorf("each of the odd gets %.2f times an even share of the budget, want no more than %.0f", multiple, tt.atMost)
			}
			waiting := 1.0
			if tt.stakes.Urgency.Kind != objective.UrgencyUniform { // half the worth is for what is found, however old
				waiting = 2
			}
			if most := fair(pages, budget, waiting); wait > most {
				t.Errorf("%s was not polled for %.0f ticks, want no longer than %.0f", of, wait, most)
			}
		})
	}
}

// A million to one: one source changes all the time, and the others hardly ever.
func TestAutoUnderSkew(t *testing.T) {
	const pages, budget, ticks = 60, 2.0, 6000
	r := newAutoRun(time.Minute, ticks, budget)
	r.add(freshet.Source{}, 10)
	for range pages - 1 {
		r.add(freshet.Source{}, 1e-5)
	}
	r.run(t, nil)
	sound(t, r.auto, r.end, pages)
	wait, of := r.longestWait()
	busy := r.polls("s0000")
	t.Logf("the busy source has %d polls in %d ticks; %s waited for %.0f ticks", busy, ticks, of, wait)
	if busy < ticks*9/10 {
		t.Errorf("the one source that changes was polled %d times in %d ticks", busy, ticks)
	}
	if most := fair(pages, budget, 1); wait > most {
		t.Errorf("%s was not polled for %.0f ticks, want no longer than %.0f", of, wait, most)
	}
}

// Weights and costs at their extremes: what weighs a million times as much gets
// nearly all, and yet nobody waits for more than a hundred turns.
func TestAutoWithExtremeWeights(t *testing.T) {
	for _, tt := range []struct {
		what   string
		source freshet.Source
	}{
		{"a weight of a million", freshet.Source{Weight: 1e6}},
		{"a weight of a millionth", freshet.Source{Weight: 1e-6}},
		{"a cost of a million", freshet.Source{Cost: 1e6}},
		{"a cost of a millionth", freshet.Source{Cost: 1e-6}},
	} {
		for _, urgency := range []objective.Urgency{{}, {Kind: objective.UrgencyExp, A: 0.9, Per: time.Minute}} {
			t.Run(tt.what+", "+urgency.String(), func(t *testing.T) {
				const pages, budget, ticks = 12, 1.0, 3000
				r := newAutoRun(time.Minute, ticks, budget)
				tt.source.Urgency = urgency
				extreme := r.add(tt.source, 0.05)
				for range pages - 1 {
					r.add(freshet.Source{Urgency: urgency}, 0.05)
				}
				r.run(t, nil)
				sound(t, r.auto, r.end, pages)
				wait, of := r.longestWait()
				t.Logf("polled %d times, and another %d times; %s waited for %.0f ticks", r.polls(extreme), r.polls("s0001"), of, wait)
				most := 100*pages/budget + 3*pages
				if wait > most {
					t.Errorf("%s was not polled for %.0f ticks, want no longer than %.0f", of, wait, most)
				}
				for slot := range freshet.Slot(pages) {
					o := r.auto.Outlook(r.end, slot)
					if ahead := o.Due.Sub(r.end).Minutes(); o.Due.IsZero() || ahead > most {
						t.Errorf("the source in slot %d is due at %v, %.0f ticks ahead, want no more than %.0f", slot, o.Due, ahead, most)
					}
				}
				if heavy := r.polls(extreme) > r.polls("s0001"); heavy != (tt.source.Importance() > tt.source.Price()) {
					t.Errorf("it was polled %d times, and another %d times", r.polls(extreme), r.polls("s0001"))
				}
			})
		}
	}
}

// First looks are out of turn, and say nothing of what polls are worth.
func TestAutoPricesNoFirstLooks(t *testing.T) {
	for _, weight := range []float64{1e-3, 0.5, 1, 1e3} {
		const pages, budget = 40, 2.0
		r := newAutoRun(time.Minute, 30, budget)
		r.Unseen = true
		for range pages {
			r.add(freshet.Source{Weight: weight}, 0.05)
		}
		r.run(t, nil)
		if price := r.auto.Price() / weight; !(price > 0) || price > 3 {
			t.Errorf("where all weigh %v the price of a poll is that of %v changes", weight, price)
		}
	}
}

// From nothing to watch to more budget than there is to spend, from a second to
// a day: the budget is kept, what can be polled is, and all are polled.
func TestAutoAtAnySize(t *testing.T) {
	tier.Slow(t, "it simulates many worlds")
	for _, pages := range []int{0, 1, 2, 30} {
		for _, budget := range []float64{0.01, 0.3, 1, 100} {
			for _, tick := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
				t.Run(fmt.Sprintf("%d sources, %v polls in %v", pages, budget, tick), func(t *testing.T) {
					ticks := 400
					if budget < 0.1 {
						ticks = 4000
					}
					r := newAutoRun(tick, ticks, budget)
					for i := range pages {
						r.add(freshet.Source{}, []float64{0.001, 0.1, 3}[i%3])
					}
					each := map[time.Time]map[freshet.SourceID]int{}
					r.run(t, func(o freshet.Outcome) {
						if each[o.Began] == nil {
							each[o.Began] = map[freshet.SourceID]int{}
						}
						if each[o.Began][o.Source]++; each[o.Began][o.Source] > 1 {
							t.Fatalf("%s was polled twice at one instant", o.Source)
						}
					})
					sound(t, r.auto, r.end, pages)
					most := min(budget, float64(pages)) * float64(ticks)
					if got := float64(len(r.outcomes)); got > most+1 || got < 0.9*most-2 {
						t.Errorf("%v polls were made, want about %v", got, most)
					}
					if wait, of := r.longestWait(); wait > max(2, fair(float64(pages), budget, 1)) {
						t.Errorf("%s was not polled for %.0f ticks", of, wait)
					}
				})
			}
		}
	}
}

// Lives and urgencies of all kinds in one portfolio: all are numbers, and all
// are polled.
func TestAutoMixesLivesAndUrgencies(t *testing.T) {
	tier.Slow(t, "it simulates many worlds")
	lives := []string{"overwrite", "append", "window:5", "window:0", "last:3", "last:1024"}
	urgencies := []string{"uniform", "exp:0.9", "exp:0.5", "exp:0", "exp:1", "window:3", "poly:2", "polyexp:2,0.1", "chordal:10", "table:1,0.5,0.1"}
	const budget, ticks = 6.0, 4000
	r := newAutoRun(time.Minute, ticks, budget)
	for _, l := range lives {
		for _, u := range urgencies {
			life, err := objective.ParseVisibilityIn(time.Minute, l)
			if err != nil {
				t.Fatal(err)
			}
			urgency, err := objective.ParseUrgencyIn(time.Minute, u)
			if err != nil {
				t.Fatal(err)
			}
			r.add(freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%02d", len(r.sources))), Name: l + " " + u, Life: life, Urgency: urgency}, 0.03)
		}
	}
	r.run(t, nil)
	pages := len(r.sources)
	sound(t, r.auto, r.end, pages)
	wait, of := r.longestWait()
	for _, s := range r.sources {
		if s.ID == of {
			t.Logf("%s (%s) waited for %.0f ticks and was polled %d times", s.ID, s.Name, wait, r.polls(s.ID))
		}
	}
	if most := fair(float64(pages), budget, 1); wait > most {
		t.Errorf("%s was not polled for %.0f ticks, want no longer than %.0f", of, wait, most)
	}
}

// A host that asks to be left alone for long holds the best choices, and the
// budget goes to the others; when it opens again, it is not forgotten.
func TestAutoWhenTheBestAreRefused(t *testing.T) {
	const pages, budget, ticks = 60, 3.0, 3000
	r := newAutoRun(time.Minute, ticks, budget)
	r.limits.Hosts.Delay = 30 * time.Minute // one poll of a host in half an hour
	for i := range pages {
		s := freshet.Source{}
		if i < 30 {
			s.URL = fmt.Sprintf("https://busy.example/%d", i)
			r.add(s, 1)
			continue
		}
		r.add(s, 0.02)
	}
	r.run(t, nil)
	sound(t, r.auto, r.end, pages)
	busy, others := 0, 0
	for _, o := range r.outcomes {
		if o.Source < "s0030" {
			busy++
		} else {
			others++
		}
	}
	t.Logf("%d polls of the host that is slow to answer, and %d of the others", busy, others)
	if busy < ticks/30-2 || busy > ticks/30+2 {
		t.Errorf("the busy host was polled %d times in %d ticks, and may be every 30", busy, ticks)
	}
	if others < ticks*9/10 { // thirty hosts with a poll every half an hour each
		t.Errorf("the others were polled %d times in %d ticks, while the best were refused", others, ticks)
	}
}

// Sources come and go while polls are under way.
func TestAutoWhileSourcesComeAndGo(t *testing.T) {
	const pages, budget, ticks = 30, 3.0, 2000
	r := newAutoRun(time.Minute, ticks, budget)
	r.Latency = 90 * time.Second
	for i := range pages {
		r.add(freshet.Source{URL: fmt.Sprintf("https://h%d.example/%d", i/3, i)}, 0.05)
	}
	gone := map[freshet.SourceID]bool{}
	for tick := 10; tick < ticks; tick += 7 {
		source := r.sources[tick*tick%pages]
		var e sched.Event = sched.SourceRemoved{Source: source.ID}
		if gone[source.ID] {
			source.Weight = float64(1 + tick%3)
			e = sched.SourcePut{Source: freshet.SourceWithStatus{Source: source}}
		}
		gone[source.ID] = !gone[source.ID]
		r.Edits = append(r.Edits, labEdit(noon.Add(time.Duration(tick)*time.Minute+20*time.Second), e))
	}
	r.run(t, nil)
	sound(t, r.auto, r.end, pages)
	last := map[freshet.SourceID]time.Time{}
	for _, o := range r.outcomes {
		last[o.Source] = o.Began
	}
	for _, s := range r.sources {
		if quiet := r.end.Sub(last[s.ID]); !gone[s.ID] && quiet > time.Duration(fair(pages, budget, 1))*time.Minute {
			t.Errorf("%s is there and was not polled for the last %v", s.ID, quiet)
		}
	}
}

// A clock that is set back, or was ahead when auto began, does not keep it from
// polling.
func TestAutoWhenTheClockIsSetBack(t *testing.T) {
	for _, tt := range []struct {
		what string
		back time.Duration
	}{{"an hour", time.Hour}, {"a day", 24 * time.Hour}, {"a year", 365 * 24 * time.Hour}} {
		t.Run(tt.what, func(t *testing.T) {
			const pages = 20
			a := policy.NewAuto(policy.AutoConfig{Instant: time.Minute, Polls: 2})
			for slot := range freshet.Slot(pages) {
				a.Put(noon, slot, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%02d", slot)), URL: fmt.Sprintf("https://h%d.example", slot)}, noon)
			}
			polled := map[freshet.Slot]int{}
			minute := func(now time.Time) {
				var taken []freshet.Slot
				a.Choose(now, 2, func(slot freshet.Slot, _ float64) bool {
					taken = append(taken, slot)
					return true
				})
				for _, slot := range taken {
					polled[slot]++
					a.Observe(now, slot, freshet.Outcome{Began: now, Ended: now, Result: freshet.Result(int(slot+freshet.Slot(now.Minute())) % 2)})
				}
			}
			for i := range time.Duration(200) {
				minute(noon.Add(i * time.Minute))
			}
			clear(polled)
			for i := range time.Duration(600) {
				minute(noon.Add(200*time.Minute - tt.back + i*time.Minute))
			}
			sound(t, a, noon.Add(800*time.Minute-tt.back), pages)
			for slot := range freshet.Slot(pages) {
				if polled[slot] == 0 {
					t.Errorf("slot %d was not polled in the ten hours after the clock was set back", slot)
				}
			}
		})
	}
}

// Sources of which no poll ever succeeds have no more than their turn, beside
// others that have never been seen, and others that have.
func TestAutoWithSourcesNeverSeen(t *testing.T) {
	const pages, budget, ticks = 60, 3.0, 2000
	r := newAutoRun(time.Hour*24, ticks, budget)
	r.Answer = func(p freshet.Poll, o *freshet.Outcome) {
		if p.Source.ID < "s0020" {
			o.Result, o.Failure = freshet.Failed, "dns"
		}
	}
	for range pages {
		r.add(freshet.Source{}, 0.05)
	}
	r.Unseen = true
	r.run(t, nil)
	sound(t, r.auto, r.end, pages)
	dead := 0
	for i := range 20 {
		n := r.polls(r.sources[i].ID)
		if dead += n; n < 2 {
			t.Errorf("%s was tried %d times in %d ticks", r.sources[i].ID, n, ticks)
		}
	}
	share := float64(dead) / float64(len(r.outcomes)) * pages / 20
	t.Logf("each of those that were never seen gets %.2f even shares", share)
	if share > 3 {
		t.Errorf("each of those that were never seen gets %.2f times an even share of the budget", share)
	}
	if wait, of := r.longestWait(); wait > fair(pages, budget, 1) {
		t.Errorf("%s was not polled for %.0f ticks", of, wait)
	}
}

// All sources are down for a week, and polled as soon as they are up again.
func TestAutoAfterAWeekOfFailures(t *testing.T) {
	const pages, budget, ticks = 24, 2.0, 20 * 24
	r := newAutoRun(time.Hour, ticks, budget)
	up := noon.Add(14 * 24 * time.Hour)
	r.Answer = func(p freshet.Poll, o *freshet.Outcome) {
		if p.At.Before(up) && p.At.After(up.Add(-7*24*time.Hour)) {
			o.Result, o.Failure = freshet.Failed, "connect"
		}
	}
	for range pages {
		r.add(freshet.Source{}, 0.1)
	}
	r.run(t, nil)
	sound(t, r.auto, r.end, pages)
	if wait, of := r.longestWait(); wait > 4*pages/budget {
		t.Errorf("%s was not polled for %.0f hours", of, wait)
	}
	if got := len(r.outcomes); got < ticks*2-4 {
		t.Errorf("%d polls were made of %d", got, ticks*2)
	}
}
