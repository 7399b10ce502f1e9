package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// A teller is a rig whose queries tell of changes, and a sink that follows them.
type teller struct {
	*rig
	mu     sync.Mutex
	refuse func(client.MatchEvent) error
	told   []telling
}

// A telling is one attempt, as the sink saw it.
type telling struct {
	event client.MatchEvent
	body  string
	err   error
}

func newTeller(t testing.TB, ids ...queries.ID) *teller {
	r := &teller{rig: newRig(t), refuse: func(client.MatchEvent) error { return nil }}
	for _, id := range ids {
		if _, err := r.queries.AddQuery(t.Context(), queries.Query{ID: id, Name: "Query " + string(id), From: -1}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// match has queries match a change each, and tell it together with what they held back if
// tell is set.
func (r *teller) match(tell bool, ids ...queries.ID) {
	r.t.Helper()
	var step queries.Step
	for _, id := range ids {
		c := r.capture(page)
		q, err := r.queries.Query(r.t.Context(), id)
		if err != nil {
			r.t.Fatal(err)
		}
		batches, err := r.queries.Batches(r.t.Context(), queries.MatchQuery{Query: id, Newest: true, Limit: 1})
		if err != nil {
			r.t.Fatal(err)
		}
		step = queries.Step{Matches: []queries.Match{{Query: id, Number: q.Last + 1, Cause: queries.MatchChange, At: c.Before, Known: c.Before, Source: page, Changes: []freshet.ChangeRef{c.Ref()}, Value: 9.5}}}
		if tell {
			p := queries.Batch{Query: id, Name: q.Name, From: 1, To: q.Last + 1, At: time.Now()}
			if len(batches) > 0 {
				p.From = batches[0].To + 1
			}
			if p.Count() > 1 {
				p.Delay = queries.DelayDigest
			}
			step.Batches = []queries.Batch{p}
		}
		if err := r.queries.CommitStep(r.t.Context(), step); err != nil {
			r.t.Fatal(err)
		}
	}
}

// configure has a follower follow the queries.
func (r *teller) configure(c *delivery.FollowerConfig) {
	c.Stream, c.Workers = sinks.StreamBatches, 4
	c.RenderBatch = func(ctx context.Context, p queries.Batch) (freshet.SourceID, []byte, error) {
		whole, err := delivery.Unpack(ctx, r.over(r.store), p)
		if err != nil {
			return "", nil, err
		}
		body, err := json.Marshal(sinks.BatchEnvelope(whole, ""))
		return whole.Source(), body, err
	}
	c.Send = func(ctx context.Context, m sinks.Message) (string, error) {
		if m.Query == "" {
			return r.Send(ctx, m)
		}
		var e client.MatchEvent
		if err := json.Unmarshal(m.Body, &e); err != nil || e.ID != m.ID || e.Data.Query != string(m.Query) || m.Source != page {
			r.t.Errorf("the message %+v cannot be read: %v", m, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		err := r.refuse(e)
		r.told = append(r.told, telling{e, string(m.Body), err})
		return "", err
	}
}

// taken returns the IDs of what was accepted.
func (r *teller) taken() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.told {
		if one.err == nil {
			ids = append(ids, one.event.ID)
		}
	}
	return ids
}

func (r *teller) refuses(refuse func(client.MatchEvent) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

func TestFollowsQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t, "a", "b", "other")
		defer r.close()
		r.match(true, "a") // before the sink
		wants := func(c *delivery.FollowerConfig) {
			r.configure(c)
			c.WantsBatch = sinks.Sink{Queries: []queries.ID{"a", "b"}}.WantsBatch
		}
		r.refuses(func(e client.MatchEvent) error {
			if e.Data.Query == "a" {
				return errors.New("down")
			}
			return nil
		})
		stop := r.follow(wants)
		r.match(false, "a", "a")
		r.match(true, "a", "other", "b", "a")
		synctest.Wait()
		if got, want := r.taken(), []string{"b.1~rig"}; !slices.Equal(got, want) {
			t.Errorf("while a is refused, %v are accepted, want %v: the order of a query is its own, and changes are none", got, want)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		// An edit, and even a removal, changes nothing of what is owed.
		q, err := r.queries.Query(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		q.Name = "Other name"
		if _, err := r.queries.UpdateQuery(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if err := r.queries.RemoveQuery(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r.rig.close()
		r.open()
		r.refuses(func(client.MatchEvent) error { return nil })
		stop = r.follow(wants)
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.taken(), []string{"b.1~rig", "a.2-4~rig", "a.5~rig"}; !slices.Equal(got, want) {
			t.Errorf("accepted %v, want %v", got, want)
		}
		bodies := map[string]string{}
		for _, one := range r.told {
			if was := bodies[one.event.ID]; was != "" && was != one.body {
				t.Errorf("%s is told once as %s and once as %s", one.event.ID, was, one.body)
			}
			bodies[one.event.ID] = one.body
		}
		digest := r.told[slices.IndexFunc(r.told, func(one telling) bool { return one.event.ID == "a.2-4~rig" })].event.Data
		if digest.Name != "Query a" || digest.Count != 3 || digest.Held != string(queries.DelayDigest) || len(digest.Matches) != 3 || digest.Matches[2].Number != 4 ||
			digest.Matches[0].Change == nil || digest.Matches[0].Change.Summary == "" || digest.Matches[0].Value != 9.5 {
			t.Errorf("a digest is told as %+v", digest)
		}
		r.owes(0, 0)
	})
}

func TestWhatIsOwedStaysOwedOnAnotherStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t, "a")
		defer r.close()
		r.answers(func(client.Event) error { return errors.New("down") })
		stop := r.follow(nil)
		owed := r.capture(page)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.answers(func(client.Event) error { return nil })
		stop = r.follow(r.configure)
		r.match(true, "a") // whose change is not told as a change any more
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.accepted(), []string{owed.ID()}; !slices.Equal(got, want) {
			t.Errorf("of the changes %v are accepted, want %v", got, want)
		}
		if got, want := r.taken(), []string{"a.1~rig"}; !slices.Equal(got, want) {
			t.Errorf("of the matches %v are accepted, want %v", got, want)
		}
		stop = r.follow(nil) // and back: it begins with what comes next
		next := r.capture(page)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.accepted(), []string{owed.ID(), next.ID()}; !slices.Equal(got, want) {
			t.Errorf("of the changes %v are accepted, want %v", got, want)
		}
	})
}

func TestWhatCannotBeRenderedOfAQueryIsALetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t, "a")
		defer r.close()
		broken := func(c *delivery.FollowerConfig) {
			r.configure(c)
			c.RenderBatch = func(context.Context, queries.Batch) (freshet.SourceID, []byte, error) {
				return "", nil, errors.New("template: line 3")
			}
		}
		stop := r.follow(broken)
		r.match(true, "a", "a")
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		letters, err := r.store.DeadLetters(t.Context(), "sink", sinks.Position{}, 10)
		if err != nil || len(letters) != 2 || letters[0].ID() != "a.1~rig" || letters[0].Err != "template: line 3" {
			t.Fatalf("the letters are %+v, %v", letters, err)
		}
		if _, err := r.store.Revive(t.Context(), "sink", letters[0].Position()); err != nil {
			t.Fatal(err)
		}
		stop = r.follow(r.configure)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.taken(), []string{"a.1~rig"}; !slices.Equal(got, want) {
			t.Errorf("accepted %v, want %v", got, want)
		}
		if err := r.queries.RemoveQuery(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Revive(t.Context(), "sink"); err != nil {
			t.Fatal(err)
		}
		stop = r.follow(r.configure)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		letters, err = r.store.DeadLetters(t.Context(), "sink", sinks.Position{}, 10)
		if want := "query a was removed before the message could be made"; err != nil || len(letters) != 1 || letters[0].Err != want {
			t.Errorf("after the query was removed the letters are %+v, %v; want %q", letters, err, want)
		}
	})
}

// Whatever happens before a follower has read what a query told, it is owed.
func TestOwes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t, "a")
		defer r.close()
		cfg := delivery.FollowerConfig{Name: "sink", Store: r.over(r.store), Render: render}
		r.configure(&cfg)
		f, err := delivery.NewFollower(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r.match(true, "a")
			if err := f.Record(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.owes(i+1, 0)
		}
		if err := r.queries.RemoveQuery(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		stop := r.follow(r.configure)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.taken()); got != "[a.1~rig a.2~rig a.3~rig]" {
			t.Errorf("accepted %s", got)
		}
	})
}
