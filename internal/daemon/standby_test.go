package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab/synth"
	"freshet/internal/learn/imported"
	"freshet/internal/queries"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// A journal is a store that says which sources were edited.
type journal struct {
	freshet.Store
	mu     sync.Mutex
	edits  []freshet.SourceID
	begun  bool
	broken bool // the next answer is not whole
	save   func(freshet.State) error
}

func (j *journal) note(ids ...freshet.SourceID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.edits = append(j.edits, ids...)
}

// edited is what a Warm asks.
func (j *journal) edited(context.Context) ([]freshet.SourceID, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ids, whole := j.edits, j.begun && !j.broken
	j.edits, j.begun, j.broken = nil, true, false
	return ids, whole, nil
}

func (j *journal) AddSource(ctx context.Context, s freshet.Source) (freshet.Source, error) {
	s, err := j.Store.AddSource(ctx, s)
	j.note(s.ID)
	return s, err
}

func (j *journal) AddSources(ctx context.Context, list []freshet.Source) ([]freshet.Source, []error, error) {
	added, refused, err := j.Store.AddSources(ctx, list)
	for _, s := range added {
		j.note(s.ID)
	}
	return added, refused, err
}

func (j *journal) UpdateSources(ctx context.Context, list []freshet.Source) ([]error, error) {
	for _, s := range list {
		defer j.note(s.ID)
	}
	return j.Store.UpdateSources(ctx, list)
}

func (j *journal) RemoveSources(ctx context.Context, ids []freshet.SourceID) ([]error, error) {
	defer j.note(ids...)
	return j.Store.RemoveSources(ctx, ids)
}

func (j *journal) UpdateSource(ctx context.Context, s freshet.Source) error {
	defer j.note(s.ID)
	return j.Store.UpdateSource(ctx, s)
}

func (j *journal) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	defer j.note(id)
	return j.Store.RemoveSource(ctx, id, purge)
}

// A pageJournal is the pages of sites, and notes in a journal which of them become sources.
type pageJournal struct {
	*frontier.Store
	journal *journal
}

func (j *pageJournal) PromotePages(ctx context.Context, site freshet.SourceID, n int) ([]freshet.Source, error) {
	promoted, err := j.Store.PromotePages(ctx, site, n)
	for _, s := range promoted {
		j.journal.note(s.ID)
	}
	return promoted, err
}

func (j *journal) SaveState(ctx context.Context, beliefs []freshet.State) error {
	for _, b := range beliefs {
		if b.Key == imported.HistoryState || b.Key == imported.ForecastState {
			j.note("")
		}
		if j.save != nil {
			if err := j.save(b); err != nil {
				return err
			}
		}
	}
	return j.Store.SaveState(ctx, beliefs)
}

// A baton is a daemon, and a Warm that stands by to go on in its place.
type baton struct {
	*testing.T
	web    *synth.Web
	store  freshet.Store
	log    *journal
	daemon *daemon.Daemon
	warm   *daemon.Warm

	endDaemon, endWarm func()
}

// noNotes keeps what is learnt from being saved, so that a start begins where the Warm did.
func noNotes(b freshet.State) error {
	if strings.HasPrefix(b.Key, "learn") {
		return errors.New("the disk is full")
	}
	return nil
}

// beneath returns the store that a view is of.
func beneath(store freshet.Store) freshet.Store {
	if v, ok := store.(*view); ok {
		return v.Store
	}
	return store
}

// queriesOf returns the queries in a store, or in the one that a view is of.
func queriesOf(of freshet.Store) *queries.Store {
	if in, ok := beneath(of).(*sqlite.Store); ok {
		return queries.NewStore(in.DB())
	}
	return nil
}

// newBaton starts both on a store.
func newBaton(t *testing.T, store freshet.Store, w *synth.Web) *baton {
	r := &baton{T: t, web: w, store: store, log: &journal{Store: beneath(store), save: noNotes}}
	auto, learner := newLearning(time.Second)
	var pages daemon.Frontier
	if in, ok := beneath(store).(*sqlite.Store); ok {
		pages = &pageJournal{frontier.NewStore(in.DB()), r.log}
	}
	r.daemon = daemon.New(daemon.Config{Store: r.log, Frontier: pages, Queries: queriesOf(store), Fetcher: w, Policy: auto, Learner: learner, Limits: crowded})
	r.warm = daemon.NewWarm(daemon.WarmConfig{Edited: r.log.edited, Open: func(context.Context) (*daemon.Daemon, error) {
		auto, learner := newLearning(time.Second)
		unwritten := &forgetful{Store: store, save: func(freshet.State) error { return errors.New("whoever stands by writes nothing") }}
		return daemon.New(daemon.Config{Store: unwritten, Queries: queriesOf(store), Fetcher: w, Policy: auto, Learner: learner, Limits: crowded}), nil
	}})
	r.endDaemon = r.run(func(ctx context.Context) {
		if err := r.daemon.Run(ctx); err != nil {
			t.Errorf("the daemon stopped: %v", err)
		}
	})
	r.endWarm = r.run(r.warm.Run)
	return r
}

// run runs something until the function is called, or the test ends.
func (r *baton) run(f func(context.Context)) func() {
	ctx, stop := context.WithCancel(r.Context())
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() { stop(); running.Wait() }
}

func (r *baton) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// takes ends the daemon, and wants the Warm to know what a start would.
func (r *baton) takes() daemon.Config {
	r.Helper()
	r.endDaemon()
	time.Sleep(5 * time.Second) // it hears of the last ones, and begins anew if sources were edited
	r.endWarm()
	synctest.Wait()
	cfg, err := r.warm.Take(r.Context(), r.store)
	r.must(err)
	end, err := r.store.LastOutcome(r.Context())
	r.must(err)
	if at := r.warm.Warmth(); !at.Ready || at.Upto != end {
		r.Errorf("it is at %+v, and the log ends at %d", at, end)
	}
	want, read := startLearning(r.T, r.store, r.web, time.Second, nil)
	if got := bitsOf(r.T, cfg.Learner); !bytes.Equal(got, want) {
		r.Errorf("it knows other things (%d bytes) than a start that reads %d outcomes (%d bytes)", len(got), read, len(want))
	}
	return cfg
}

// What is taken over is what a start would make of the log, to the bit, whatever was edited.
func TestWarmKnowsWhatAStartWould(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates thousands of polls")
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(66)
		store := filled(t, dir, manyPages(54))
		defer store.Close()
		learnFor(t, store, w, 50*time.Second, nil) // leaves notes
		r := newBaton(t, store, w)
		runner := queries.NewRunner(queries.RunnerConfig{Store: store, Queries: queriesOf(store), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		defer r.run(func(ctx context.Context) { _ = runner.Run(ctx) })()
		ctx, pages := t.Context(), w.Sources()
		page := func(i int) freshet.Source { s := pages[i]; s.Revision = 0; return s }
		tagged := page(7)
		tagged.Tags, tagged.Paused = []string{"x"}, true
		other := page(8)
		other.URL = page(63).URL
		site := page(57)
		site.Site = &crawl.Settings{}
		for _, edit := range []func() error{
			func() error { return r.daemon.RemoveSource(ctx, "p003", false) },
			func() error { return r.daemon.RemoveSource(ctx, "p004", true) },
			func() error { _, err := r.daemon.AddSource(ctx, page(3)); return err },
			func() error { _, err := r.daemon.AddSource(ctx, page(4)); return err },
			func() error { _, err := r.daemon.AddSource(ctx, page(60)); return err },
			func() error { _, err := r.daemon.UpdateSource(ctx, tagged); return err },
			func() error { _, err := r.daemon.UpdateSource(ctx, other); return err },
			func() error {
				r.daemon.SetLevels([]freshet.TagLevel{{Tag: "x", Level: objective.ServiceLevel{Within: time.Minute, Share: 0.5}}})
				return nil
			},
			func() error {
				_, err := queriesOf(store).AddQuery(ctx, queries.Query{Name: "all", When: "true", From: -1, Importance: 5, Created: time.Now()})
				r.daemon.QueriesEdited()
				return err
			},
			func() (err error) { site, err = r.daemon.AddSource(ctx, site); return err },
			func() error {
				_, _, err := r.daemon.AddPages(ctx, site, []frontier.Page{{URL: page(58).URL, Found: crawl.ByLink, Depth: 1}, {URL: page(59).URL, Found: crawl.ByLink, Depth: 1}})
				return err
			},
			func() error { _, err := r.daemon.PromotePages(ctx, site.ID, 2); return err },
			func() error {
				_, _, err := r.daemon.Teach(ctx, "p010", []imported.UpdateTime{{After: start, Until: start.Add(time.Second)}})
				return err
			},
		} {
			r.must(edit())
			time.Sleep(3 * time.Second)
		}
		time.Sleep(20 * time.Second) // all are polled
		cfg := r.takes()

		went := len(w.Requests()) // and it goes on
		cfg.Store, cfg.Start.Warm = r.log, r.warm
		watchFor(t, cfg, 10*time.Second)
		polled := map[freshet.SourceID]bool{}
		for _, q := range w.Requests()[went:] {
			polled[q.Page] = true
		}
		for _, id := range []freshet.SourceID{"p003", "p004", "p058", "p059", "p060", "p063"} {
			if !polled[id] {
				t.Errorf("%s is not polled after that", id)
			}
		}
		if polled["p007"] || polled["p008"] {
			t.Error("what was paused, or has another URL, is polled after that")
		}
	})
}

// An edit that came last is taken in without beginning anew.
func TestWarmTakesInTheLastEdit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(12)
		store := filled(t, dir, manyPages(9))
		defer store.Close()
		r := newBaton(t, store, w)
		time.Sleep(10 * time.Second)
		r.endDaemon()
		time.Sleep(2 * time.Second)
		r.endWarm()
		began := r.warm.Warmth().Began
		added := w.Sources()[11]
		_, err := r.log.AddSource(t.Context(), added)
		r.must(err)
		r.must(r.log.RemoveSource(t.Context(), "p000", false))
		cfg, err := r.warm.Take(t.Context(), store)
		r.must(err)
		late := w.Sources()[10] // the file of the daemon that goes on may have more
		_, err = r.log.AddSource(t.Context(), late)
		r.must(err)
		went := len(w.Requests())
		cfg.Store, cfg.Start.Warm = r.log, r.warm
		watchFor(t, cfg, 10*time.Second)
		var polled []freshet.SourceID
		for _, q := range w.Requests()[went:] {
			polled = append(polled, q.Page)
		}
		if !slices.Contains(polled, added.ID) || !slices.Contains(polled, late.ID) || slices.Contains(polled, "p000") {
			t.Errorf("polled are %v", polled)
		}
		if n := r.warm.Warmth().Began; n != began {
			t.Errorf("it began anew %d times", n-began)
		}
	})
}

// A view is how a Warm sees a store.
type view struct {
	freshet.Store
	mu     sync.Mutex
	upto   freshet.Cursor // nothing after this is seen, unless it is zero
	other  bool           // the log is another
	broken error          // nothing can be read
}

func (v *view) set(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

func (v *view) LastOutcome(ctx context.Context) (freshet.Cursor, error) {
	end, err := v.Store.LastOutcome(ctx)
	v.set(func() {
		if v.upto > 0 {
			end = min(end, v.upto)
		}
	})
	return end, err
}

func (v *view) Outcomes(ctx context.Context, q freshet.OutcomeQuery) (found []freshet.Outcome, err error) {
	found, err = v.Store.Outcomes(ctx, q)
	v.set(func() {
		found = slices.DeleteFunc(found, func(o freshet.Outcome) bool { return v.upto > 0 && o.Cursor > v.upto })
		if v.broken != nil {
			found, err = nil, v.broken
		}
	})
	return found, err
}

func (v *view) WaitOutcome(ctx context.Context, after freshet.Cursor) error {
	v.mu.Lock()
	held := v.upto
	v.mu.Unlock()
	if held > 0 && after >= held {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return v.Store.WaitOutcome(ctx, after)
}

func (v *view) OutcomeEpochs(ctx context.Context) (freshet.Epochs, error) {
	epochs, err := v.Store.OutcomeEpochs(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.other && len(epochs) > 0 {
		epochs = slices.Clone(epochs)
		epochs[len(epochs)-1].Epoch = "restored"
	}
	return epochs, err
}

// What cannot be followed any more is begun anew.
func TestWarmBeginsAnew(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts standbys several times")
	for name, happens := range map[string]func(r *baton, v *view){
		"it is not known what was edited": func(r *baton, _ *view) {
			r.log.mu.Lock()
			defer r.log.mu.Unlock()
			r.log.broken = true
		},
		"the log was pruned": func(r *baton, v *view) {
			v.set(func() { v.upto = r.warm.Warmth().Upto })
			time.Sleep(20 * time.Second)
			_, err := r.store.Prune(r.Context(), time.Now(), freshet.Keep{}, 10*time.Second)
			r.must(err)
			v.set(func() { v.upto = 0 })
		},
		"the database was replaced": func(_ *baton, v *view) { v.set(func() { v.other = true }) },
		"the connection is lost for a while": func(_ *baton, v *view) {
			v.set(func() { v.broken = errors.New("no route to host") })
			time.Sleep(time.Minute)
			v.set(func() { v.broken = nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := manyPages(9)
				store := filled(t, dir, w)
				defer store.Close()
				v := &view{Store: store}
				r := newBaton(t, v, w)
				time.Sleep(10 * time.Second)
				before := r.warm.Warmth()
				if !before.Ready || before.Began != 1 {
					t.Errorf("at first it is at %+v", before)
				}
				happens(r, v)
				time.Sleep(20 * time.Second)
				if after := r.warm.Warmth(); !after.Ready || after.Began < 2 || after.Began > 15 {
					t.Errorf("after that it is at %+v", after)
				}
				r.takes()
			})
		})
	}
}
