package lab_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// autos starts auto for each brain, as the conditions of a replay have it.
func autos(g *lab.Grid, o *lab.Options) func(shard, pages int, budget float64) (freshet.Policy, error) {
	return func(_, pages int, budget float64) (freshet.Policy, error) {
		if o.Continuous {
			return baselines.New("auto", policy.InDaemon("auto", sched.Budget{Polls: budget, Per: g.Instant}, pages))
		}
		return baselines.New("auto", policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: pages})
	}
}

// inShards replays auto in shards, and returns all polls in the order of their beginnings.
func inShards(t interface{ Fatal(...any) }, g *lab.Grid, n lab.Shards, o lab.Options) (lab.Score, lab.ShardFigures, []freshet.Outcome) {
	var polls []freshet.Outcome
	o.Observe = func(p freshet.Outcome) { polls = append(polls, p) }
	n.Start = autos(g, &o)
	score, figures, err := lab.ReplayShards(context.Background(), g, n, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(polls, func(a, b freshet.Outcome) int { return a.Began.Compare(b.Began) })
	return score, figures, polls
}

// alone replays auto as one brain.
func alone(t interface{ Fatal(...any) }, g *lab.Grid, o lab.Options) lab.Score {
	p, err := autos(g, &o)(0, len(g.Pages()), o.Budget)
	if err != nil {
		t.Fatal(err)
	}
	score, err := lab.Replay(context.Background(), g, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return score
}

// A region is a host that one of several brains has.
type region struct {
	shard  int
	pages  int
	chance float64 // that a page changes in an instant
}

// gridIn returns a grid of regions.
func gridIn(t interface{ Fatal(...any) }, instants, count int, seed uint64, list ...region) *lab.Grid {
	draw := rand.New(rand.NewPCG(seed, 1))
	changes := map[freshet.SourceID][]float64{}
	for i, r := range list {
		host := ""
		for n := 0; host == "" || shards.Of(host, count) != r.shard; n++ {
			host = fmt.Sprintf("host%d-%d.example", i, n)
		}
		for page := range r.pages {
			id := freshet.SourceID(fmt.Sprintf("%s/%d", host, page))
			changes[id] = nil
			for j := range instants {
				if draw.Float64() < r.chance {
					changes[id] = append(changes[id], float64(j)+draw.Float64())
				}
			}
		}
	}
	return gridOf(t, instants, changes)
}

// However parts of the budget move, all brains together never make more requests in any
// stretch of time than the budget has, by the requests themselves: a server may see one at
// any time from its beginning to its end.
func TestShardsKeepTheBudget(t *testing.T) {
	moved := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(2, 4).Draw(t, "shards")
		// All brains have more to do than they can, and to one of them it is worth more.
		regions := []region{{0, 24, 0.1}, {1, 16, 0.8}}
		for range rapid.IntRange(0, 3).Draw(t, "hosts") {
			regions = append(regions, region{
				shard:  rapid.IntRange(0, count-1).Draw(t, "shard"),
				pages:  rapid.IntRange(1, 8).Draw(t, "pages"),
				chance: rapid.SampledFrom([]float64{0, 0.02, 0.3, 0.9}).Draw(t, "chance"),
			})
		}
		o := lab.Options{Budget: rapid.SampledFrom([]float64{1, 2.5, 8, 11}).Draw(t, "budget")}
		o.Adjust = func(_ int, s *freshet.Source) {
			s.Weight = 1
			if shards.Of(s.Host(), count) == 1 {
				s.Weight = 20
			}
		}
		if rapid.Bool().Draw(t, "continuous") {
			o.Conditions = lab.Conditions{Continuous: true, Latency: rapid.SampledFrom([]time.Duration{0, 300 * time.Millisecond, 90 * time.Second}).Draw(t, "latency")}
			o.Budget = max(o.Budget, float64(count))
		}
		g := gridIn(t, 90, count, rapid.Uint64().Draw(t, "seed"), regions...)
		_, figures, polls := inShards(t, g, lab.Shards{Count: count}, o)
		moved[o.Continuous] += figures.Moves
		for first, last := 0, 0; last < len(polls); last++ {
			now := polls[last].Began
			for first < last && !polls[first].Ended.Add(g.Instant).After(now) { // latency is the same for all
				first++
			}
			if n := last - first + 1; float64(n) > math.Ceil(o.Budget) || o.Continuous && float64(n) > o.Budget {
				t.Fatalf("%d requests in a stretch up to %v, and the budget is %v", n, now.Sub(g.Start), o.Budget)
			}
		}
		if made, most := float64(len(polls)), o.Budget*float64(g.Instants); made > most+1 {
			t.Fatalf("%v polls were made, and the budget is %v in all", made, most)
		}
	})
	if moved[false] == 0 || moved[true] == 0 {
		t.Errorf("parts of the budget moved %v times, by whether time is continuous: nothing was tried", moved)
	}
}

// A brain whose pages hardly change gives its part of the budget to one whose pages do,
// although it has many more of them.
func TestSharesFollowPrices(t *testing.T) {
	const count = 3
	g := gridIn(t, 1000, count, 1, region{0, 90, 0.002}, region{1, 10, 0.15}, region{2, 20, 0.05})
	for _, continuous := range []bool{false, true} {
		o := lab.Options{Budget: 6}
		if continuous {
			o.Conditions = lab.Conditions{Continuous: true, Latency: 300 * time.Millisecond}
		}
		var one, fixed, moving float64 // captured in the second half
		late := func(captured *float64) lab.Options {
			o := o
			o.Look = func(_, instant int, changed bool) {
				if changed && instant > g.Instants/2 {
					*captured++
				}
			}
			return o
		}
		alone(t, g, late(&one))
		inShards(t, g, lab.Shards{Count: count, Fixed: true}, late(&fixed))
		_, figures, _ := inShards(t, g, lab.Shards{Count: count}, late(&moving))
		if moving < 0.95*one || fixed > 0.8*one {
			t.Errorf("continuous %v: one brain captured %v, three with fixed parts %v, and with parts that move %v: %+v", continuous, one, fixed, moving, figures)
		}
		if f := figures.Shards; f[0].After >= f[0].Before/2 {
			t.Errorf("continuous %v: the parts of the budget are %+v", continuous, f)
		}
	}
}

// A brain that has more to spend than it can use gives it up, however much its last poll
// was worth: there are no more pages to poll.
func TestIdleShardsGiveUpTheirPart(t *testing.T) {
	g := gridIn(t, 400, 2, 1, region{0, 4, 0.9}, region{1, 4, 0.3}, region{1, 2, 0.02})
	o := lab.Options{Budget: 9}
	_, figures, _ := inShards(t, g, lab.Shards{Count: 2}, o)
	if f := figures.Shards; f[0].Before >= 4 { // 3.6 of 9
		t.Fatalf("the first brain is not short of polls: %+v", f)
	}
	if f := figures.Shards; f[0].After < 3.9 || f[0].After > 6 {
		t.Errorf("four pages that change all the time have a part of %v of 9", f[0].After)
	}
	var made float64
	for _, s := range figures.Shards {
		made += float64(s.Polls)
	}
	if made < 0.9*9*400 {
		t.Errorf("of %d polls %v were made", 9*400, made)
	}
}

// Brains without any pages have no part of the budget, and the one that has them all polls as
// if it were alone.
func TestEmptyShards(t *testing.T) {
	g := gridIn(t, 300, 4, 1, region{2, 12, 0.1})
	for _, e := range []lab.Evidence{{}, {Kind: lab.Dated}, {Kind: lab.Index}} {
		o := lab.Options{Budget: 2, Evidence: e}
		one := alone(t, g, o)
		got, figures, _ := inShards(t, g, lab.Shards{Count: 4}, o)
		if got.Captured != one.Captured || got.Polls != one.Polls || got.IndexPolls != one.IndexPolls || got.Utility != one.Utility {
			t.Errorf("%v: %d captured by %d polls, %d of indexes; one brain captured %d by %d, %d of indexes", e, got.Captured, got.Polls, got.IndexPolls, one.Captured, one.Polls, one.IndexPolls)
		}
		for i, s := range figures.Shards {
			if want := map[bool]float64{true: 2}[i == 2]; s.After != want || s.Polls > 0 != (i == 2) {
				t.Errorf("%v: brain %d has %+v", e, i, s)
			}
		}
	}
}

// Every page is one brain's, that of its host, and so is its index; sources come and go there.
func TestEveryPageHasOneBrain(t *testing.T) {
	const count = 3
	g := gridIn(t, 200, count, 1, region{0, 5, 0.2}, region{1, 5, 0.2}, region{1, 3, 0.1}, region{2, 4, 0.3})
	gone, back := g.Time(60), g.Time(140)
	id := g.Pages()[0]
	o := lab.Options{Budget: 4, Evidence: lab.Evidence{Kind: lab.Index}, Edits: []lab.Edit{
		{At: gone, Event: sched.SourceRemoved{Source: id}},
		{At: back, Event: sched.SourcePut{Source: freshet.Watched{Source: freshet.Source{ID: id, URL: "https://" + string(id)}, Standing: freshet.Standing{Seen: back}}}},
	}}
	score, figures, polls := inShards(t, g, lab.Shards{Count: count}, o)
	hosts, seen, again, indexes := 0, map[freshet.SourceID]bool{}, false, map[freshet.SourceID]bool{}
	for _, s := range figures.Shards {
		hosts += s.Hosts
	}
	for _, p := range polls {
		seen[p.Source] = true
		if _, page := g.Page(p.Source); !page {
			indexes[p.Source] = true
		}
		if p.Source == id && !p.Began.Before(gone) && p.Began.Before(back) {
			t.Errorf("%s was polled at %v, while it was not there", id, p.Began.Sub(g.Start))
		}
		again = again || p.Source == id && !p.Began.Before(back)
	}
	if hosts != 4 || len(indexes) != 4 || !again || score.IndexPolls == 0 || len(seen) != len(g.Pages())+len(indexes) {
		t.Errorf("%d hosts, indexes %v, polled again: %v; of %d pages and their indexes %d were polled", hosts, indexes, again, len(g.Pages()), len(seen))
	}
}

func TestShardsAreRefused(t *testing.T) {
	g := gridIn(t, 10, 2, 1, region{0, 3, 0.2})
	start := autos(g, &lab.Options{})
	for name, tt := range map[string]struct {
		shards lab.Shards
		lab.Options
		field string
	}{
		"none":               {lab.Shards{Start: start}, lab.Options{Budget: 3}, "shards"},
		"too many":           {lab.Shards{Count: 65, Start: start}, lab.Options{Budget: 3}, "shards"},
		"no budget":          {lab.Shards{Count: 2, Start: start}, lab.Options{}, "budget"},
		"less than one each": {lab.Shards{Count: 2, Start: start}, lab.Options{Budget: 1.5, Conditions: lab.InDaemon()}, "shards"},
		"latency on a grid":  {lab.Shards{Count: 2, Start: start}, lab.Options{Budget: 3, Conditions: lab.Conditions{Latency: time.Second}}, "shards"},
		"a learner beside":   {lab.Shards{Count: 2, Start: start}, lab.Options{Budget: 3, Learner: lab.NewCalibration(g, policy.Setting{Instant: g.Instant})}, "shards"},
	} {
		_, _, err := lab.ReplayShards(t.Context(), g, tt.shards, tt.Options)
		if field, _ := freshet.FieldOf(err); field != tt.field {
			t.Errorf("%s: the error is %v, want one of %s", name, err, tt.field)
		}
	}
}
