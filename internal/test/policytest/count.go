package policytest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
)

// Tick is the instant of the policies that KeepsCount drives.
const Tick = time.Minute

// KeepsCount drives a policy at random, and checks that it offers nothing that is
// not there, nothing twice at one time, and loses nothing. A policy that is busy always has a use
// for a poll of a source that it has not polled at the same time.
func KeepsCount(t *testing.T, fresh func() freshet.Policy, busy bool) {
	rapid.Check(t, func(t *rapid.T) {
		p := fresh()
		now := Noon
		there := map[freshet.Slot]bool{} // false if paused
		flying := map[freshet.Slot]bool{}
		end := func(slot freshet.Slot, r freshet.Result) {
			delete(flying, slot)
			p.Observe(now, slot, freshet.Outcome{Began: now, Ended: now, Result: r})
		}
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 999), 1, 150).Draw(t, "steps") {
			slot := freshet.Slot(step % 12)
			switch {
			case step < 250:
				s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("site%d/%d", slot%3, slot)), Weight: float64(1 + step%3), Paused: step%7 == 0}
				p.Put(now, slot, s, time.Time{})
				there[slot] = !s.Paused
			case step < 330:
				if _, known := there[slot]; known && !flying[slot] {
					p.Remove(slot)
					delete(there, slot)
				}
			case step < 600:
				for s := range freshet.Slot(12) {
					if flying[s] {
						end(s, freshet.Result(step%4))
					}
				}
				now = now.Add(time.Duration(step%5) * Tick)
			default:
				shut := freshet.Slot(step % 7)
				once := map[freshet.Slot]bool{}
				n := step%6 + 1
				p.Choose(now, n, func(s freshet.Slot, worth float64) bool {
					switch {
					case !there[s]:
						t.Fatalf("slot %d was offered and is not there, or paused", s)
					case !(worth > 0):
						t.Fatalf("slot %d was offered at a worth of %v", s, worth)
					}
					if s == shut || flying[s] && !once[s] {
						return false
					}
					if once[s] {
						t.Fatalf("slot %d was offered again in the choice that took it", s)
					}
					once[s], flying[s] = true, true
					return true
				})
				if len(once) > n {
					t.Fatalf("%d sources taken, want at most %d", len(once), n)
				}
			}
		}
		if !busy {
			return
		}
		for s := range freshet.Slot(12) {
			if flying[s] {
				end(s, freshet.Unchanged)
			}
		}
		now = now.Add(time.Hour)
		taken, open := 0, 0
		for _, is := range there {
			if is {
				open++
			}
		}
		p.Choose(now, 99, func(freshet.Slot, float64) bool { taken++; return true })
		if taken != open {
			t.Fatalf("%d sources taken in the end, want all %d", taken, open)
		}
	})
}
