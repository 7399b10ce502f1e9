package api_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/policy"
	"freshet/internal/test/kit"
)

// recorded fills the store of a rig with the hourly polls of four sources, of which two
// have a tag. They change every so many polls.
func (r *rig) recorded(polls int) {
	r.t.Helper()
	ctx := r.t.Context()
	began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	every := map[freshet.SourceID]int{"a": 2, "b": 3, "c": 5, "d": 40}
	ids := []freshet.SourceID{"a", "b", "c", "d"}
	for _, id := range ids {
		s := freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}
		if id < "c" {
			s.Tags = []string{"busy"}
		}
		if _, err := r.Store.AddSource(ctx, s); err != nil {
			r.t.Fatal(err)
		}
	}
	var since time.Time
	for n := range polls {
		at := began.Add(time.Duration(n) * time.Hour)
		for _, id := range ids {
			rec := freshet.Record{Outcome: freshet.Outcome{Source: id, Since: since, Began: at, Ended: at.Add(time.Second), Requests: 1, Status: 200}}
			switch {
			case n == 0:
				rec.Outcome.Result = freshet.First
			case n%every[id] == 0:
				rec.Outcome.Result = freshet.Changed
			}
			if rec.Outcome.Result.Captured() {
				text := fmt.Appendf(nil, "%s %d", id, n)
				rec.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}}
			}
			if _, _, err := r.Store.Commit(ctx, rec); err != nil {
				r.t.Fatal(err)
			}
		}
		since = at
	}
}

// labRun has a run made, and returns it when it is over.
func (r *rig) labRun(asked client.LabRequest) client.LabRun {
	r.t.Helper()
	c := client.New(r.API.URL, http.DefaultClient.Do)
	run, err := c.LabRuns.Add(r.t.Context(), asked)
	if err != nil {
		r.t.Fatal(err)
	}
	kit.Until(r.t, "the run is over", func() bool {
		if run, err = c.LabRuns.Get(r.t.Context(), run.ID); err != nil {
			r.t.Fatal(err)
		}
		return run.State.Over()
	})
	return run
}

// A run of the API is what package lab makes of the same log.
func TestLabRun(t *testing.T) {
	r := newRig(t)
	r.recorded(60)
	asked := client.LabRequest{Policies: []string{"round-robin", "frequency"}, Budgets: []string{"2/h", "1/h"}, Tag: "busy", Seed: 7}
	run := r.labRun(asked)
	if run.State != client.LabDone || run.Result == nil || run.Progress != 1 || run.EndedAt == nil {
		t.Fatalf("the run ended as %+v", run)
	}
	got := run.Result
	if got.Sources != 2 || got.Polls != 120 || got.Changes != 29+19 || got.Cut || got.Weighed || got.Spent != "2/h" {
		t.Errorf("read %d sources, %d polls, %d changes, cut %v, weighed %v, spent %s", got.Sources, got.Polls, got.Changes, got.Cut, got.Weighed, got.Spent)
	}
	if got.Budgets[0].Budget != "1/h" || got.Budgets[1].Budget != "2/h" {
		t.Errorf("budgets are %s and %s, want the smallest first", got.Budgets[0].Budget, got.Budgets[1].Budget)
	}
	want := r.compared(asked, []float64{1, 2})
	for b, row := range want {
		for i, x := range row {
			trial := got.Budgets[b].Trials[i]
			if trial.Policy != x.Policy || trial.Captured != x.Captured || trial.Polls != x.Polls || trial.Recall != x.Recall || trial.Freshness != x.Freshness {
				t.Errorf("budget %d: %+v, want that of %+v", b, trial, x.Score)
			}
			if got.Budgets[b].Limit != x.LimitNormalized || trial.OfLimit != x.OfLimit || trial.Worth > got.Budgets[b].Limit {
				t.Errorf("budget %d: the limit is %v, want %v", b, got.Budgets[b].Limit, x.LimitNormalized)
			}
		}
	}
	if d := r.labRun(client.LabRequest{Policies: []string{"uniform"}, Sources: []freshet.SourceID{"c"}, Since: "2026-03-02", Until: "2026-03-03"}).Result; d == nil || d.Sources != 1 || d.Polls != 24 || len(d.Budgets) != 5 || d.Budgets[2].Budget != d.Spent {
		t.Errorf("one source of one day is %+v", d)
	}
	if none := r.labRun(client.LabRequest{Policies: []string{"uniform"}, Tag: "nobody"}); none.State != client.LabFailed || none.Error == "" || none.Hint == "" {
		t.Errorf("a run of nothing ended as %+v", none)
	}
}

// compared makes the same comparison with package lab alone.
func (r *rig) compared(asked client.LabRequest, perHour []float64) [][]lab.Trial {
	ctx := r.t.Context()
	log, err := lab.OpenLog(ctx, r.Store, lab.LogPart{})
	if err != nil {
		r.t.Fatal(err)
	}
	kept, err := log.Read(ctx, tagged(r.Store.Sources(ctx), asked.Tag), lab.LogOptions{Fill: true, Seed: asked.Seed}, func(int) {})
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := kept.OwnCase("", lab.Spread, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	k := lab.Competition{Policies: asked.Policies, Limit: true, Terms: lab.Terms{
		Estimate: estimate.Spec{Name: estimate.Forecast}, Evidence: lab.Evidence{Kind: lab.Dated}, Seed: asked.Seed,
	}}
	for _, b := range perHour {
		k.Budgets = append(k.Budgets, b*c.Grid.Instant.Hours())
	}
	contests, err := k.Run(ctx, []*lab.Case{c})
	if err != nil {
		r.t.Fatal(err)
	}
	return contests[0].Trials
}

func tagged(all iter.Seq2[freshet.SourceWithStatus, error], tag string) iter.Seq2[lab.StoredSource, error] {
	return func(yield func(lab.StoredSource, error) bool) {
		for w, err := range all {
			if slices.Contains(w.Tags, tag) && !yield(lab.StoredSource{Source: w.Source}, err) {
				return
			}
		}
	}
}

// What is wrong with a request is named, and nothing is begun.
func TestLabRequestIsChecked(t *testing.T) {
	r := newRig(t)
	r.recorded(2)
	good := client.LabRequest{Policies: []string{"auto"}}
	for where, change := range map[string]func(*client.LabRequest){
		"body.policies":    func(q *client.LabRequest) { q.Policies = []string{} },
		"body.policies[0]": func(q *client.LabRequest) { q.Policies = []string{"autos"} },
		"body.policies[1]": func(q *client.LabRequest) { q.Policies = []string{"auto", "auto"} },
		"body.budgets[0]":  func(q *client.LabRequest) { q.Budgets = []string{"much"} },
		"body.since":       func(q *client.LabRequest) { q.Since = "yore" },
		"body.until":       func(q *client.LabRequest) { q.Since, q.Until = "2026-03-02", "2026-03-01" },
		"body.sources[0]":  func(q *client.LabRequest) { q.Sources = []freshet.SourceID{"nobody"} },
	} {
		asked := good
		change(&asked)
		got := r.do("POST", "/api/v1/lab/runs", asked).is(422)
		var p client.Problem
		got.into(&p)
		if len(p.Errors) == 0 || p.Errors[0].Location != where {
			t.Errorf("%s: the answer is %s", where, got.Body)
		}
	}
	var runs client.LabRunList
	r.do("GET", "/api/v1/lab/runs", nil).is(200).into(&runs)
	if len(runs.Items) > 0 {
		t.Errorf("there are runs: %+v", runs.Items)
	}
	r.do("GET", "/api/v1/lab/runs/1", nil).is(404)
	r.do("DELETE", "/api/v1/lab/runs/1", nil).is(404)
}

// Whoever chooses is told of all policies that there are, and can read the reports.
func TestLabKnowsAllPolicies(t *testing.T) {
	r := newRig(t)
	var l client.Lab
	r.do("GET", "/api/v1/lab", nil).is(200).into(&l)
	var names []string
	for _, p := range l.Policies {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	want := policy.Names
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

// One run at a time, a few that wait, the last that are kept; who is cancelled ends.
func TestLabQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := map[string]chan error{}
		for n := range 40 {
			ends[fmt.Sprint(n)] = make(chan error, 1)
		}
		under, most := 0, 0
		runs := api.NewLabRuns(func(id string, cancelled <-chan struct{}) (*client.LabResult, error) {
			under++
			most = max(most, under)
			defer func() { under-- }()
			select {
			case err := <-ends[id]:
				if err == nil && id == "3" {
					panic("a mistake")
				}
				return &client.LabResult{Spent: id}, err
			case <-cancelled:
				return nil, context.Canceled
			}
		})
		state := func(id string) client.LabState {
			synctest.Wait()
			run, _ := runs.Run(id)
			return run.State
		}
		for range 5 {
			if _, err := runs.Add(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if _, err := runs.Add(); err == nil {
			t.Error("a sixth run was taken in")
		}
		if five, _ := runs.Run("5"); five.Ahead != 4 {
			t.Errorf("%d runs are before the fifth, want 4", five.Ahead)
		}
		if !runs.End("2") || state("2") != client.LabCancelled { // while it waits
			t.Errorf("the second run is %s", state("2"))
		}
		ends["1"] <- nil
		if one, _ := runs.Run("1"); state("1") != client.LabDone || one.EndedAt != nil && one.Result == nil {
			t.Errorf("the first run is %s", state("1"))
		}
		ends["3"] <- nil // and panics
		if state("3") != client.LabFailed {
			t.Errorf("the third run is %s", state("3"))
		}
		runs.End("4") // while it runs
		if state("4") != client.LabCancelled || state("5") != client.LabRunning {
			t.Errorf("the fourth run is %s and the fifth %s", state("4"), state("5"))
		}
		ends["5"] <- errors.New("no")
		if five, _ := runs.Run("5"); state("5") != client.LabFailed || five.Error != "" && five.Error != "no" {
			t.Errorf("the fifth run is %+v", five)
		}
		if !runs.End("1") || runs.End("1") {
			t.Error("a run that is over was not forgotten, once")
		}
		for id := 6; id < 36; id++ {
			ends[fmt.Sprint(id)] <- nil
			if _, err := runs.Add(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		all := runs.All()
		if len(all) != 20 || all[0].ID != "35" || all[0].Result != nil {
			t.Errorf("%d runs are kept, the first of which is %+v", len(all), all[0])
		}
		if most != 1 {
			t.Errorf("%d runs were under way at once", most)
		}
	})
}

// The lab rests as long as it works, and not when it is to end.
func TestLabRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rest := api.NewPacer(ctx)
		took := func(work time.Duration) time.Duration {
			time.Sleep(work)
			began := time.Now()
			rest()
			return time.Since(began)
		}
		if d := took(5 * time.Millisecond); d != 0 {
			t.Errorf("it rested %v after little work", d)
		}
		if d := took(25 * time.Millisecond); d != 30*time.Millisecond {
			t.Errorf("it rested %v after 30 ms of work", d)
		}
		cancel()
		if d := took(time.Second); d != 0 {
			t.Errorf("it rested %v though it is to end", d)
		}
	})
}
