package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/extract"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/timetable"
	"freshet/internal/lab"
	"freshet/internal/lab/synth"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// A look is one poll and what it found, as a line.
type look string

func lookOf(o freshet.Outcome) look {
	line := fmt.Sprintf("%s %s %s by %s since %s: %s %s",
		o.Source, o.Began.Format("15:04:05.000000000"), o.Ended.Format("15:04:05.000000000"),
		o.Cause, o.Since.Format("15:04:05.000000000"), o.Result, o.Failure)
	if len(o.Dates) > 0 {
		line += fmt.Sprintf(" dates %v", o.Dates)
	}
	if o.Word != nil {
		line += fmt.Sprintf(" says %v", *o.Word)
	}
	return look(line)
}

const (
	latency = 37 * time.Millisecond
	period  = 20*time.Minute + 13*time.Millisecond
)

// limits that bind now here, now there: few workers, slow hosts, short
// patience. The times are odd so that no two things happen at one instant.
var limits = sched.Limits{
	Budget:  sched.Budget{Polls: 41, Per: time.Minute},
	Workers: 2,
	Hosts:   sched.Politeness{Delay: 1009 * time.Millisecond},
	Backoff: sched.Backoff{Start: 7001 * time.Millisecond, Most: time.Minute, Host: 5003 * time.Millisecond},
}

// A scene is a web that is watched by the daemon and in the lab.
type scene struct {
	limits  sched.Limits
	period  time.Duration
	expect  int // sources for which the policy is made
	web     func(start time.Time, latency time.Duration, now func() time.Time) *synth.Web
	sources func(w *synth.Web) []freshet.Source
	edits   func(start time.Time, list []freshet.Source) []lab.Edit

	evidence lab.Evidence // in the lab, beside what the web shows
}

// small is a few pages of every character. There are few sources; the policy is made
// for many, so that a tick is longer than an instant.
var small = scene{limits: limits, period: period, expect: 5000, web: web, sources: sources, edits: edits}

// web returns pages of every character: busy, calm, failing, sending away.
func web(start time.Time, latency time.Duration, now func() time.Time) *synth.Web {
	pages := []synth.Page{
		{ID: "busy", Host: "news", Schedule: synth.Regular{Every: 11 * time.Second}},
		{ID: "calm", Host: "news", Schedule: synth.Regular{Every: 5 * time.Minute}},
		{ID: "chance", Host: "feeds", Form: synth.RSS, Schedule: synth.Poisson{Mean: 40 * time.Second}},
		{ID: "dead", Host: "attic"},
		{ID: "lost", Host: "shop", Trouble: synth.Trouble{Status: 404, From: 2 * time.Minute, For: 5 * time.Minute}},
		{ID: "down", Host: "api", Form: synth.API, Schedule: synth.Regular{Every: time.Minute}, Trouble: synth.Trouble{Status: 500, From: time.Minute, For: 3 * time.Minute, Every: 7 * time.Minute}},
		{ID: "away", Host: "shop", Schedule: synth.Regular{Every: 30 * time.Second}, Trouble: synth.Trouble{Status: 429, RetryAfter: 17 * time.Second, From: 3 * time.Minute, For: 30 * time.Second, Every: 4 * time.Minute}},
	}
	return synth.New(synth.Config{Seed: 7, Start: start, Latency: latency, Pages: pages, Now: now})
}

func sources(w *synth.Web) []freshet.Source {
	list := w.Sources()
	for i := range list {
		switch list[i].ID {
		case "calm":
			list[i].MaxGap = 9 * time.Second
		case "busy":
			list[i].MinGap = 4 * time.Second
		case "chance":
			list[i].Level = objective.ServiceLevel{Share: 0.8, Within: 20 * time.Second}
		case "lost":
			list[i].Strategy = timetable.Strategy{Every: timetable.EveryHour, Minutes: []int{1, 3, 8, 9, 16}}
		case "dead":
			list[i].Level = objective.ServiceLevel{Share: 0.9, Within: 3 * time.Minute}
		}
	}
	for i, id := range []freshet.SourceID{"busy", "busy", "down", "away"} { // others read the same documents
		s := list[slices.IndexFunc(list, func(s freshet.Source) bool { return s.ID == id })]
		s.ID, s.Recipe.Kind = id+freshet.SourceID(fmt.Sprint(".again", i)), reading.Text
		if i == 0 {
			s.Recipe.Kind = reading.HTML
		}
		s.MinGap, s.MaxGap, s.Level = 0, 0, objective.ServiceLevel{}
		list = append(list, s)
	}
	return list
}

// pageOf returns the page of the web that a source watches.
func pageOf(id freshet.SourceID) freshet.SourceID {
	page, _, _ := strings.Cut(string(id), ".again")
	return freshet.SourceID(page)
}

// edits are what people do in the meantime.
func edits(start time.Time, list []freshet.Source) []lab.Edit {
	late := list[slices.IndexFunc(list, func(s freshet.Source) bool { return s.ID == "chance" })]
	tight := limits
	tight.Budget = sched.Budget{Polls: 13, Per: time.Minute}
	return []lab.Edit{
		{At: start.Add(61003 * time.Millisecond), Event: sched.PollRequested{Source: "dead"}},
		{At: start.Add(100007 * time.Millisecond), Event: sched.SourceRemoved{Source: late.ID}},
		{At: start.Add(203017 * time.Millisecond), Event: sched.ForecastOverride{Source: "away", Given: sure(start)}},
		{At: start.Add(307009 * time.Millisecond), Event: sched.ForecastOverride{Source: "down", Given: sure(start)}},
		{At: start.Add(400019 * time.Millisecond), Event: sched.SourcePut{Source: freshet.SourceWithStatus{Source: late}}},
		{At: start.Add(503003 * time.Millisecond), Event: sched.ForecastOverride{Source: "down"}},
		{At: start.Add(700021 * time.Millisecond), Event: sched.LimitsSet{Limits: tight}},
	}
}

// sure returns chances that somebody gives.
func sure(start time.Time) *imported.Forecast {
	c := imported.Forecast{From: start.Add(2 * time.Minute), Until: start.Add(12 * time.Minute), Rate: new(40.0)}
	for k := range 8 {
		at := start.Add(time.Duration(3+k) * 67 * time.Second)
		c.Times = append(c.Times, imported.Chance{At: at, Until: at.Add(time.Duration(k%3) * 11 * time.Second), Chance: new(0.3 + 0.1*float64(k%5))})
	}
	return &c
}

// wired returns a policy as the daemon has it, and the learner that follows it.
func (sc scene) wired(t *testing.T, name string) (freshet.Policy, *learn.Learner) {
	at := policy.InDaemon(name, sc.limits.Budget, sc.expect)
	at.Seed = 1
	p, learner, err := policy.Wire(name, at)
	if err != nil {
		t.Fatal(err)
	}
	if learner.Tick() <= time.Second {
		t.Errorf("%s learns by %v, which is no more than an instant", name, learner.Tick())
	}
	return p, learner
}

// taught returns all that a learner has learnt.
func taught(t *testing.T, l *learn.Learner) (memory []byte) {
	err := l.Save(func(slot freshet.Slot, source []byte) error {
		memory = append(fmt.Appendf(memory, "\nslot %d: ", slot), source...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

func (sc scene) pollsInLab(t *testing.T, name string, start time.Time) (polls []freshet.Outcome, memory []byte) {
	p, learner := sc.wired(t, name)
	var at time.Time
	said := map[freshet.SourceID][]synth.Listed{} // by the sitemaps, when they were last seen
	w := sc.web(start, 0, func() time.Time { return at })
	list := sc.sources(w)
	slices.SortFunc(list, func(a, b freshet.Source) int { return strings.Compare(string(a.ID), string(b.ID)) })
	var pages []freshet.SourceID
	for _, s := range list {
		pages = append(pages, s.ID)
	}
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for _, id := range pages {
			for _, at := range w.Changes(pageOf(id), start, start.Add(sc.period)) {
				if !yield(id, at) {
					return
				}
			}
		}
	}, pages...)
	grid, err := history.Quantise(lab.Period{Start: start, End: start.Add(sc.period), Instant: sc.period})
	if err != nil {
		t.Fatal(err)
	}
	o := lab.Options{
		Budget: sc.limits.Budget.Polls, Unseen: true, Evidence: sc.evidence, Edits: sc.edits(start, list),
		Conditions: lab.Conditions{Continuous: true, Limits: &sc.limits, Latency: latency},
		Weights:    lab.Weights{Adjust: func(page int, s *freshet.Source) { *s = list[page] }},
		Observe:    func(o freshet.Outcome) { polls = append(polls, o) },
	}
	if own, ok := p.(interface{ Learner() *learn.Learner }); !ok || own.Learner() != learner {
		o.Learner = learner
	}
	o.Answer = func(p freshet.Poll, o *freshet.Outcome) {
		if p.Source.Index { // which the lab has and the web has not
			return
		}
		at = p.At
		resp, err := w.Fetch(t.Context(), freshet.Request{URL: p.Source.URL})
		if f, ok := errors.AsType[*freshet.FetchError](err); ok {
			o.Result, o.Failure = freshet.Failed, f.Class
			if resp.RetryAfter > 0 {
				o.NotBefore = o.Ended.Add(resp.RetryAfter)
			}
		}
		if o.Result.Captured() { // what the page says of itself is read only then
			reading, err := extract.Extract(p.Source.Recipe, resp)
			if err != nil {
				t.Fatal(err)
			}
			o.Modified = reading.Modified
			o.Dates = reading.Dates[:min(len(reading.Dates), evidence.MaxDates)]
			o.Word = wordOf(w, p.Source.ID, said, at)
		}
	}
	if _, err := lab.Replay(t.Context(), grid, p, o); err != nil {
		t.Fatal(err)
	}
	return polls, taught(t, learner)
}

func (sc scene) pollsInDaemon(t *testing.T, name string) (start time.Time, polls []freshet.Outcome, memory []byte) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p, learner := sc.wired(t, name)
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		start = time.Now()
		w := sc.web(start, latency, time.Now)
		for _, s := range sc.sources(w) {
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		d := daemon.New(daemon.Config{Store: store, Fetcher: w, Policy: p, Learner: learner, Limits: sc.limits, Observe: func(_ freshet.Source, o freshet.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			polls = append(polls, o)
		}})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var running sync.WaitGroup
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("the daemon stopped: %v", err)
			}
		})
		edit(t, d, sc.edits(start, sc.sources(w)))
		time.Sleep(time.Until(start.Add(sc.period)))
		mu.Lock() // what ends after the period is the lab's no more
		ended := slices.Clone(polls)
		mu.Unlock()
		stop()
		running.Wait()
		polls, memory = ended, taught(t, learner)
	})
	return start, polls, memory
}

// edit makes the edits through the daemon's face.
func edit(t *testing.T, d *daemon.Daemon, edits []lab.Edit) {
	for _, e := range edits {
		time.Sleep(time.Until(e.At))
		var err error
		switch ev := e.Event.(type) {
		case sched.PollRequested:
			err = d.Ask(t.Context(), ev.Source)
		case sched.SourceRemoved:
			err = d.RemoveSource(t.Context(), ev.Source, true)
		case sched.SourcePut:
			_, err = d.AddSource(t.Context(), ev.Source.Source)
		case sched.LimitsSet:
			d.SetLimits(ev.Limits)
		case sched.ForecastOverride:
			if ev.Given == nil {
				err = d.ClearChances(t.Context(), ev.Source)
			} else {
				_, err = d.SetChances(t.Context(), ev.Source, *ev.Given)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// agree holds the polls of the daemon against those of the lab, and returns them.
func (sc scene) agree(t *testing.T, name string, least int) []freshet.Outcome {
	start, inDaemon, learntInDaemon := sc.pollsInDaemon(t, name)
	inLab, learntInLab := sc.pollsInLab(t, name, start)
	if len(inLab) < least {
		t.Errorf("only %d polls in %v", len(inLab), sc.period)
	}
	for i := range max(len(inLab), len(inDaemon)) {
		var a, b look
		if i < len(inLab) {
			a = lookOf(inLab[i])
		}
		if i < len(inDaemon) {
			b = lookOf(inDaemon[i])
		}
		if a != b {
			t.Fatalf("poll %d of %d and %d\nlab:    %s\ndaemon: %s", i+1, len(inLab), len(inDaemon), a, b)
		}
	}
	if !bytes.Equal(learntInLab, learntInDaemon) || len(learntInLab) == 0 {
		t.Errorf("what was learnt in the lab (%d bytes) is not what was learnt in the daemon (%d bytes)", len(learntInLab), len(learntInDaemon))
	}
	return inDaemon
}

// The daemon and the lab make the same polls of the same sources at the same
// nanosecond, find the same and learn the same, to the bit: what the lab says of
// a policy is then true of the daemon. The world is the one in which freshet lab
// replays, and policy and learner are wired as freshet serve wires them. The
// store is real; only the network is not.
func TestLabAgreesWithDaemon(t *testing.T) {
	t.Parallel()
	names := policy.Names
	if testing.Short() {
		names = []string{policy.Default, "round-robin"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			planned := 0
			for _, o := range small.agree(t, name, 100) {
				if o.Cause == freshet.ByStrategy {
					planned++
				}
				if (o.Source == "lost") != (o.Cause == freshet.ByStrategy) {
					t.Errorf("%s is polled by %s", o.Source, o.Cause)
				}
			}
			if planned < 6 {
				t.Errorf("only %d polls by a strategy", planned)
			}
		})
	}
}

// The same holds whatever polls are for: for all sources, and for some of them.
func TestLabAgreesWithDaemonForAims(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates polls four times over")
	own := small
	own.sources = func(w *synth.Web) []freshet.Source {
		list := sources(w)
		for i := range list {
			switch list[i].ID {
			case "busy", "dead":
				list[i].Aim = objective.Age
			case "chance":
				list[i].Aim = objective.Freshness
			}
		}
		return list
	}
	captures := small.agree(t, "auto", 100)
	for _, tt := range []struct {
		what, name string
		scene      scene
	}{
		{"freshness", "auto:aim=freshness", small},
		{"age", "auto:aim=age", small},
		{"some of their own", "auto", own},
	} {
		t.Run(tt.what, func(t *testing.T) {
			polls := tt.scene.agree(t, tt.name, 100)
			if slices.EqualFunc(polls, captures, func(a, b freshet.Outcome) bool { return lookOf(a) == lookOf(b) }) {
				t.Error("the polls are those for captures")
			}
		})
	}
}
