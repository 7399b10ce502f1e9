package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
)

// labRuns are the runs of the lab: one under way, some that wait for it, and the last that
// are over. They are kept in memory.
type labRuns struct {
	now  func() time.Time
	work func(labTask, *labRun) (*client.LabResult, error) // does one run

	mu   sync.Mutex
	last int
	all  []*labRun // the oldest first
	busy bool      // a goroutine works through those that wait
}

// A labRun is a run of the lab. What it tells is guarded by the runs it is one of.
type labRun struct {
	of     *labRuns
	told   client.LabRun
	task   labTask
	cancel chan struct{} // closed when nobody wants it any more
}

// add queues a run, and starts the goroutine that works through the queue if none runs.
func (l *labRuns) add(asked client.LabRequest, task labTask) (client.LabRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := 0
	for _, r := range l.all {
		if r.told.State == client.LabWaiting {
			waiting++
		}
	}
	if waiting >= labLimits.Waiting {
		p := rest.NewProblem(http.StatusTooManyRequests, fmt.Sprintf("%d runs are waiting already", waiting))
		p.Hint = "wait until one has finished, or cancel one"
		return client.LabRun{}, p
	}
	l.last++
	r := &labRun{of: l, task: task, cancel: make(chan struct{}), told: client.LabRun{
		ID: strconv.Itoa(l.last), State: client.LabWaiting, Request: asked, AskedAt: rest.UTC(l.now()),
	}}
	l.all = append(l.all, r)
	if over := len(l.all) - labLimits.Kept; over > 0 { // those that are not over are the newest
		l.all = slices.Delete(l.all, 0, over)
	}
	if !l.busy {
		l.busy = true
		go l.workOff()
	}
	return l.tell(r), nil
}

// workOff does the runs that wait, one after the other.
func (l *labRuns) workOff() {
	for {
		r := l.next()
		if r == nil {
			return
		}
		result, err := l.attempt(r)
		r.change(func(told *client.LabRun) {
			if told.State.Over() {
				return // it was cancelled
			}
			ended := rest.UTC(l.now())
			told.EndedAt, told.Doing = &ended, ""
			if err != nil {
				told.State, told.Error, told.Hint = client.LabFailed, err.Error(), freshet.HintOf(err)
				return
			}
			told.State, told.Progress, told.Result = client.LabDone, 1, result
		})
	}
}

// attempt does a run. A mistake in the lab must not end a daemon that polls.
func (l *labRuns) attempt(r *labRun) (result *client.LabResult, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the lab failed: %v", broken)
		}
	}()
	return l.work(r.task, r)
}

// next returns the next run that waits, and says that it runs; nil if there is none.
func (l *labRuns) next() *labRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.all {
		if r.told.State == client.LabWaiting {
			began := rest.UTC(l.now())
			r.told.State, r.told.BeganAt = client.LabRunning, &began
			return r
		}
	}
	l.busy = false
	return nil
}

// change changes the reported state of a run.
func (r *labRun) change(f func(*client.LabRun)) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	f(&r.told)
}

// wanted returns a context that ends when nobody wants the run any more.
func (r *labRun) wanted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.cancel:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// list returns all runs, the newest first, without their results.
func (l *labRuns) list() []client.LabRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]client.LabRun, 0, len(l.all))
	for _, r := range slices.Backward(l.all) {
		told := l.tell(r)
		told.Result = nil
		list = append(list, told)
	}
	return list
}

// run returns one run.
func (l *labRuns) run(id string) (client.LabRun, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.all {
		if r.told.ID == id {
			return l.tell(r), true
		}
	}
	return client.LabRun{}, false
}

// tell returns the reported state of a run, with its place in the queue.
func (l *labRuns) tell(r *labRun) client.LabRun {
	told := r.told
	if told.State == client.LabWaiting {
		for _, other := range l.all {
			if other == r {
				break
			}
			if !other.told.State.Over() {
				told.Ahead++
			}
		}
	}
	return told
}

// end cancels a run, or forgets one that is over. It reports whether there is one.
func (l *labRuns) end(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.all, func(r *labRun) bool { return r.told.ID == id })
	if at < 0 {
		return false
	}
	r := l.all[at]
	if r.told.State.Over() {
		l.all = slices.Delete(l.all, at, at+1)
		return true
	}
	ended := rest.UTC(l.now())
	r.told.State, r.told.EndedAt, r.told.Doing = client.LabCancelled, &ended, ""
	close(r.cancel)
	return true
}
