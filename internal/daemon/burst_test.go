package daemon_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A slow policy wants nothing, but does not say so before it is let. It counts how
// often it is asked.
type slow struct {
	policy.RoundRobin
	let   chan struct{}
	asked atomic.Int64
}

func (s *slow) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time {
	s.asked.Add(1)
	<-s.let
	return time.Time{}
}

// The sources of a long file are told to the loop together. To ask the policy after
// each of them had a daemon with 20,000 sources poll nothing for minutes.
func TestManySourcesAtOnce(t *testing.T) {
	t.Parallel()
	const many = 2500
	s := &slow{let: make(chan struct{})}
	b := begin(t, t.TempDir(), daemon.Config{
		Fetcher: synth.New(synth.Config{Now: time.Now}), Policy: s,
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1000, Per: time.Hour}},
	}, freshet.Source{ID: "first", URL: "http://first.example/"})
	defer b.stop()
	var listed []freshet.Source
	for i := range many {
		listed = append(listed, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%04d", i)), URL: fmt.Sprintf("http://h.example/%d", i)})
	}
	if _, err := b.Sync(t.Context(), freshet.PackSources(listed...)); err != nil {
		t.Fatal(err)
	}
	before := s.asked.Load()
	close(s.let)
	// The loop answers when it has heard all that came before.
	if _, err := b.NextPolls(t.Context(), []freshet.SourceID{"s0000"}); err != nil {
		t.Fatal(err)
	}
	if asked := s.asked.Load() - before; asked > 20 {
		t.Errorf("the policy is asked %d times while the loop hears of %d sources, want a few times", asked, many)
	}
}
