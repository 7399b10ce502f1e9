package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"freshet"
	"freshet/sink"
)

// A State is a sink with how it is doing.
type State struct {
	Sink      freshet.Sink // with its secrets: see [sink.Shown]
	Place     freshet.Cursor
	Open      int // deliveries that wait
	Dead      int // deliveries that were given up
	Condition freshet.SinkCondition
	Gone      bool  // its receiver wants no more deliveries
	Problem   error // why it cannot be used
}

// List returns all sinks by name.
func (s *Sinks) List(ctx context.Context) ([]State, error) {
	release, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	records, err := s.cfg.Store.Sinks(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sinks: %w", err)
	}
	var all []State
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		k := s.all[name]
		st := State{Sink: k.sink, Problem: k.problem}
		if i := slices.IndexFunc(records, func(r freshet.SinkRecord) bool { return r.Name == name }); i >= 0 {
			st.Condition = records[i].Condition
		}
		if st.Place, err = s.cfg.Store.Place(ctx, name); err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return nil, fmt.Errorf("place of sink %s: %w", name, err)
		}
		if st.Open, st.Dead, err = s.cfg.Store.Owed(ctx, name); err != nil {
			return nil, fmt.Errorf("debts of sink %s: %w", name, err)
		}
		if k.outlet != nil {
			if st.Gone, err = s.cfg.Store.Retired(ctx, name, freshet.EndpointAt(k.outlet.Endpoint())); err != nil {
				return nil, fmt.Errorf("endpoint of sink %s: %w", name, err)
			}
		}
		all = append(all, st)
	}
	return all, nil
}

// Get returns one sink, or ErrNotFound.
func (s *Sinks) Get(ctx context.Context, name string) (State, error) {
	all, err := s.List(ctx)
	if err != nil {
		return State{}, err
	}
	for _, st := range all {
		if st.Sink.Name == name {
			return st, nil
		}
	}
	return State{}, unknown(name)
}

func unknown(name string) error {
	return freshet.WithHint(fmt.Errorf("sink %s: %w", name, freshet.ErrNotFound), "freshet sink list shows all sinks")
}

// A conflict says what is in the way, and is an ErrConflict.
type conflict string

// Error says it.
func (c conflict) Error() string { return string(c) }

// Is makes it an ErrConflict.
func (conflict) Is(target error) bool { return target == freshet.ErrConflict }

// inFile says that a sink cannot be changed here.
func inFile(name string) error {
	return freshet.WithHint(conflict(fmt.Sprintf("sink %s is in the configuration file", name)), "change it there, then reload the daemon")
}

// Put adds a sink that came over the API, or puts it in place of the one of its name. If
// fresh is set there must be none; if revision is not zero it must be that of the one
// that is there. What is wrong with the sink is an *freshet.InvalidError.
func (s *Sinks) Put(ctx context.Context, to freshet.Sink, revision int64, fresh bool) error {
	release, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	to.Origin = freshet.FromAPI
	switch old := s.all[to.Name]; {
	case old != nil && old.sink.Origin == freshet.FromFile:
		return inFile(to.Name)
	case old != nil && fresh:
		return freshet.WithHint(conflict(fmt.Sprintf("there is a sink %s already", to.Name)), "freshet sink edit "+to.Name+" changes it")
	}
	o, err := s.cfg.Open(to)
	if err != nil {
		return err
	}
	k := station{sink: o.Sink(), outlet: o}
	text, err := json.Marshal(k.sink)
	if err != nil {
		return err
	}
	sealed, err := s.cfg.Vault.Seal(sealLabel(to.Name), text)
	if err != nil {
		return err
	}
	if k.sink.Revision, err = s.cfg.Store.PutSink(ctx, to.Name, sealed, revision); err != nil {
		return errors.Join(err, o.Close())
	}
	if old := s.all[to.Name]; old != nil {
		old.close()
	}
	s.all[to.Name] = &k
	if _, err := NewFollower(ctx, s.following(&k)); err != nil { // from here on it is owed what it wants
		return err
	}
	return s.start(ctx, &k)
}

// Remove forgets a sink that came over the API, with all that it is owed.
func (s *Sinks) Remove(ctx context.Context, name string) error {
	release, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	k := s.all[name]
	switch {
	case k == nil:
		return unknown(name)
	case k.sink.Origin == freshet.FromFile:
		return inFile(name)
	}
	k.close()
	delete(s.all, name)
	return s.cfg.Store.RemoveSink(ctx, name)
}

// A Trial is a message that was made for a look.
type Trial struct {
	ID     string
	Body   []byte
	Answer string // of the receiver, if it was sent
	Err    error  // why it was not accepted
}

// Test renders a change for a sink and sends it if that is asked for. It is a sample, or
// the change at a place in the log. Nothing of it is kept.
func (s *Sinks) Test(ctx context.Context, name string, at freshet.Cursor, send bool) (t Trial, err error) {
	release, err := s.take(ctx)
	if err != nil {
		return t, err
	}
	k := s.all[name]
	release()
	switch {
	case k == nil:
		return t, unknown(name)
	case k.outlet == nil:
		return t, fmt.Errorf("sink %s cannot be used: %w", name, k.problem)
	}
	return s.try(ctx, k.outlet, at, send)
}

// Preview is Test for a sink that has not been added. It sends nothing.
func (s *Sinks) Preview(ctx context.Context, to freshet.Sink, at freshet.Cursor) (t Trial, err error) {
	to.Origin = freshet.FromAPI
	o, err := s.cfg.Open(to)
	if err != nil {
		return t, err
	}
	defer o.Close()
	return s.try(ctx, o, at, false)
}

func (s *Sinks) try(ctx context.Context, o *sink.Outlet, at freshet.Cursor, send bool) (t Trial, err error) {
	now := s.cfg.Now()
	c, texts := sink.Sample(fmt.Sprintf("test%d", now.UnixMilli()), now.UTC()) // another each time, or receivers would drop it
	if at > 0 {
		found, err := s.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: at - 1, Limit: 1})
		if err != nil {
			return t, err
		}
		if len(found) == 0 || found[0].Cursor != at {
			return t, fmt.Errorf("change at %d: %w", at, freshet.ErrNotFound)
		}
		c, texts = found[0], Texts(s.cfg.Store, found[0])
	}
	t.ID = c.ID()
	if t.Body, err = o.Render(ctx, c, texts); err != nil || !send {
		return t, err
	}
	t.Answer, t.Err = o.Send(ctx, sink.Message{ID: t.ID, Source: c.Source, Body: t.Body})
	return t, nil
}

// Letters returns up to limit deliveries of a sink that were given up, of changes after a
// place.
func (s *Sinks) Letters(ctx context.Context, name string, after freshet.Cursor, limit int) ([]freshet.Debt, error) {
	if _, err := s.Get(ctx, name); err != nil {
		return nil, err
	}
	return s.cfg.Store.Letters(ctx, name, after, limit)
}

// A Replay says what is to be delivered again. Without anything set it is all that was
// given up.
type Replay struct {
	Letters []freshet.Cursor // what was given up, of these changes
	After   *freshet.Cursor  // or all that the sink wants after a place in the log
	Since   time.Time        // or since a time
}

// Replay has a sink deliver again, and returns how many deliveries that are at least: all
// of them if it replays letters, and otherwise none, because they are read off the log.
func (s *Sinks) Replay(ctx context.Context, name string, r Replay) (int, error) {
	release, err := s.take(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	k := s.all[name]
	if k == nil {
		return 0, unknown(name)
	}
	running := k.stop != nil
	k.halt()
	n, err := s.replay(ctx, name, r)
	if err != nil || !running {
		return n, errors.Join(err, s.restart(ctx, k, running))
	}
	return n, s.restart(ctx, k, running)
}

// restart runs a sink again that was halted.
func (s *Sinks) restart(ctx context.Context, k *station, running bool) error {
	if !running {
		return nil
	}
	return s.start(context.WithoutCancel(ctx), k)
}

func (s *Sinks) replay(ctx context.Context, name string, r Replay) (int, error) {
	if !r.Since.IsZero() {
		at, err := s.before(ctx, r.Since)
		if err != nil {
			return 0, err
		}
		r.After = &at
	}
	if r.After == nil {
		n, err := s.cfg.Store.Revive(ctx, name, r.Letters...)
		if err == nil && n < len(r.Letters) {
			err = fmt.Errorf("%d of %d changes were not given up by sink %s: %w", len(r.Letters)-n, len(r.Letters), name, freshet.ErrNotFound)
		}
		return n, err
	}
	end, err := s.cfg.Store.LastChange(ctx)
	if err != nil {
		return 0, err
	}
	if *r.After > end {
		return 0, &freshet.InvalidError{Field: "after", Reason: fmt.Sprintf("the change log ends at %d", end)}
	}
	return 0, s.cfg.Store.Advance(ctx, name, *r.After, nil)
}

// before returns the place of the last change before a time. Dates of changes grow with
// their places, but for a clock that was set.
func (s *Sinks) before(ctx context.Context, t time.Time) (freshet.Cursor, error) {
	end, err := s.cfg.Store.LastChange(ctx)
	if err != nil {
		return 0, err
	}
	var failed error
	n := sort.Search(int(end), func(i int) bool { // the first place whose next change is not before t
		next, err := s.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: freshet.Cursor(i), Limit: 1})
		if err != nil {
			failed = err
		}
		return err != nil || len(next) == 0 || !next[0].Before.Before(t)
	})
	return freshet.Cursor(n), failed
}
