package learn_test

import (
	"testing"
	"time"

	"freshet/learn"
)

func TestTickFollowsTheTurnOfTheSources(t *testing.T) {
	for _, c := range []struct {
		what    string
		sources int
		polls   float64
		instant time.Duration
		want    time.Duration
	}{
		{"no source", 0, 1, time.Second, time.Second},
		{"no budget", 100, 0, time.Second, time.Second},
		{"a turn of just so many instants", 384, 1, time.Second, time.Second},
		{"one source more", 385, 1, time.Second, 2 * time.Second},
		{"10,000 sources at 500 polls a second", 10_000, 500, time.Second, time.Second},
		{"10,000 sources at a poll a second", 10_000, 1, time.Second, 32 * time.Second},
		{"a fraction of a poll in every 12 hours", 500, 0.5, 12 * time.Hour, 48 * time.Hour},
	} {
		if got := learn.TickFor(c.sources, c.polls, c.instant); got != c.want {
			t.Errorf("%s: the tick is %v, want %v", c.what, got, c.want)
		}
	}
}
