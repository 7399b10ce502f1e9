package simulate

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/sinks"
	"freshet/internal/store/sqlite"
)

// switches are promises that are checked. One is off only while the code that
// keeps it is not there yet.
var switches = struct {
	ids    bool // a number is never given twice, also not after a purge
	hops   bool // redirects keep the budget and the politeness, hop by hop
	clocks bool // budget and politeness hold when the clock jumps
}{
	ids: true, hops: true, clocks: true,
}

// check holds what the world saw, and what is on disk, against the promises.
func (s *simulation) check() {
	if s.hopeless {
		return
	}
	s.checkBudget()
	s.checkManners()
	s.checkLively()
	vfs, err := s.disk.Start()
	if err != nil {
		panic(err)
	}
	store, err := sqlite.Open(context.Background(), sqlite.Config{Features: features.All(), Dir: s.dir, VFS: vfs, Files: s.disk.Dir(s.dir), Epoch: "check"})
	if err != nil {
		s.broken("the store cannot be opened: %v", err)
		return
	}
	s.checkStore(store)
	s.checkLearnt(store)
	if err := store.Close(); err != nil {
		s.broken("the store cannot be closed: %v", err)
	}
}

// jumped reports whether the wall clock was set in the run.
func (s *simulation) jumped() bool { return s.plan.jumps > 0 }

// redirects reports whether there is a redirect in the run.
func (s *simulation) redirects() bool {
	return slices.ContainsFunc(s.plan.pages, func(p pagePlan) bool { return len(p.hops) > 0 })
}

// excused reports whether the manners of this run cannot be checked yet.
func (s *simulation) excused() bool {
	return (s.redirects() || s.plan.reset > 0) && !switches.hops || s.jumped() && !switches.clocks
}

// checkBudget wants no stretch of time to hold more requests than the budget.
func (s *simulation) checkBudget() {
	if s.excused() {
		return
	}
	hits := s.site.hits
	for i := range hits {
		per := s.budgets[0].Per
		n, most := 0, s.most(hits[i].at, hits[i].at.Add(per))
		for j := i; j < len(hits) && hits[j].at.Before(hits[i].at.Add(per)); j++ {
			n++
		}
		if n > most && !s.blurred(hits[i].at.Add(-time.Minute), hits[i].at.Add(per)) {
			s.broken("%d requests from %.3f on in %v, want at most %d", n, hits[i].at.Sub(s.start).Seconds(), per, most)
			return
		}
	}
}

// most returns the largest budget that held in a stretch of time.
func (s *simulation) most(from, to time.Time) (most int) {
	for i, b := range s.budgets {
		until := to.Add(1)
		if i+1 < len(s.budgets) {
			until = s.budgets[i+1].at.Add(time.Minute) // it takes a while, and a life, until it holds
		}
		if b.at.Before(to) && until.After(from) {
			most = max(most, int(math.Ceil(b.Polls)))
		}
	}
	return most
}

// checkManners wants every host to be left alone for as long as it is owed.
func (s *simulation) checkManners() {
	if s.excused() {
		return
	}
	last := map[string]hit{}
	away := map[string]hit{}   // the answer that asked for the longest time
	told := map[string]*life{} // which last read the robots.txt of a host
	for _, h := range s.site.hits {
		delay := s.plan.limits.Hosts.Delay
		if told[h.host] == h.life {
			delay = max(delay, s.plan.crawl)
		}
		if before, ok := last[h.host]; ok && h.at.Sub(before.at) < delay && !s.blurred(before.at.Add(-time.Minute), h.at) {
			s.broken("%s was asked at %.3f and %.3f, want %v between", h.host, before.at.Sub(s.start).Seconds(), h.at.Sub(s.start).Seconds(), delay)
		}
		last[h.host] = h
		if h.robots {
			told[h.host] = h.life
		}
		if a, ok := away[h.host]; ok && h.at.Before(a.until(s)) && !s.troubled(a.at, a.ended.Add(5*time.Second)) && !s.blurred(a.at.Add(-time.Minute), h.at) {
			s.broken("%s was asked at %.3f, although it had asked at %.3f to be left alone for %v",
				h.host, h.at.Sub(s.start).Seconds(), a.ended.Sub(s.start).Seconds(), a.retry)
		}
		if a, ok := away[h.host]; h.retry > 0 && (!ok || h.until(s).After(a.until(s))) {
			away[h.host] = h
		}
	}
}

// until returns when a host that wanted to be left alone may be asked again.
func (h hit) until(s *simulation) time.Time {
	return h.ended.Add(min(h.retry, s.plan.limits.Backoff.RetryAfter))
}

// checkLively wants every source that is watched to be polled in the calm.
func (s *simulation) checkLively() {
	if s.jumped() && !switches.clocks || s.overcommitted() {
		return
	}
	polled := map[string]bool{}
	for _, h := range s.site.hits {
		if h.at.After(s.calm) && h.edition >= 0 {
			if id := pageOf(h.path); id != "" {
				polled[id] = true
			}
		}
	}
	for _, id := range sortedKeys(s.operator.state) {
		st := s.operator.state[id]
		if len(s.site.pages[id].hops) > 0 && !switches.hops {
			continue
		}
		if st.there && !st.paused && !st.unsure && !polled[s.site.pages[id].watched()] {
			s.broken("%s was never polled in the calm", id)
		}
	}
}

// overcommitted reports whether the budget or the time of a host is too little for
// the bounds of all sources, give or take.
func (s *simulation) overcommitted() bool {
	const answer = 500 * time.Millisecond // that a request takes
	needed, busy := 0.0, map[string]float64{}
	for _, p := range s.plan.pages {
		needed += float64(1+len(p.hops)) / p.gap.Seconds()
		for _, host := range append([]string{p.host}, p.hops...) {
			if busy[host] += float64(max(s.plan.limits.Hosts.Delay, s.plan.crawl)+answer) / float64(p.gap); busy[host] > 0.7 {
				return true
			}
		}
	}
	return needed > 0.7*s.learning.PerSecond()
}

// pageOf returns which page a path is of.
func pageOf(path string) (id string) {
	parts := bytes.Split([]byte(path), []byte("/"))
	if len(parts) > 2 {
		id = string(parts[2])
	}
	return id
}

// checkStore holds what is stored against what was served and acknowledged.
func (s *simulation) checkStore(store *sqlite.Store) {
	ctx := context.Background()
	if err := store.Check(ctx); err != nil {
		s.broken("the store is not whole: %v", err)
	}
	changes, err := store.Changes(ctx, freshet.ChangeQuery{})
	if err != nil {
		s.broken("the changes cannot be read: %v", err)
	}
	for _, p := range s.plan.pages {
		s.checkVersions(store, p.id, changes)
	}
	s.checkChanges(changes)
	s.checkDeliveries(store, changes)
	s.checkStream(changes)
}

// checkVersions wants the versions of a page to be numbered without a gap, but for
// walls that were dropped, to be what was served, and all that were acknowledged to be
// there. A wall is never told as a change.
func (s *simulation) checkVersions(store *sqlite.Store, id string, changes []freshet.Change) {
	ctx := context.Background()
	versions, err := store.Versions(ctx, freshet.SourceID(id), freshet.Between{}, 0, 0)
	if err != nil {
		s.broken("the versions of %s cannot be read: %v", id, err)
		return
	}
	slices.Reverse(versions)
	served := map[int]bool{}
	for _, h := range s.site.hits {
		if pageOf(h.path) == s.site.pages[id].watched() {
			served[h.edition] = true
		}
	}
	there, last, walls := map[int]string{}, 0, 0
	for i, v := range versions {
		if v.Number != i+1 && !s.acks.purged[id] && s.plan.wall == 0 {
			s.broken("version %d of %s has the number %d", i+1, id, v.Number)
		}
		raw, err := store.Raw(ctx, v.Source, v.Number)
		if err != nil {
			s.broken("version %d of %s cannot be read: %v", v.Number, id, err)
			continue
		}
		there[v.Number] = v.Hash.String()
		if isWall(raw.Body) {
			if walls++; v.Number > 1 && v.Quiet != freshet.QuietSuspect && !s.acks.purged[id] {
				s.broken("version %d of %s is a wall, and not held", v.Number, id)
			}
			if slices.ContainsFunc(changes, func(c freshet.Change) bool { return string(c.Source) == id && c.Number == v.Number }) {
				s.broken("the wall that is version %d of %s was told as a change", v.Number, id)
			}
			continue
		}
		if v.Quiet != "" {
			s.broken("version %d of %s is held as %s, and is the page", v.Number, id, v.Suspect)
		}
		page, edition := editionIn(raw.Body)
		if page != s.site.pages[id].watched() || !served[edition] || !bytes.Equal(raw.Body, s.site.pages[id].body(edition)) {
			s.broken("version %d of %s is not what was served", v.Number, id)
		}
		if edition <= last {
			s.broken("version %d of %s is edition %d, after %d", v.Number, id, edition, last)
		}
		last = edition
	}
	for number, hash := range s.acks.versions[id] {
		if got, ok := there[number]; !ok || hash != "" && hash != got {
			s.broken("version %d of %s was acknowledged as %.8s, and is %.8s", number, id, hash, got)
		}
	}
	if walls > mostWalls {
		s.broken("%d walls of %s are kept", walls, id)
	}
	s.checkNewest(id, last)
}

// mostWalls is how many walls may be kept of a page: three that were held, and what was
// seen first.
const mostWalls = 4

// checkNewest wants what was served last, in the calm, to have been captured, by every
// source that watches the page.
func (s *simulation) checkNewest(id string, edition int) {
	st, watched := s.operator.state[id], s.site.pages[id].watched()
	if st.unsure || !st.there || st.paused {
		return
	}
	for _, h := range s.site.hits {
		if pageOf(h.path) == watched && h.edition > edition && h.at.After(s.calm) {
			s.broken("%s was served in edition %d and captured up to %d", id, h.edition, edition)
			return
		}
	}
}

// checkChanges wants the changes of each source to be numbered without a gap.
func (s *simulation) checkChanges(changes []freshet.Change) {
	last := map[freshet.SourceID]freshet.Change{}
	cursor := freshet.Cursor(0)
	for _, c := range changes {
		s.say("change %s at %d", c.ID(), c.Cursor)
		if c.Cursor <= cursor {
			s.broken("change %s has the cursor %d after %d", c.ID(), c.Cursor, cursor)
		}
		cursor = c.Cursor
		before, ok := last[c.Source]
		if ok && (c.Seq != before.Seq+1 || c.From != before.To) || !ok && c.Seq != 1 && !s.acks.purged[string(c.Source)] {
			s.broken("change %s follows %s", c.ID(), before.ID())
		}
		last[c.Source] = c
	}
}

// checkDeliveries wants each change to have been delivered to every receiver,
// under one id and with the same bytes, and not again without need.
func (s *simulation) checkDeliveries(store *sqlite.Store, changes []freshet.Change) {
	for _, r := range s.receivers {
		byID := map[string]delivery{}
		done := map[string]bool{}
		got := map[string]bool{}
		slices.SortFunc(r.got, func(a, b delivery) int { return a.at.Compare(b.at) })
		for _, d := range r.got {
			if before, ok := byID[d.id]; ok && switches.ids && (before.event != d.event || before.body != d.body) {
				s.broken("%s got %s for %s and for %s, or with other bytes", r.name, d.id, before.event, d.event)
			}
			if done[d.id] && byID[d.id].body == d.body {
				s.broken("%s got %s again at %.3f, which it had taken", r.name, d.event, d.at.Sub(s.start).Seconds())
			}
			// What was taken just before something went wrong may come again.
			done[d.id] = d.accepted && !s.troubled(d.at.Add(-time.Second), d.ended.Add(20*time.Second))
			byID[d.id] = d
			got[d.event] = true
			s.acks.change(r.name, d.event, d.change)
		}
		for _, c := range changes {
			if !got[c.ID()] {
				s.broken("%s never got %s", r.name, c.ID())
			}
		}
		pending, dead, err := sinks.NewStore(store.DB()).CountDeliveries(context.Background(), r.name)
		if err != nil || pending != 0 || dead != 0 {
			s.broken("%s is still owed %d, and %d are given up: %v", r.name, pending, dead, err)
		}
	}
}

// checkStream wants the stream to have told of all changes, each once and in
// order.
func (s *simulation) checkStream(changes []freshet.Change) {
	told := map[string]int{}
	for _, id := range s.stream.ids {
		if told[id]++; told[id] > 1 && switches.ids {
			s.broken("the stream told of %s twice", id)
		}
	}
	for _, c := range changes {
		if told[c.ID()] == 0 {
			s.broken("the stream did not tell of %s", c.ID())
		}
	}
	listed := map[string]bool{}
	for _, c := range s.list.seen {
		listed[fmt.Sprintf("%s.%d", c.Source, c.Seq)] = true
	}
	for _, c := range changes {
		if id := fmt.Sprintf("%s.%d", c.Source, c.Seq); !listed[id] && c.Before.Before(s.now().Add(-9*time.Hour)) {
			s.broken("the list did not tell of %s", id)
		}
	}
}

// A blankStore has lost all beliefs.
type blankStore struct{ freshet.Store }

// States yields none.
func (blankStore) States(context.Context, string) iter.Seq2[freshet.State, error] {
	return func(func(freshet.State, error) bool) {}
}

// checkLearnt wants what the daemon would take up to be what the log teaches.
// That is so while sources, budget and clock stay as they were: else the log alone
// does not say what was known when.
func (s *simulation) checkLearnt(store *sqlite.Store) {
	if !s.plan.listed() || s.plan.budgets > 0 || s.jumped() {
		return
	}
	for _, p := range s.plan.pages {
		if w, err := store.Source(context.Background(), freshet.SourceID(p.id)); err == nil && w.Status.Polls == 0 {
			return // since when it has been unseen is not in the log
		}
	}
	kept, anew := s.learnt(store), s.learnt(blankStore{store})
	if !bytes.Equal(kept, anew) {
		s.broken("what was learnt and kept (%d bytes) is not what the log teaches (%d bytes)", len(kept), len(anew))
	}
}

// learnt returns what a daemon thinks that starts on a store and stops before
// its first poll.
func (s *simulation) learnt(store freshet.Store) (bits []byte) {
	chosen, learner, err := policy.Wire("auto", policy.InDaemon("auto", s.learning, len(s.plan.pages)))
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	d := daemon.New(daemon.Config{Store: store, Policy: chosen, Learner: learner, Now: s.now, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 24 * time.Hour}}})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-d.Started()
	stop()
	if err := <-ended; err != nil {
		s.broken("a daemon that looks at what was learnt: %v", err)
	}
	err = learner.Save(func(_ freshet.Slot, memory []byte) error {
		bits = append(bits, memory...)
		return nil
	})
	if err != nil {
		s.broken("what was learnt: %v", err)
	}
	return bits
}
