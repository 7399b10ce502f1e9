package policy_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// BenchmarkPoll measures what a poll costs, chosen and learned from, with a
// hundred thousand pages on a thousand sites and a hundred polls an instant.
func BenchmarkPoll(b *testing.B) {
	const pages, each = 100_000, 100
	policies := []struct {
		name string
		p    freshet.Policy
	}{
		{"uniform", &policy.Uniform{}},
		{"sample-greedy", policy.NewSampling(policy.SamplingConfig{Instant: tick})},
		{"sample-proportional", policy.NewSampling(policy.SamplingConfig{Method: policy.SampleProportional, Instant: tick})},
		{"sample-adaptive", policy.NewSampling(policy.SamplingConfig{Method: policy.SampleAdaptive, Instant: tick})},
		{"frequency", policy.NewFrequency(policy.FrequencyConfig{Instant: tick})},
		{"freshness", policy.NewFrequency(policy.FrequencyConfig{Objective: policy.Freshness, Instant: tick})},
		{"stormcrawler", baselines.NewStormCrawler(policy.RevisitConfig{Instant: tick})},
	}
	for _, c := range policies {
		b.Run(c.name, func(b *testing.B) {
			for slot := range freshet.Slot(pages) {
				c.p.Put(noon, slot, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("site%03d/%05d", slot%1000, slot))}, noon)
			}
			taken := make([]freshet.Slot, 0, each)
			take := func(slot freshet.Slot, _ float64) bool { taken = append(taken, slot); return true }
			now, polls := noon, 0
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(tick)
				for left := each; left > 0; {
					taken = taken[:0]
					c.p.Choose(now, left, take)
					if len(taken) == 0 {
						break
					}
					left -= len(taken)
					polls += len(taken)
					for _, slot := range taken {
						o := freshet.Outcome{Began: now, Ended: now.Add(time.Millisecond)}
						if (int(slot)*7+polls)%10 < int(slot)%1000/100 {
							o.Result = freshet.Changed
						}
						c.p.Observe(now, slot, o)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(1, polls)), "ns/poll")
			b.ReportMetric(0, "ns/op")
		})
	}
}
