package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

var errDown = errors.New("the endpoint is down")

func TestFollowerDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		before := r.capture(page)
		stop := r.follow(nil)
		c := r.capture(page)
		synctest.Wait()
		if got, want := r.accepted(), []string{c.ID()}; !slices.Equal(got, want) {
			t.Errorf("a new sink was sent %v, want %v and not %s, which is older than the sink", got, want, before.ID())
		}
		for range 3 {
			r.capture(page)
		}
		synctest.Wait()
		if err := stop(); err != nil {
			t.Errorf("the follower ended with %v", err)
		}
		got := r.accepted()
		slices.Sort(got)
		if want := []string{"page.2~rig", "page.3~rig", "page.4~rig", "page.5~rig"}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
		r.owes(0, 0)
	})
}

func TestFollowerSendsHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		for range 520 { // more than are read at once
			r.capture(page)
		}
		stop := r.follow(func(c *delivery.FollowerConfig) { c.History = true })
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := len(r.accepted()); got != 520 {
			t.Errorf("sent %d changes, want all 520", got)
		}
	})
}

// A sink that was made before the first change must be sent it, even if the
// program dies before the sink has read anything.
func TestFollowerBeginsWhereItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		cfg := delivery.FollowerConfig{Name: "sink", Store: r.over(r.store), Render: render, Send: r.Send}
		if _, err := delivery.NewFollower(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		r.capture(page)
		r.close()
		r.open()
		stop := r.follow(nil)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := r.accepted(); len(got) != 1 {
			t.Errorf("sent %v, want the one change since the sink was made", got)
		}
	})
}

func TestFollowerFilters(t *testing.T) {
	tests := []struct {
		name    string
		sources []freshet.SourceID
		tags    []string
		want    []string
	}{
		{"everything", nil, nil, []string{"other.1~rig", "page.1~rig"}},
		{"by source", []freshet.SourceID{"other"}, nil, []string{"other.1~rig"}},
		{"by tag", nil, []string{"news", "sport"}, []string{"page.1~rig"}},
		{"by either", []freshet.SourceID{"other"}, []string{"news"}, []string{"other.1~rig", "page.1~rig"}},
		{"nothing", []freshet.SourceID{"third"}, []string{"sport"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				if _, err := r.store.AddSource(t.Context(), freshet.Source{ID: "other", URL: "http://other.example/"}); err != nil {
					t.Fatal(err)
				}
				r.capture("other")
				stop := r.follow(func(c *delivery.FollowerConfig) { c.Wants = sinks.Sink{Sources: tt.sources, Tags: tt.tags}.Wants })
				r.capture(page)
				r.capture("other")
				synctest.Wait()
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				got := r.accepted()
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("sent %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// The schedule of one delivery that always fails, to its end.
func TestFollowerSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errDown })
		var told []delivery.Delivery
		stop := r.follow(func(c *delivery.FollowerConfig) {
			c.Observe = func(d delivery.Delivery) { told = append(told, d) }
		})
		r.capture(page)
		time.Sleep(7 * 24 * time.Hour)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{
			5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
			10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		}
		sent := r.sendings()
		if len(sent) != len(want)+1 || len(sent) != delivery.Attempts {
			t.Fatalf("%d attempts, want %d", len(sent), len(want)+1)
		}
		for i, d := range want {
			got := sent[i+1].at.Sub(sent[i].at)
			if got < d*8/10 || got > d*12/10 {
				t.Errorf("attempt %d came %v after the one before, want %v give or take a fifth", i+2, got, d)
			}
			if !cmp.Equal(sent[0].event, sent[i+1].event) {
				t.Errorf("attempt %d sent another event: %s", i+2, cmp.Diff(sent[0].event, sent[i+1].event))
			}
		}
		for i, d := range told {
			if last := i == len(told)-1; d.Attempt != i+1 || d.GivenUp != last {
				t.Errorf("attempt %d was told of as attempt %d, given up: %v", i+1, d.Attempt, d.GivenUp)
			}
		}
		r.owes(0, 1)
	})
}

// An endpoint that refuses one change is sent those of other sources at once, and those
// of the same source when the one is given up, which is soon if the endpoint says that
// something is wrong with it.
func TestFollowerRefusalHoldsUpItsSource(t *testing.T) {
	for status, later := range map[int]time.Duration{http.StatusBadRequest: 10 * time.Minute, http.StatusForbidden: 5 * 24 * time.Hour} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.close()
				stop := r.follow(nil)
				poison := r.capture(page)
				r.answers(func(e client.Event) error {
					if e.ID == poison.ID() {
						return &sinks.Refusal{Status: status}
					}
					return nil
				})
				synctest.Wait()
				behind := []freshet.Change{r.capture(page), r.capture(page)}
				for range 5 {
					c := r.captureNew()
					synctest.Wait()
					if !slices.Contains(r.accepted(), c.ID()) {
						t.Errorf("%s was held up by %s", c.ID(), poison.ID())
					}
					time.Sleep(time.Minute)
				}
				if got := r.accepted(); slices.Contains(got, behind[0].ID()) {
					t.Errorf("%v were accepted before the first of the source was given up", got)
				}
				time.Sleep(later)
				synctest.Wait()
				if got := r.accepted(); len(got) < 2 || !slices.Equal(got[len(got)-2:], []string{behind[0].ID(), behind[1].ID()}) {
					t.Errorf("accepted %v, want those behind %s at the end", got, poison.ID())
				}
				r.owes(0, 1)
				if err := stop(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Changes of one source come in order, however attempts end. A recovery is seen when the
// next change comes, although that has to wait for the first, and no attempt besides the
// schedule counts.
func TestFollowerKeepsTheOrderOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errDown })
		stop := r.follow(nil)
		var want []string
		for range 60 { // an hour of outage
			want = append(want, r.capture(page).ID())
			time.Sleep(time.Minute)
		}
		if got := len(r.sendings()); got < 50 {
			t.Errorf("%d attempts in an hour with a change every minute, want about one for each", got)
		}
		r.owes(60, 0)
		r.answers(func(client.Event) error { return nil })
		want = append(want, r.capture(page).ID())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := r.accepted(); !slices.Equal(got, want) {
			t.Errorf("accepted %v, want %v", got, want)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// An endpoint that takes nothing for days is held: it is tried once an hour, nothing more
// is given up, and that is on record until it takes something.
func TestFollowerHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errDown })
		stop := r.follow(nil)
		condition := func() sinks.Condition {
			t.Helper()
			kept, err := r.store.Sinks(t.Context())
			if err != nil || len(kept) != 1 || kept[0].Name != "sink" {
				t.Fatalf("on record is %+v, %v", kept, err)
			}
			return kept[0].Condition
		}
		began := time.Now()
		r.capture(page)
		var want []string
		for range 10 {
			want = append(want, r.capture(page).ID())
		}
		time.Sleep(24 * time.Hour)
		if c := condition(); c.Failing.Sub(began) > time.Hour || !c.Held.IsZero() || c.Err != errDown.Error() {
			t.Errorf("after a day the condition is %+v", c)
		}
		time.Sleep(6 * 24 * time.Hour)
		held := condition()
		if held.Held.IsZero() || held.Held.Sub(began) < 48*time.Hour || held.Held.Sub(began) > 5*24*time.Hour {
			t.Errorf("after a week the condition is %+v", held)
		}
		r.owes(10, 1)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		stop = r.follow(nil)
		before := len(r.sendings())
		time.Sleep(10 * time.Hour)
		if got := len(r.sendings()) - before; got < 9 || got > 11 {
			t.Errorf("%d attempts in 10 hours of being held, want one an hour", got)
		}
		r.answers(func(client.Event) error { return nil })
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := r.accepted(); !slices.Equal(got, want) {
			t.Errorf("accepted %v, want %v", got, want)
		}
		if c := condition(); c != (sinks.Condition{}) {
			t.Errorf("after the recovery the condition is %+v", c)
		}
		r.owes(0, 1)
		if _, err := r.store.Revive(t.Context(), "sink"); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		stop = r.follow(nil)
		synctest.Wait()
		r.owes(0, 0)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A change that cannot be rendered is given up at once and holds up nothing. When it is
// replayed it is rendered anew.
func TestFollowerCannotRender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		var told []delivery.Delivery
		broken := func(c *delivery.FollowerConfig) {
			c.Observe = func(d delivery.Delivery) { told = append(told, d) }
			c.Render = func(ctx context.Context, c freshet.Change) ([]byte, error) {
				if c.Seq == 1 {
					return nil, errors.New("template: line 3")
				}
				return render(ctx, c)
			}
		}
		stop := r.follow(broken)
		bad, good := r.capture(page), r.capture(page)
		synctest.Wait()
		if got := r.accepted(); !slices.Equal(got, []string{good.ID()}) {
			t.Errorf("accepted %v, want %s", got, good.ID())
		}
		if len(told) != 2 || !told[0].GivenUp || told[0].ID != bad.ID() {
			t.Errorf("told %+v", told)
		}
		letters, err := r.store.DeadLetters(t.Context(), "sink", sinks.Position{}, 10)
		if err != nil || len(letters) != 1 || letters[0].Err != "template: line 3" {
			t.Errorf("the letters are %+v, %v", letters, err)
		}
		replay := func(change func(*delivery.FollowerConfig)) {
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if n, err := r.store.Revive(t.Context(), "sink", sinks.PositionOf(bad)); n != 1 || err != nil {
				t.Errorf("revived %d, %v", n, err)
			}
			stop = r.follow(change)
			synctest.Wait()
		}
		replay(broken)
		r.owes(0, 1)
		replay(nil)
		if got := r.accepted(); !slices.Equal(got, []string{good.ID(), bad.ID()}) {
			t.Errorf("accepted %v, want the bad one at last", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// While an endpoint is down it is sent little, however much it is owed; when
// it is back it is sent everything. Every attempt takes a second.
func TestFollowerOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errDown })
		began := time.Now()
		var mu sync.Mutex
		var begun []time.Duration
		stop := r.follow(func(c *delivery.FollowerConfig) {
			c.Send = func(ctx context.Context, m sinks.Message) (string, error) {
				mu.Lock()
				begun = append(begun, time.Since(began))
				mu.Unlock()
				time.Sleep(time.Second)
				return r.Send(ctx, m)
			}
		})
		for range 200 {
			r.captureNew()
		}
		time.Sleep(6 * time.Hour)
		synctest.Wait()

		// Four workers begin, and two of them again before the third failure
		// closes the gate. Then there is one attempt at a time, after a pause
		// that doubles to a minute.
		want := seconds(0, 0, 0, 0, 1, 1, 10, 27, 60)
		for at := 121 * time.Second; at <= 6*time.Hour; at += 61 * time.Second {
			want = append(want, at)
		}
		mu.Lock()
		if diff := cmp.Diff(want, begun); diff != "" {
			t.Errorf("in six hours of outage attempts began otherwise (-want +got):\n%s", diff)
		}
		mu.Unlock()

		// The next attempt is accepted; the other 199 follow it, four at a time.
		r.answers(func(client.Event) error { return nil })
		back := want[len(want)-1] + 62*time.Second
		time.Sleep(back + 50*time.Second - time.Since(began) - time.Nanosecond)
		if got := len(r.accepted()); got != 197 {
			t.Errorf("%d changes accepted a moment before the last are, want 197", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		got := r.accepted()
		slices.Sort(got)
		if n := len(slices.Compact(got)); n != 200 || len(got) != 200 {
			t.Errorf("%d changes accepted in %d deliveries, want 200 in as many", n, len(got))
		}
		r.owes(0, 0)
	})
}

// seconds returns durations of so many seconds.
func seconds(ns ...int) (ds []time.Duration) {
	for _, n := range ns {
		ds = append(ds, time.Duration(n)*time.Second)
	}
	return ds
}

func TestFollowerRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		first := true
		r.answers(func(client.Event) error {
			if first {
				first = false
				return &sinks.Refusal{Status: 429, RetryAfter: 3 * time.Hour}
			}
			return nil
		})
		stop := r.follow(nil)
		r.capture(page)
		synctest.Wait()
		r.capture(page) // must wait too: the endpoint asked for peace
		time.Sleep(3*time.Hour - time.Second)
		if got := len(r.sendings()); got != 1 {
			t.Errorf("%d attempts before the time that the endpoint asked for, want 1", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := len(r.accepted()); got != 2 {
			t.Errorf("%d changes accepted after that time, want 2", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFollowerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return &sinks.Refusal{Status: 410} })
		at := func(endpoint string) func(*delivery.FollowerConfig) {
			return func(c *delivery.FollowerConfig) { c.Endpoint, c.Workers = endpoint, 1 }
		}
		r.follow(at("http://one.example/"))
		for range 3 {
			r.capture(page)
		}
		synctest.Wait()
		n := len(r.sendings())
		if n != 1 {
			t.Errorf("%d attempts, want one: the endpoint is gone", n)
		}
		_, dead, err := r.store.CountDeliveries(t.Context(), "sink")
		if err != nil || dead < 1 {
			t.Errorf("%d deliveries given up (%v), want those that were owed", dead, err)
		}
		r.answers(func(client.Event) error { return nil })
		stop := r.follow(at("http://one.example/"))
		r.capture(page)
		synctest.Wait()
		if got := len(r.sendings()); got != n {
			t.Errorf("%d further attempts after a restart, want none", got-n)
		}
		if err := stop(); err != nil {
			t.Errorf("a sink that is gone ends with %v, want nil", err)
		}
		stop = r.follow(at("http://two.example/"))
		c := r.capture(page)
		synctest.Wait()
		if !slices.Contains(r.accepted(), c.ID()) {
			t.Errorf("another endpoint was not sent %s", c.ID())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A restart in the middle of a retry goes on where it was.
func TestFollowerRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errDown })
		stop := r.follow(nil)
		r.capture(page)
		time.Sleep(time.Minute) // two attempts: at 0 and about 5 s
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.close()
		r.open()
		r.answers(func(client.Event) error { return nil })
		stop = r.follow(nil)
		synctest.Wait()
		if got := len(r.sendings()); got != 2 {
			t.Errorf("%d attempts right after the restart, want the 2 of before", got)
		}
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if got := r.accepted(); len(got) != 1 {
			t.Errorf("accepted %v, want the one change that was owed", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.owes(0, 0)
	})
}

// A full store is a store whose writes fail until there is room.
type fullStore struct {
	store
	mu   sync.Mutex
	full bool
}

func (s *fullStore) setFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

func (s *fullStore) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return fmt.Errorf("write: %w", freshet.ErrStorage)
	}
	return nil
}

func (s *fullStore) Advance(ctx context.Context, reader string, to sinks.Position, more []sinks.NewDelivery) error {
	if err := s.room(); err != nil {
		return err
	}
	return s.store.Advance(ctx, reader, to, more)
}

func (s *fullStore) Settle(ctx context.Context, reader string, at ...sinks.Position) error {
	if err := s.room(); err != nil {
		return err
	}
	return s.store.Settle(ctx, reader, at...)
}

func TestFollowerWaitsForStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		full := &fullStore{store: r.store}
		stop := r.follow(func(c *delivery.FollowerConfig) { c.Store = r.over(full) })
		full.setFull(true)
		r.capture(page)
		time.Sleep(time.Minute)
		if got := len(r.sendings()); got != 0 {
			t.Errorf("%d attempts although what is owed cannot be recorded", got)
		}
		// Full again between the delivery and its settling: the delivery is
		// settled later, and not made again.
		r.answers(func(client.Event) error { full.setFull(true); return nil })
		full.setFull(false)
		time.Sleep(time.Minute)
		full.setFull(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.accepted(); len(got) != 1 {
			t.Errorf("accepted %v, want the one change once", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.owes(0, 0)
	})
}

func TestFollowerPassesPurgedChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		if _, err := r.store.AddSource(t.Context(), freshet.Source{ID: "other", URL: "http://other.example/"}); err != nil {
			t.Fatal(err)
		}
		r.capture("other")
		r.answers(func(client.Event) error { return errDown })
		stop := r.follow(nil)
		r.capture("other")
		synctest.Wait() // one change is owed
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.capture("other") // and one has not been read
		if err := r.store.RemoveSource(t.Context(), "other", true); err != nil {
			t.Fatal(err)
		}
		r.answers(func(client.Event) error { return nil })
		stop = r.follow(nil)
		time.Sleep(time.Hour) // never ends if the follower runs in circles
		c := r.capture(page)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.accepted(), []string{c.ID()}; !slices.Equal(got, want) {
			t.Errorf("accepted %v, want %v", got, want)
		}
		r.owes(0, 0)
	})
}

// A sink whose place lies past the end of the log, however that came to be, goes on
// with the next change. It would wait until the log has grown that far.
func TestFollowerPastTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.capture(page)
		if err := r.store.Advance(t.Context(), "sink", sinks.Position{Cursor: 99}, nil); err != nil {
			t.Fatal(err)
		}
		stop := r.follow(nil)
		c := r.capture(page)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.accepted(), []string{c.ID()}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// What is sent is what the source was called when it changed: the tags by which a
// sink chooses, and the bytes, on every attempt.
func TestFollowerGoesByTheLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errDown })
		tagged := func(c *delivery.FollowerConfig) {
			c.Wants, c.History = sinks.Sink{Tags: []string{"news"}}.Wants, true
		}
		c := r.capture(page)
		edit := func(name string, tags ...string) {
			if err := r.store.UpdateSource(t.Context(), freshet.Source{ID: page, URL: "http://page.example/" + name, Name: name, Tags: tags}); err != nil {
				t.Fatal(err)
			}
		}
		edit("Edited", "other") // before the follower has read the change
		stop := r.follow(tagged)
		r.capture(page) // with another tag
		synctest.Wait()
		edit("Again", "news")
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.close()
		r.open()
		if err := r.store.RemoveSource(t.Context(), page, false); err != nil {
			t.Fatal(err)
		}
		r.answers(func(client.Event) error { return nil })
		stop = r.follow(func(c *delivery.FollowerConfig) {
			tagged(c)
			c.Render = func(_ context.Context, c freshet.Change) ([]byte, error) {
				return json.Marshal(sinks.Envelope(c, "https://elsewhere.example"))
			}
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		sent := r.sendings()
		for _, s := range sent {
			if s.event.ID != c.ID() || s.body != sent[0].body || s.event.Data.Name != "Page" || s.event.Subject != "http://page.example/" {
				t.Errorf("an attempt sent %s, want what the first did: %s", s.body, sent[0].body)
			}
		}
		if len(sent) != 2 || len(r.accepted()) != 1 {
			t.Errorf("%d attempts and %d accepted, want 2 and 1", len(sent), len(r.accepted()))
		}
	})
}

// A run that is stopped before it has begun is no failure.
func TestFollowerStoppedAtOnce(t *testing.T) {
	r := newRig(t)
	defer r.close()
	f, err := delivery.NewFollower(t.Context(), delivery.FollowerConfig{Name: "sink", Store: r.over(r.store), Render: render, Send: r.Send})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Run(ctx); err != nil {
		t.Errorf("stopped at once: %v", err)
	}
}

// What a receiver refused before a restart does not wait for its time when it accepts
// something after it.
func TestFollowerReleasesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.answers(func(client.Event) error { return errors.New("down") })
		stop := r.follow(nil)
		r.captureNew()
		time.Sleep(time.Minute) // the next attempt is in minutes
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		r.owes(1, 0)
		r.answers(func(client.Event) error { return nil })
		defer r.follow(nil)()
		time.Sleep(time.Second)
		r.owes(1, 0) // nothing says that it is up
		r.captureNew()
		time.Sleep(time.Second)
		r.owes(0, 0)
	})
}
