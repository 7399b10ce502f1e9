//go:build unix

package torture

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// verdict holds what was seen against what was promised.
func (j *jury) verdict(ctx context.Context) error {
	r := j.report
	r.Changes, r.Heard, r.Epochs = len(j.log), len(j.heard), j.epoch
	j.sinks.mu.Lock()
	r.Delivered, r.Repeated, r.Together = len(j.sinks.got)+j.sinks.again, j.sinks.again, j.sinks.both
	j.sinks.mu.Unlock()
	j.judgeLog()
	j.judgeEdits(ctx)
	j.judgeTraffic()
	return j.judgeStore(ctx)
}

// judgeLog holds that the log has no gap, and that streams told of all of it, in its order.
func (j *jury) judgeLog() {
	seqs := map[freshet.SourceID]int{}
	for i, c := range j.log {
		if want := freshet.Cursor(i + 1); c.Cursor.Cursor != want {
			j.report.violate("cursors: %v is where %d should be", c.Cursor, want)
			break
		}
		if seqs[c.Source]++; c.Seq != seqs[c.Source] {
			j.report.violate("seq: change %d of %s has the number %d", seqs[c.Source], c.Source, c.Seq)
			break
		}
	}
	for i, at := range j.heard {
		if i >= len(j.log) || j.log[i].Cursor.String() != at {
			j.report.violate("streams: change %d was told as %s, and the log has %d", i+1, at, len(j.log))
			break
		}
	}
}

// judgeEdits holds that nothing acknowledged is lost.
func (j *jury) judgeEdits(ctx context.Context) {
	for id, e := range j.edits {
		s, err := j.nodes[0].api().Sources.Get(ctx, id)
		if err != nil {
			j.report.violate("edits: %s cannot be read: %v", id, err)
		} else if s.Name != e.acked && !slices.Contains(e.maybe, s.Name) {
			j.report.violate("edits: %s is called %q, and %q was acknowledged", id, s.Name, e.acked)
		}
	}
}

// judgeTraffic holds the log of the web server against budget and politeness. A process that was
// stopped between the last check and the request sends that one when it wakes: so many are
// excused.
func (j *jury) judgeTraffic() {
	all := j.visits.since(0)
	j.report.Requests = len(all)
	last := map[string]time.Time{}
	for i, from := 0, 0; i < len(all); i++ {
		v := all[i]
		if i > 0 {
			j.judgePause(stretch{all[i-1].at, v.at})
		}
		for v.at.Sub(all[from].at) >= clusterPer {
			from++
		}
		if n := i - from + 1; n > clusterBudget {
			j.accuse(all[from].at, v.at, n-clusterBudget, "budget: %d requests within %s, want at most %d", n, clusterPer, clusterBudget)
		}
		if before, ok := last[v.host]; ok && v.at.Sub(before) < clusterDelay {
			j.accuse(before, v.at, 1, "politeness: %s was asked for %s %s after the request before", v.host, v.path, v.at.Sub(before))
		}
		last[v.host] = v.at
	}
}

// judgePause notes a time without a request. There is no promise of how long it may be.
func (j *jury) judgePause(s stretch) {
	long := s.to.Sub(s.from)
	if j.report.Pause = max(j.report.Pause, long.Seconds()); long > longPause {
		j.report.Pauses = append(j.report.Pauses, Pause{From: s.from, Seconds: long.Seconds(), Broken: j.diary.within(s)})
	}
}

// accuse notes that there were too many requests, unless as many processes woke up at that time.
func (j *jury) accuse(from, to time.Time, many int, format string, args ...any) {
	woke := 0
	for _, p := range append(slices.Clone(j.nodes), j.hands...) {
		for _, s := range p.stopped {
			if s.to.After(from.Add(-time.Second)) && s.from.Before(to) {
				woke++
			}
		}
	}
	if many <= woke {
		j.report.Excused++
		return
	}
	j.report.violate("%s: %s", to.Sub(j.began).Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// judgeStore ends all processes and looks through what they have stored.
func (j *jury) judgeStore(ctx context.Context) error {
	for _, p := range append(slices.Clone(j.hands), j.nodes...) {
		p.signal(syscall.SIGTERM)
		p.wait()
	}
	s, err := postgres.Open(ctx, postgres.Config{URL: j.primary.URL(j.database), Features: features.All(), ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		j.report.violate("store: %v", err)
	}
	return nil
}
