package simulate

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/sched"
)

// An operator adds the sources, and then edits them over the API.
type operator struct {
	*simulation
	state map[string]*sourceState
}

// A sourceState is what the operator knows of a source.
type sourceState struct {
	there  bool
	paused bool
	name   string
	unsure bool // an edit was not acknowledged: nobody knows whether it was made
}

func newOperator(s *simulation) *operator {
	o := &operator{simulation: s, state: map[string]*sourceState{}}
	for _, p := range s.plan.pages {
		o.state[p.id] = &sourceState{}
	}
	return o
}

// run adds all sources, then edits some.
func (o *operator) run(ctx context.Context) {
	rng := o.chance("operator")
	for _, p := range o.plan.pages {
		if o.plan.listed() {
			*o.state[p.id] = sourceState{there: true, name: "as added"}
		}
		for !o.state[p.id].there {
			if !sleep(ctx, pause(rng, 100*time.Millisecond, time.Second)) {
				return
			}
			o.add(ctx, p.id)
		}
	}
	for range o.plan.edits {
		if !sleep(ctx, pause(rng, time.Second, o.plan.storm/4)) || o.isCalm() {
			return
		}
		o.edit(ctx, rng)
	}
	for range o.plan.budgets {
		if !sleep(ctx, pause(rng, time.Second, o.plan.storm/2)) || o.isCalm() {
			return
		}
		o.rebudget(ctx, rng)
	}
}

// loaded waits until the daemon has loaded its sources. Edits while it does so wait
// for one another by a mutex, and virtual time stands still where a mutex is
// waited for.
func (o *operator) loaded(ctx context.Context) {
	for {
		status, answer, err := o.request(ctx, http.MethodGet, "/readyz", nil, nil)
		if ctx.Err() != nil || err == nil && (status == http.StatusOK || !notYet(answer)) {
			return
		}
		sleep(ctx, 300*time.Millisecond+11)
	}
}

// notYet reports whether a daemon says that it is not ready because it has only
// begun.
func notYet(answer []byte) bool {
	return bytes.Contains(answer, []byte("loading")) || bytes.Contains(answer, []byte("polling is not running")) || bytes.Contains(answer, []byte("polling stops"))
}

// do sends an edit and notes whether it was acknowledged.
func (o *operator) do(ctx context.Context, id, method, path string, body any) int {
	o.loaded(ctx)
	status, _, err := o.request(ctx, method, path, body, nil)
	if err != nil || status >= 500 {
		o.state[id].unsure = true
	}
	o.say("operator: %s %s: %d", method, path, status)
	return status
}

// add watches a page.
func (o *operator) add(ctx context.Context, id string) {
	p := o.site.pages[id]
	body := map[string]any{"id": id, "url": p.url(), "max_gap": p.gap.String(), "name": "as added"}
	if read := p.read(); read != nil {
		body["read"] = read
	}
	status := o.do(ctx, id, http.MethodPost, "/api/v1/sources", body)
	switch status {
	case http.StatusCreated:
		*o.state[id] = sourceState{there: true, name: "as added"}
	case http.StatusConflict:
		o.state[id].there, o.state[id].unsure = true, true
	}
}

// edit makes one edit of a source.
func (o *operator) edit(ctx context.Context, rng *rand.Rand) {
	id := o.plan.pages[rng.IntN(len(o.plan.pages))].id
	s := o.state[id]
	path := "/api/v1/sources/" + id
	switch what := rng.IntN(6); {
	case !s.there:
		o.add(ctx, id)
	case what == 0:
		name := fmt.Sprintf("name %d", rng.IntN(1000))
		if o.do(ctx, id, http.MethodPatch, path, map[string]any{"name": name}) == http.StatusOK {
			s.name = name
		}
	case what == 1:
		if o.do(ctx, id, http.MethodPatch, path, map[string]any{"paused": !s.paused}) == http.StatusOK {
			s.paused = !s.paused
		}
	case what == 2:
		if o.do(ctx, id, http.MethodDelete, path, nil) == http.StatusNoContent {
			s.there = false
		}
	case what == 3:
		o.acks.forget(id)
		if o.do(ctx, id, http.MethodDelete, path+"?purge=true", nil) == http.StatusNoContent {
			s.there = false
			o.acks.forget(id) // what was captured meanwhile
		}
	default:
		status, _, _ := o.request(ctx, http.MethodPost, path+"/poll?wait=0", nil, nil)
		o.say("operator: poll %s: %d", id, status)
	}
}

// listed returns the sources as a file of settings lists them.
func (o *operator) listed() (all []freshet.Source) {
	for _, p := range o.plan.pages {
		s := freshet.Source{
			ID: freshet.SourceID(p.id), URL: o.site.pages[p.id].url(), Name: "as added", MaxGap: p.gap, Origin: freshet.FromFile,
		}
		for _, step := range p.read() {
			s.Recipe.Read = append(s.Recipe.Read, reading.Step{Name: step})
		}
		all = append(all, s)
	}
	return all
}

// rebudget sets another budget and has it taken on.
func (o *operator) rebudget(ctx context.Context, rng *rand.Rand) {
	b := sched.Budget{Polls: float64(8 + rng.IntN(30)), Per: o.plan.limits.Budget.Per}
	o.mu.Lock()
	o.budgets = append(o.budgets, budgetFrom{b, time.Now()})
	o.mu.Unlock()
	o.loaded(ctx)
	status, _, _ := o.request(ctx, http.MethodPost, "/api/v1/reload", nil, nil)
	o.say("operator: budget %v: %d", b, status)
}

// settle takes the budget away, so that time can pass and nothing is polled.
func (o *operator) settle(ctx context.Context) {
	o.mu.Lock()
	o.budgets = append(o.budgets, budgetFrom{sched.Budget{Polls: 1, Per: 24 * time.Hour}, time.Now()})
	o.mu.Unlock()
	if status, _, err := o.request(ctx, http.MethodPost, "/api/v1/reload", nil, nil); err != nil || status != http.StatusNoContent {
		o.broken("the settings cannot be reloaded in the calm: %d, %v", status, err)
	}
	o.checkState(ctx)
}

// rest is how long deliveries may take that have failed before.
func (o *operator) rest() time.Duration {
	if len(o.receivers) == 0 {
		return time.Second
	}
	return 8 * time.Hour
}

// checkState holds the sources against what was acknowledged.
func (o *operator) checkState(ctx context.Context) {
	for _, id := range sortedKeys(o.state) {
		s := o.state[id]
		if s.unsure {
			continue
		}
		var got struct {
			Name   string `json:"name"`
			Paused bool   `json:"paused"`
		}
		err := o.get(ctx, "/api/v1/sources/"+id, &got)
		switch {
		case (err == nil) != s.there:
			o.broken("%s should be there: %v, and is: %v", id, s.there, err)
		case s.there && (got.Name != s.name || got.Paused != s.paused):
			o.broken("%s was last set to %q, paused %v, and is %q, paused %v", id, s.name, s.paused, got.Name, got.Paused)
		}
	}
}
