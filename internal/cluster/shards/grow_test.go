package shards_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/sched"
)

// A brain for which room was made gets its part when the others have given it up, and not before, also if it
// comes late.
func TestTableGrows(t *testing.T) {
	table, members := newTable(t, sched.Budget{Polls: 60, Per: time.Second}, 1, 1)
	now := play(t, table, members, 0, 5*time.Second)
	if err := table.Grow(3, epoch.Add(now)); err != nil {
		t.Fatal(err)
	}
	now = play(t, table, members[:1], now, time.Second)
	if got := held(table); !slices.Equal(got, []float64{20, 20, 0}) {
		t.Errorf("the parts are %v before the new brain has come", got)
	}
	members = append(members, &member{number: 3, price: 1, wants: table.Budget})
	now = play(t, table, []*member{members[0], members[2]}, now, 10*time.Second)
	if got := held(table); got[2] != 0 {
		t.Errorf("the new brain has %v, though one has not said that it keeps to less", got[2])
	}
	now = play(t, table, members, now, 1500*time.Millisecond)
	if got := held(table); got[2] != 0 {
		t.Errorf("the new brain has %v, though polls by the larger part can still be seen", got[2])
	}
	now = play(t, table, members, now, time.Second)
	if got := held(table); !slices.Equal(got, []float64{20, 20, 20}) {
		t.Errorf("the parts are %v in the end", got)
	}
	if err := table.Grow(4, epoch.Add(now)); err != nil {
		t.Fatal(err)
	}
	now = play(t, table, members, now, time.Hour) // the fourth comes late
	members = append(members, &member{number: 4, price: 1, wants: table.Budget})
	now = play(t, table, members, now, 5*time.Second)
	if got := held(table); sum(got) != 60 || slices.Min(got) < 10 {
		t.Errorf("the parts are %v after the last one has come late", got)
	}
	for n, why := range map[int]string{4: "it has as many", 3: "it has more", 61: "the budget is too small", 65: "so many may not be"} {
		if table.Grow(n, epoch.Add(now)) == nil {
			t.Errorf("the table grows to %d, though %s", n, why)
		}
	}
}
