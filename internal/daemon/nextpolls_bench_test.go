package daemon_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// BenchmarkNextPolls asks when each of 20,000 sources of one host is polled next, as
// a list of them does: when nothing was said yet, and again a moment later.
func BenchmarkNextPolls(b *testing.B) {
	const sources = 20_000
	store, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir(), Features: features.All()})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	budget := sched.Budget{Polls: 10, Per: time.Second}
	auto, learner, err := policy.Wire("auto", policy.InDaemon("auto", budget, sources))
	if err != nil {
		b.Fatal(err)
	}
	d := daemon.New(daemon.Config{
		Store: store, Policy: auto, Learner: learner, Limits: sched.Limits{Budget: budget},
		Fetcher: synth.New(synth.Config{Now: time.Now}),
	})
	ids, listed := make([]freshet.SourceID, sources), make([]freshet.Source, sources)
	for i := range sources {
		ids[i] = freshet.SourceID(fmt.Sprintf("s%05d", i))
		listed[i] = freshet.Source{ID: ids[i], URL: fmt.Sprintf("http://h.example/%d", i)}
	}
	if _, err := d.Sync(b.Context(), freshet.PackSources(listed...)); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() { stop(); <-ended }()
	<-d.Started()
	ask := func() time.Duration {
		began := time.Now()
		if _, err := d.NextPolls(ctx, ids); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	first, again := ask(), time.Duration(0)
	for b.Loop() {
		again += ask()
	}
	b.ReportMetric(first.Seconds()*1000, "ms/first")
	b.ReportMetric(first.Seconds()/(again.Seconds()/float64(b.N)), "first/again")
}
