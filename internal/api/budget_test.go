package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// watched adds a source to the store that was added days ago and has changed so
// often since.
func (r *rig) watched(s freshet.Source, days, changes int) {
	r.t.Helper()
	s.URL = r.Origin.URL + "/" + string(s.ID)
	s.Created = time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	if _, err := r.Store.AddSource(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
	for n := range changes {
		r.capture(s.ID, n)
	}
}

func budgetRig(t *testing.T) *rig {
	r := newRig(t)
	r.Daemon.SetLimits(sched.Limits{Budget: sched.Budget{Polls: 20, Per: time.Hour}})
	r.watched(freshet.Source{ID: "busy", Tags: []string{"news"}}, 10, 200)
	r.watched(freshet.Source{ID: "calm"}, 10, 5)
	r.watched(freshet.Source{ID: "new"}, 10, 0)
	r.watched(freshet.Source{ID: "paused", Paused: true}, 10, 50)
	return r
}

func TestBudget(t *testing.T) {
	r := budgetRig(t)
	var b client.Budget
	r.do("GET", "/api/v1/budget?points=11&span=10&eaters=2", nil).is(200).into(&b)
	if b.Budget != "20/h" || b.Sources != 3 || len(b.Curve) != 11 {
		t.Fatalf("the budget is %+v", b)
	}
	if got := b.Now.PollsPerDay; got < 479.9 || got > 480.1 {
		t.Errorf("the budget is %v polls a day, want 480", got)
	}
	if first, last := b.Curve[0].PollsPerDay, b.Curve[10].PollsPerDay; first > 48.1 || last < 4799 {
		t.Errorf("the curve goes from %v to %v", first, last)
	}
	for i := 1; i < len(b.Curve); i++ {
		if b.Curve[i].Share.Mean < b.Curve[i-1].Share.Mean || b.Curve[i].Delay > b.Curve[i-1].Delay {
			t.Errorf("more polls bring less: %+v and then %+v", b.Curve[i-1], b.Curve[i])
		}
	}
	s := b.Now.Share
	if !(0 < s.Low && s.Low < s.Mean && s.Mean < s.High && s.High < 1) || b.OneMore <= 0 || len(b.Now.Within) != 5 {
		t.Errorf("at present the share is %+v, and one more poll a minute brings %v", s, b.OneMore)
	}
	if len(b.Eaters) != 2 || b.Eaters[0].ID != "busy" || b.Goal != nil || b.Drop != nil || b.Levels != nil {
		t.Errorf("beyond the curve there is %+v, %+v, %+v, %+v", b.Eaters, b.Goal, b.Drop, b.Levels)
	}
}

// What became of changes of late is told once something was learnt.
func TestBudgetSoFar(t *testing.T) {
	learner := learn.New(learn.Config{Tick: time.Second})
	r := newRigWith(t, func(c *daemon.Config) { c.Learner = learner })
	r.run()
	r.Origin.Put("/page", "text/plain", "one")
	r.add("page", "/page")
	r.poll("page")
	r.Origin.Put("/page", "text/plain", "two")
	r.poll("page")
	var b client.Budget
	r.do("GET", "/api/v1/budget?points=1", nil).is(200).into(&b)
	if b.SoFar == nil || b.SoFar.Share.Mean <= 0 || b.SoFar.Share.Mean > 1 {
		t.Errorf("after a change was captured, what was captured so far is %+v", b.SoFar)
	}
}

func TestBudgetQuestions(t *testing.T) {
	r := budgetRig(t)
	ask := func(query string) (b client.Budget) {
		t.Helper()
		r.do("GET", "/api/v1/budget?points=1&"+query, nil).is(200).into(&b)
		return b
	}
	g := ask("share=" + url.QueryEscape("95%")).Goal
	if g == nil || !g.Reachable || g.Share != 0.95 || g.At.Share.Mean < 0.95 || g.At.Share.Mean > 0.951 {
		t.Errorf("95%% cost %+v", g)
	}
	if g := ask("delay=10m").Goal; g == nil || !g.Reachable || time.Duration(g.At.Delay) > 10*time.Minute || g.Share != 0 {
		t.Errorf("ten minutes cost %+v", g)
	}
	if g := ask("share=0.9&delay=10m").Goal; g == nil || !g.Reachable || g.At.Within[1].Share < 0.899 {
		t.Errorf("nine in ten within ten minutes cost %+v", g)
	}
	d := ask("drop=tag:news&drop=calm").Drop
	if d == nil || d.Sources != 2 || d.FreedPerDay <= 0 || d.After.Share.Mean <= d.Before.Share.Mean {
		t.Errorf("dropping two sources means %+v", d)
	}
	for _, bad := range []string{"share=100%25", "share=x", "drop=a%20b", "eaters=-1", "span=0", "points=0", "delay=soon"} {
		if a := r.do("GET", "/api/v1/budget?"+bad, nil).is(422); !strings.Contains(string(a.Body), strings.SplitN(bad, "=", 2)[0]) {
			t.Errorf("%s is refused without saying why: %s", bad, a.Body)
		}
	}
}

func TestLevelsOverTheAPI(t *testing.T) {
	r := budgetRig(t)
	var s client.Source
	r.do("PATCH", "/api/v1/sources/calm", `{"level": "90% within 10m"}`).is(200).into(&s)
	if s.Level != "90% within 10m" {
		t.Errorf("the level is %q", s.Level)
	}
	r.Daemon.SetLevels([]freshet.TagLevel{{Tag: "news", Level: objective.ServiceLevel{Share: 0.5, Within: 24 * time.Hour}}})
	var b client.Budget
	r.do("GET", "/api/v1/budget?points=1&levels=true", nil).is(200).into(&b)
	l := b.Levels
	if l == nil || l.Set != 2 || l.Unmet != 1 || len(l.Items) != 2 {
		t.Fatalf("the levels are %+v", l)
	}
	if busy := l.Items[0]; busy.ID != "busy" || !busy.Kept || busy.Level != "50% within 24h" {
		t.Errorf("the level of the tag is %+v", busy)
	}
	if calm := l.Items[1]; calm.Kept || calm.Hold != "worth" || calm.NeedPerDay < 100 || calm.NeedGap == 0 {
		t.Errorf("the level of the source is %+v", calm)
	}
	b = client.Budget{}
	r.do("GET", "/api/v1/budget?points=1", nil).is(200).into(&b)
	if b.Levels == nil || b.Levels.Items != nil {
		t.Errorf("without being asked for, each level is told: %+v", b.Levels)
	}
	s = client.Source{}
	r.do("PATCH", "/api/v1/sources/calm", `{"level": null}`).is(200).into(&s)
	if s.Level != "" {
		t.Errorf("the level is %q after it was taken away", s.Level)
	}
	for _, bad := range []string{"soon", "100% within 1m", "90% within 10"} {
		a := r.do("PATCH", "/api/v1/sources/calm", map[string]any{"level": bad}).is(422)
		if !strings.Contains(string(a.Body), "body.level") {
			t.Errorf("%q is refused with %s", bad, a.Body)
		}
	}
	r.do("POST", "/api/v1/sources", fmt.Sprintf(`{"url": "%s/x", "level": "99%% within 1h"}`, r.Origin.URL)).is(201).into(&s)
	if s.Level != "99% within 1h" {
		t.Errorf("the added source has the level %q", s.Level)
	}
}
