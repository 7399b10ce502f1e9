package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// SinksConfig is what Sinks are made with. Store, Vault and Open are needed.
type SinksConfig struct {
	Store Store
	Vault *secrets.Vault // seals the definitions of sinks that come over the API

	// Open returns the outlet of a sink by the settings in force.
	Open func(sinks.Sink) (*sinks.Outlet, error)

	// Carry has a message sent to a sink by one of several nodes, and returns which it was. Here
	// makes the attempt in this process. Nil means that all are made here.
	Carry func(ctx context.Context, to sinks.Sink, m sinks.Message, here func(context.Context) error) (node string, err error)

	// Sure reports whether no other process can have written since; nil means that none can.
	HoldsLease func() bool

	Now     func() time.Time // the wall clock; nil means time.Now
	Log     *slog.Logger     // nil means silence
	Observe func(Delivery)   // gets every attempt; may be nil
}

// Sinks are all sinks of a program: those of its configuration file, and those that came
// over the API and are kept in the store. Each has a follower of its own; none waits for
// another.
type Sinks struct {
	cfg  SinksConfig
	turn chan struct{} // taken by who changes what follows; a channel, because the store is written meanwhile

	all    map[string]*station
	boards [2]*board // by stream; nil before Run
	stop   func()    // ends them

	spawn func(run func(context.Context)) (stop func()) // nil while nothing is delivered
	fail  func(error)                                   // called when a sink cannot go on

	recent  recent // attempts
	working working
}

// A station is one sink at work.
type station struct {
	sink    sinks.Sink
	outlet  *sinks.Outlet // nil if it cannot be opened
	problem error         // why
	missing error         // the secret that was not there when it was put up; nil if all were
	stop    func()        // nil if it does not run
}

// NewSinks returns the sinks of a configuration file and those of the store. Nothing is
// delivered before Run.
func NewSinks(ctx context.Context, cfg SinksConfig, listed []sinks.Sink) (*Sinks, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Store.Archive = &sharedLog{Archive: cfg.Store.Archive}
	s := &Sinks{cfg: cfg, turn: make(chan struct{}, 1), all: map[string]*station{}}
	kept, err := s.kept(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range append(kept, entries(listed)...) { // the file wins
		if err := s.put(ctx, k); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// entries returns sinks as they are put up.
func entries(sinks []sinks.Sink) (all []station) {
	for _, s := range sinks {
		all = append(all, station{sink: s})
	}
	return all
}

// kept returns the sinks of the store. One that cannot be decrypted is there with why.
func (s *Sinks) kept(ctx context.Context) (all []station, err error) {
	records, err := s.cfg.Store.Sinks(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sinks: %w", err)
	}
	for _, r := range records {
		if r.Definition == nil {
			continue
		}
		k := station{}
		if k.sink, err = Unseal(s.cfg.Vault, r); err != nil {
			k.problem = freshet.WithHint(err, "restore secret.key, or remove the sink and add it again")
		}
		all = append(all, k)
	}
	return all, nil
}

// Unseal returns a sink of the store. One that cannot be decrypted has only its name.
func Unseal(vault *secrets.Vault, r sinks.Record) (s sinks.Sink, err error) {
	text, err := vault.Unseal(sealLabel(r.Name), r.Definition)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		err = fmt.Errorf("its settings cannot be decrypted: %w", err)
	}
	s.Name, s.Origin, s.Revision = r.Name, freshet.FromAPI, r.Revision
	return s, err
}

// sealLabel is what the definition of a sink is sealed with besides the key.
func sealLabel(name string) string { return "sink\n" + name }

// put puts a sink up in place of the one of its name. One that cannot be opened is there with why.
func (s *Sinks) put(ctx context.Context, k station) error {
	if k.problem == nil {
		k.outlet, k.problem = s.cfg.Open(k.sink)
	}
	if k.problem != nil {
		s.cfg.Log.Error("a sink cannot be used; nothing is delivered to it", "sink", k.sink.Name, "err", k.problem, "hint", freshet.HintOf(k.problem))
	} else {
		k.sink = k.outlet.Sink()
		s.lookForSecrets(&k)
	}
	if err := s.end(ctx, k.sink.Name); err != nil {
		return err
	}
	s.all[k.sink.Name] = &k
	return s.start(ctx, &k)
}

// lookForSecrets reports a missing secret. Deliveries to the sink wait for it.
func (s *Sinks) lookForSecrets(k *station) {
	if k.missing = k.outlet.Missing(); k.missing != nil {
		s.cfg.Log.Warn("a sink refers to a secret that cannot be used; its deliveries wait until it can", "sink", k.sink.Name, "err", k.missing, "hint", freshet.HintOf(k.missing))
	}
}

// end ends the deliveries of a sink that is edited or goes from the file. An edit holds for
// what comes after it: a sink at work is owed all that there is by now as it was before.
func (s *Sinks) end(ctx context.Context, name string) error {
	k := s.all[name]
	if k == nil {
		return nil
	}
	running := k.stop != nil
	k.halt()
	var err error
	if running {
		var f *Follower
		if f, err = NewFollower(ctx, s.following(k)); err == nil {
			err = f.Record(ctx)
		}
	}
	k.close()
	delete(s.all, name)
	return err
}

// start runs a sink, if it is to run.
func (s *Sinks) start(ctx context.Context, k *station) error {
	if k.outlet == nil || s.spawn == nil { // a process that only reads starts nothing
		return nil
	}
	f, err := NewFollower(ctx, s.following(k))
	if err != nil || k.sink.Paused {
		return err
	}
	s.working.enter(k.sink)
	halt := s.spawn(func(ctx context.Context) {
		if err := f.Run(ctx); err != nil {
			s.fail(err)
		}
	})
	k.stop = func() { halt(); s.working.leave(k.sink.Name) }
	return nil
}

// following returns how a sink follows its stream.
func (s *Sinks) following(k *station) FollowerConfig {
	outlet := k.outlet
	var join func(freshet.Cursor) *subscription
	if b := s.boards[k.sink.Stream()]; b != nil && !k.sink.WantsAll() {
		join = func(at freshet.Cursor) *subscription { return b.subscribe(k.sink, at) }
	}
	return FollowerConfig{
		Name: k.sink.Name, Store: s.cfg.Store, Endpoint: outlet.Endpoint(),
		Stream: k.sink.Stream(), Wants: k.sink.Wants, WantsBatch: k.sink.WantsBatch,
		Render: func(ctx context.Context, c freshet.Change) ([]byte, error) {
			c, texts, err := Shown(ctx, s.cfg.Store, c)
			if err != nil {
				return nil, err
			}
			return outlet.Render(ctx, c, texts)
		},
		RenderBatch: func(ctx context.Context, p queries.Batch) (freshet.SourceID, []byte, error) {
			whole, err := Unpack(ctx, s.cfg.Store, p)
			if err != nil {
				return "", nil, err
			}
			body, err := outlet.RenderBatch(ctx, whole)
			return whole.Source(), body, err
		},
		Send: func(ctx context.Context, m sinks.Message) (node string, err error) {
			here := func(ctx context.Context) error {
				_, err := outlet.Send(ctx, m)
				return err
			}
			if s.cfg.Carry == nil {
				return "", here(ctx)
			}
			return s.cfg.Carry(ctx, k.sink, m, here)
		},
		Now: s.cfg.Now, Log: s.cfg.Log, Observe: s.observe, join: join, OneByOne: outlet.Asks(),
	}
}

// Shown returns a change as messages show it: with the title of its page if the source has no
// name, and with its texts, as far as they are kept.
func Shown(ctx context.Context, store Archive, c freshet.Change) (freshet.Change, sinks.Texts, error) {
	if c.Label.Name == "" {
		found, err := store.Versions(ctx, c.Source, freshet.Between{}, c.Number+1, 1)
		if err != nil {
			return c, nil, err
		}
		if len(found) > 0 && found[0].Number == c.Number {
			c.Label.Title = found[0].Title
		}
	}
	return c, texts(store, c), nil
}

func texts(store Archive, c freshet.Change) sinks.Texts {
	return func(ctx context.Context) (before, after []byte, err error) {
		if after, err = text(ctx, store, c.Source, c.Number); err != nil {
			return nil, nil, err
		}
		const back = 20 // versions, of which some were never told
		earlier, err := store.Versions(ctx, c.Source, freshet.Between{}, c.Number, back)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(earlier, func(v freshet.Version) bool { return v.Hash == c.From })
		if i < 0 {
			return nil, after, nil
		}
		before, err = text(ctx, store, c.Source, earlier[i].Number)
		return before, after, err
	}
}

// text returns the text of a version, or nothing if it is not kept any more.
func text(ctx context.Context, store Archive, id freshet.SourceID, number int) ([]byte, error) {
	t, err := store.Text(ctx, id, number)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, nil
	}
	return t, err
}

// close ends the deliveries of a sink and waits for those under way.
func (k *station) close() {
	k.halt()
	if k.outlet != nil {
		_ = k.outlet.Close() // what it was sent is settled or owed
	}
}

func (k *station) halt() {
	if k.stop != nil {
		k.stop()
		k.stop = nil
	}
}

// take takes the turn, or returns why it could not.
func (s *Sinks) take(ctx context.Context) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Run delivers until ctx is done and Stop is called. Fail is called when a sink cannot go on.
func (s *Sinks) Run(ctx context.Context, fail func(error)) error {
	release, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.fail = fail
	s.spawn = func(run func(context.Context)) func() {
		ctx, cancel := context.WithCancel(ctx)
		var flying sync.WaitGroup
		flying.Go(func() { run(ctx) })
		return func() {
			cancel()
			flying.Wait()
		}
	}
	if err := s.putUpBoards(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		if err := s.start(ctx, s.all[name]); err != nil {
			return err
		}
	}
	return nil
}

// putUpBoards begins to read the streams for all sinks together.
func (s *Sinks) putUpBoards(ctx context.Context) (err error) {
	var stops []func()
	for stream := range s.boards {
		b, err := newBoard(ctx, s.cfg.Store, sinks.Stream(stream))
		if err != nil {
			return fmt.Errorf("read what sinks wait for: %w", err)
		}
		s.boards[stream] = b
		stops = append(stops, s.spawn(func(ctx context.Context) {
			if err := b.run(ctx); err != nil {
				s.fail(err)
			}
		}))
	}
	s.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	return nil
}

// Stop ends all deliveries and waits for those under way.
func (s *Sinks) Stop() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.spawn = nil
	var flying sync.WaitGroup
	for _, k := range s.all {
		flying.Go(k.close)
	}
	flying.Wait()
	if s.stop != nil {
		s.stop()
	}
}

// Reload adopts the sinks of a configuration file that has been read again; open makes
// their outlets. Sinks that have not changed keep running.
func (s *Sinks) Reload(ctx context.Context, listed []sinks.Sink, open func(sinks.Sink) (*sinks.Outlet, error)) error {
	release, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.cfg.Open = open
	for name, k := range s.all {
		if k.sink.Origin == freshet.FromFile && !slices.ContainsFunc(listed, func(l sinks.Sink) bool { return l.Name == name }) {
			if err := s.end(ctx, name); err != nil {
				return err
			}
		}
	}
	for _, l := range listed {
		if old := s.all[l.Name]; old != nil && old.problem == nil && s.same(old.sink, l) {
			continue
		}
		if err := s.put(ctx, station{sink: l}); err != nil {
			return err
		}
	}
	return s.uncover(ctx)
}

// same reports whether a sink of the file is the one at work.
func (s *Sinks) same(working, listed sinks.Sink) bool {
	o, err := s.cfg.Open(listed)
	if err != nil {
		return false
	}
	defer o.Close()
	return reflect.DeepEqual(working, o.Sink())
}

// uncover puts up the sinks of the store that the file no longer has a sink in place of.
func (s *Sinks) uncover(ctx context.Context) error {
	kept, err := s.kept(ctx)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if s.all[k.sink.Name] == nil {
			if err := s.put(ctx, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// working are the sinks that are delivered to at the moment, for callers that must not wait until
// the set can be changed.
type working struct {
	mu  sync.Mutex
	all map[string]sinks.Sink
}

func (w *working) enter(s sinks.Sink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]sinks.Sink{}
	}
	w.all[s.Name] = s
}

func (w *working) leave(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, name)
}

// Working returns the sinks that are delivered to at the moment, in no order.
func (s *Sinks) Working() []sinks.Sink {
	s.working.mu.Lock()
	defer s.working.mu.Unlock()
	return slices.Collect(maps.Values(s.working.all))
}
