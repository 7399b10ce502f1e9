package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/sched/cyclic"
)

// Default is the policy that is used where none is named.
const Default = "auto"

// LeastChance is how likely a source has to have changed to be polled by auto, if
// nobody says otherwise.
const LeastChance = 0.1

// Names lists the policies that New knows.
var Names = []string{
	"auto", "uniform", "round-robin", "fixed",
	"wic", "cyclic",
	"frequency", "freshness", "age",
	"sample-greedy", "sample-proportional", "sample-adaptive", "sample-subset",
}

// Experimental lists the baselines that only experiments poll by. Package baselines
// has them; New refuses them with an error that says so.
var Experimental = []string{
	"cam", "yardstick", "miniflux", "nutch", "stormcrawler",
	"azar", "lambdacrawl", "explore-commit", "avrachenkov", "ncis",
}

// Learns reports whether a policy's choices rest on what earlier polls found,
// so that after a restart it has to observe them again.
func Learns(name string) bool {
	base, _, _ := strings.Cut(name, ":")
	return base != "uniform" && base != "round-robin"
}

// A Setting is what a policy may want to know of the place where it works. The
// zero Setting will do for all of them. [InDaemon] returns that of the daemon.
type Setting struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // how long an instant is; zero means each policy's own default
	Polls   float64       // budget an instant; zero means to be found out
	Sources int           // about how many there are; zero means not known

	// Tick is how finely the learner sees time. Zero means what [learn.TickFor]
	// says, and then auto ranks the sources at every instant; otherwise it does
	// so at every tick.
	Tick time.Duration

	// Estimator says how likely sources are to change, to wic, and to price and
	// cam of package rival. Nil means that all are taken for alike. A [learn.Learner]
	// forecasts, and takes imported forecasts.
	Estimator freshet.Estimator

	// Scale fits the intervals of fixed, and those of miniflux, nutch and
	// stormcrawler of package rival, to the instant, as if it were the product's
	// smallest interval.
	Scale bool

	Seed uint64 // of what is drawn by chance
}

// New returns the policy called name. What is particular to a policy follows a
// colon, as in "sample-greedy:samples=10,share=0.3".
func New(name string, at Setting) (freshet.Policy, error) {
	base, args, _ := strings.Cut(name, ":")
	o, err := ReadOptions(args)
	if err != nil {
		return nil, err
	}
	p := build(base, at, o)
	if p == nil {
		why := fmt.Sprintf("unknown policy %q", base)
		if slices.Contains(Experimental, base) {
			why = base + " is a baseline of experiments: freshet-lab results --policies " + base + " compares it with others"
		}
		return nil, &invalid.Error{Field: "policy", Reason: why + "; use one of " + strings.Join(Names, ", ")}
	}
	if err := o.Finish(base); err != nil {
		return nil, err
	}
	return p, nil
}

// build returns the policy called name, or nil if there is none.
func build(name string, at Setting, o *Options) freshet.Policy {
	switch name {
	case "uniform":
		return &Uniform{}
	case "round-robin":
		return &RoundRobin{}
	case "auto":
		return NewAuto(AutoConfig{
			Start: at.Start, Instant: at.Instant, Tick: at.tick(), Rank: cmp.Or(at.Tick, at.Instant), Polls: at.Polls,
			LeastChance: o.Share("least_chance", LeastChance), Jitter: o.Number("jitter", 0), Seed: at.Seed,
			Aim: objective.Objective(o.Choice("aim", objectiveNames()...)), Oldest: o.Number("oldest", Oldest),
		})
	case "wic":
		return NewWIC(WICConfig{Start: at.Start, Instant: at.Instant, Estimator: at.Estimator})
	case "cyclic":
		return NewCyclic(cyclicConfig(at, o))
	case "frequency", "freshness", "age":
		goal := []Objective{Recall, Freshness, Age}[slices.Index([]string{"frequency", "freshness", "age"}, name)]
		return NewFrequency(FrequencyConfig{Objective: goal, Instant: at.Instant, Rate: at.Polls, Floor: o.Number("floor", 0), Memory: o.Number("memory", 0)})
	case "sample-greedy", "sample-proportional", "sample-adaptive", "sample-subset":
		return NewSampling(samplingConfig(name, at, o))
	case "fixed":
		return NewFixed(fixedConfig(at, o))
	}
	return nil
}

// methods lists how cyclic can plan; the first is the default.
func methods() (names []string) {
	for _, m := range cyclic.Methods {
		names = append(names, string(m))
	}
	return names
}

func cyclicConfig(at Setting, o *Options) CyclicConfig {
	c := CyclicConfig{
		Start: at.Start, Instant: at.Instant, Polls: at.Polls,
		Method:  cyclic.Method(o.Choice("method", methods()...)),
		Explore: o.Number("explore", 0), Memory: o.Count("memory", 0),
	}
	if period := o.Length("period"); period > 0 {
		c.Periods = []time.Duration{period}
	}
	return c
}

func samplingConfig(name string, at Setting, o *Options) SamplingConfig {
	downloads, share := o.Portion("downloads")
	c := SamplingConfig{
		Group: o.group(),
		Start: at.Start, Instant: at.Instant, Polls: at.Polls, Seed: at.Seed,
		Downloads: downloads, Share: share, Cycle: o.Length("cycle"),
		Samples: o.Count("samples", 0), Step: o.Count("step", 0), Alpha: o.Number("alpha", 0),
		SampleCost: o.Number("cost", 0), High: o.Number("high", 0), RoundRobin: o.Number("share", 0),
	}
	offset := o.Length("offset")
	if offset > 0 && offset >= c.Cycle {
		o.refuse("offset", "is not shorter than the cycle, which it moves")
	}
	if c.Calendar = o.calendar(c.Cycle, offset); c.Calendar == nil && offset > 0 {
		c = c.withDefaults()
		c.Start = c.Start.Add(offset)
	}
	switch name {
	case "sample-proportional":
		c.Method = SampleProportional
	case "sample-adaptive":
		c.Method = SampleAdaptive
	case "sample-subset":
		if c.High == 0 {
			c.High = 0.18 // the share of pages that change nearly always, as Cho and Ntoulas found it
		}
	}
	return c
}

func fixedConfig(at Setting, o *Options) RevisitConfig {
	c := at.Revisit(o)
	if every := o.Length("every"); every > 0 {
		c.Initial, c.Min, c.Max = every, every, every
	}
	return c
}

// Revisit returns the intervals that the options of a policy set.
func (at Setting) Revisit(o *Options) RevisitConfig {
	c := RevisitConfig{Initial: o.Length("initial"), Min: o.Length("min"), Max: o.Length("max"), Seed: at.Seed}
	if at.Scale {
		c.Instant = at.Instant
	}
	return c
}
