package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// A State is a sink with how it is doing.
type State struct {
	Sink      sinks.Sink    // with its secrets: see [sinks.Shown]
	Place     freshet.Place // in the log of changes or, if it follows queries, of matches
	Behind    bool          // it has not read that log to the end
	Open      int           // deliveries that wait
	Dead      int           // deliveries that were given up
	Condition sinks.Condition
	Gone      bool  // its receiver wants no more deliveries
	Problem   error // why it cannot be used
	Missing   error // the secret that is not there, for which all waits
}

// List returns all sinks by name.
func (s *Sinks) List(ctx context.Context) ([]State, error) {
	release, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ends, err := s.ends(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.cfg.Store.Sinks(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sinks: %w", err)
	}
	accounts, err := s.cfg.Store.ReaderStatuses(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read how the sinks are doing: %w", err)
	}
	conditions, standing := map[string]sinks.Condition{}, map[string]sinks.ReaderStatus{}
	for _, r := range records {
		conditions[r.Name] = r.Condition
	}
	for _, a := range accounts {
		standing[a.Reader] = a
	}
	var all []State
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		all = append(all, s.state(s.all[name], ends, conditions[name], standing[name]))
	}
	return all, nil
}

// ends returns where the streams end.
func (s *Sinks) ends(ctx context.Context) (ends [2]freshet.Cursor, err error) {
	if ends[sinks.StreamChanges], err = s.cfg.Store.LastChange(ctx); err == nil {
		ends[sinks.StreamBatches], err = s.cfg.Store.Queries.LastBatch(ctx)
	}
	if err != nil {
		return ends, fmt.Errorf("end of what sinks follow: %w", err)
	}
	return ends, nil
}

// state returns how a sink is doing, by what is on record of it. The place of one that waits
// goes on without being put on record each time.
func (s *Sinks) state(k *station, ends [2]freshet.Cursor, c sinks.Condition, a sinks.ReaderStatus) State {
	if b := s.boards[k.sink.Stream()]; b != nil {
		if at, place, waits := b.placeOf(k.sink.Name); waits {
			a.At.Cursor = max(a.At.Cursor, at)
			a.Place = cmp.Or(place, a.Place)
		}
	}
	if k.missing != nil { // it may be there by now
		k.missing = k.outlet.Missing()
	}
	return State{
		Sink: k.sink, Place: a.Place, Behind: a.Begun && a.At.Cursor < ends[a.At.Stream], Open: a.Pending, Dead: a.Dead, Condition: c, Problem: k.problem, Missing: k.missing,
		Gone: k.outlet != nil && slices.Contains(a.Retired, sinks.EndpointAt(k.outlet.Endpoint())),
	}
}

// Get returns one sink, or ErrNotFound.
func (s *Sinks) Get(ctx context.Context, name string) (State, error) {
	release, err := s.take(ctx)
	if err != nil {
		return State{}, err
	}
	defer release()
	k := s.all[name]
	if k == nil {
		return State{}, unknown(name)
	}
	ends, err := s.ends(ctx)
	if err != nil {
		return State{}, err
	}
	record, err := s.cfg.Store.Sink(ctx, name)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return State{}, fmt.Errorf("read sink %s: %w", name, err)
	}
	accounts, err := s.cfg.Store.ReaderStatuses(ctx, name)
	if err != nil {
		return State{}, fmt.Errorf("read how sink %s is doing: %w", name, err)
	}
	account := sinks.ReaderStatus{}
	if len(accounts) > 0 {
		account = accounts[0]
	}
	return s.state(k, ends, record.Condition, account), nil
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
// that is there. What is wrong with the sink is an *invalid.Error.
func (s *Sinks) Put(ctx context.Context, to sinks.Sink, revision int64, fresh bool) error {
	if err := s.checkQueries(ctx, to.Queries); err != nil {
		return err
	}
	return s.PutWith(ctx, to, fresh, func(sealed []byte) (int64, error) {
		return s.cfg.Store.PutSink(ctx, to.Name, sealed, revision)
	})
}

// PutWith puts a sink like Put. Write stores its definition by [sinks.PutIn], in a transaction with other
// things, such as a query that it follows, and returns its revision.
func (s *Sinks) PutWith(ctx context.Context, to sinks.Sink, fresh bool, write func(sealed []byte) (int64, error)) error {
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
	s.lookForSecrets(&k)
	text, err := json.Marshal(k.sink)
	if err != nil {
		return err
	}
	sealed, err := s.cfg.Vault.Seal(sealLabel(to.Name), text)
	if err != nil {
		return err
	}
	if k.sink.Revision, err = write(sealed); err != nil {
		return errors.Join(err, o.Close())
	}
	if err := s.end(ctx, to.Name); err != nil {
		return err
	}
	s.all[to.Name] = &k
	if _, err := NewFollower(ctx, s.following(&k)); err != nil { // from here on it is owed what it wants
		return err
	}
	return s.start(ctx, &k)
}

// checkQueries reports a query that a sink is to follow and that is not there.
func (s *Sinks) checkQueries(ctx context.Context, ids []queries.ID) error {
	for i, id := range ids {
		_, err := s.cfg.Store.Queries.Query(ctx, id)
		if errors.Is(err, freshet.ErrNotFound) {
			return freshet.WithHint(&invalid.Error{Field: fmt.Sprintf("queries[%d]", i), Reason: fmt.Sprintf("there is no query %s", id)}, "freshet query list shows all queries; freshet query add adds one")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Mac returns a text for a label that only who has the key of the data directory can make.
func (s *Sinks) Mac(label string) (string, error) { return s.cfg.Vault.Mac(label) }

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
	s.recent.forget(name)
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
func (s *Sinks) Preview(ctx context.Context, to sinks.Sink, at freshet.Cursor) (t Trial, err error) {
	return s.tryNew(ctx, to, at, false)
}

// Sample sends a sample to a sink, which need not have been added.
func (s *Sinks) Sample(ctx context.Context, to sinks.Sink) (t Trial, err error) {
	return s.tryNew(ctx, to, 0, true)
}

func (s *Sinks) tryNew(ctx context.Context, to sinks.Sink, at freshet.Cursor, send bool) (t Trial, err error) {
	to.Origin = freshet.FromAPI
	o, err := s.cfg.Open(to)
	if err != nil {
		return t, err
	}
	defer o.Close()
	return s.try(ctx, o, at, send)
}

func (s *Sinks) try(ctx context.Context, o *sinks.Outlet, at freshet.Cursor, send bool) (t Trial, err error) {
	m := sinks.Message{}
	if at > 0 {
		err = s.renderChange(ctx, o, at, &m)
	} else {
		err = s.renderSample(ctx, o, &m)
	}
	t.ID, t.Body = m.ID, m.Body
	if err != nil || !send {
		return t, err
	}
	t.Answer, t.Err = o.Send(ctx, m)
	return t, nil
}

// renderChange makes the message of the change at a place.
func (s *Sinks) renderChange(ctx context.Context, o *sinks.Outlet, at freshet.Cursor, m *sinks.Message) error {
	found, err := s.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: at - 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Cursor != at {
		return fmt.Errorf("change at %d: %w", at, freshet.ErrNotFound)
	}
	m.ID, m.Source = found[0].ID(), found[0].Source
	c, texts, err := Shown(ctx, s.cfg.Store, found[0])
	if err != nil {
		return err
	}
	m.Body, err = o.Render(ctx, c, texts)
	return err
}

// renderSample makes a message of a change that never was, or of a match if the sink follows
// queries. It is another each time, or receivers would drop it.
func (s *Sinks) renderSample(ctx context.Context, o *sinks.Outlet, m *sinks.Message) (err error) {
	now := s.cfg.Now()
	id := fmt.Sprintf("test%d", now.UnixMilli())
	if queries := o.Sink().Queries; len(queries) > 0 {
		p := sinks.SampleBatch(id, queries[0], 1, now.UTC())
		m.ID, m.Source, m.Query = p.ID(), p.Source(), p.Query
		m.Body, err = o.RenderBatch(ctx, p)
		return err
	}
	c, texts := sinks.Sample(id, now.UTC())
	m.ID, m.Source = c.ID(), c.Source
	m.Body, err = o.Render(ctx, c, texts)
	return err
}

// DeadLetters returns up to limit deliveries of a sink that were given up, of what comes after an
// entry.
func (s *Sinks) DeadLetters(ctx context.Context, name string, after sinks.Position, limit int) ([]sinks.PendingDelivery, error) {
	if _, err := s.Get(ctx, name); err != nil {
		return nil, err
	}
	return s.cfg.Store.DeadLetters(ctx, name, after, limit)
}

// A Replay says what is to be delivered again. Without anything set it is all that was
// given up.
type Replay struct {
	Letters []string       // ids or places of events that were given up
	After   *freshet.Place // or all that the sink wants after a place in the log of changes or, if it follows queries, of matches
	Since   time.Time      // or since a time
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
	n, err := s.replay(ctx, k.sink, r)
	return n, errors.Join(err, s.restart(ctx, k, running))
}

// restart runs a sink again that was halted.
func (s *Sinks) restart(ctx context.Context, k *station, running bool) error {
	if !running {
		return nil
	}
	return s.start(context.WithoutCancel(ctx), k)
}
