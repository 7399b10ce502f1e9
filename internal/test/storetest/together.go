package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"freshet/internal/freshet"
)

var togetherTests = []test{
	{"many polls at once are all recorded", func(b *bench) {
		const sources, polls = 16, 25
		var wg sync.WaitGroup
		for i := range sources {
			id := freshet.SourceID(fmt.Sprintf("s%02d", i))
			s := b.add(id)
			wg.Go(func() {
				for n := range polls {
					if err := b.begin(freshet.Poll{Source: s, At: minute(n)}); err != nil {
						b.Errorf("begin: %v", err)
						return
					}
					_, _, err := b.Commit(b.Context(), saw(id, minute(n), freshet.Changed, fmt.Sprintf("state %d of %s", n+1, id)))
					if err != nil {
						b.Errorf("commit: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		b.inOrder(sources * (polls - 1))
		b.reopen()
		b.inOrder(sources * (polls - 1))
		for i := range sources {
			id := freshet.SourceID(fmt.Sprintf("s%02d", i))
			b.readable(id)
			if st := b.watched(id).Status; st.Polls != polls || st.Head.Number != polls || st.Changes != polls-1 {
				b.Errorf("the standing of %s is %+v", id, st)
			}
		}
	}},
	{"many changes of one source at once are one after the other", func(b *bench) {
		b.add("a")
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				if _, _, err := b.Commit(b.Context(), saw("a", minute(i), freshet.Changed, fmt.Sprintf("text %d", i))); err != nil {
					b.Errorf("commit: %v", err)
				}
			})
		}
		wg.Wait()
		b.inOrder(39)
		for n := 1; n <= 40; n++ {
			b.text("a", n)
		}
	}},
	{"one bad poll among many fails alone", func(b *bench) {
		b.add("a")
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if i%3 == 0 {
					_, _, err := b.Commit(b.Context(), saw("none", minute(i), freshet.Unchanged, ""))
					if !errors.Is(err, freshet.ErrNotFound) {
						b.Errorf("a poll of nothing gives %v", err)
					}
					return
				}
				if _, _, err := b.Commit(b.Context(), saw("a", minute(i), freshet.Unchanged, "")); err != nil {
					b.Errorf("commit: %v", err)
				}
			})
		}
		wg.Wait()
		if polls := b.watched("a").Status.Polls; polls != 20 {
			b.Errorf("%d polls are recorded, want 20", polls)
		}
	}},
	{"a poll that is given up is recorded whole or not at all", func(b *bench) {
		b.add("a")
		var wg sync.WaitGroup
		var mu sync.Mutex
		acked := 0
		for i := range 50 {
			ctx, cancel := context.WithCancel(b.Context())
			wg.Go(cancel)
			wg.Go(func() {
				_, _, err := b.Commit(ctx, saw("a", minute(i), freshet.Unchanged, ""))
				if err == nil {
					mu.Lock()
					acked++
					mu.Unlock()
				} else if !errors.Is(err, context.Canceled) {
					b.Errorf("a poll that was given up gives %v", err)
				}
			})
		}
		wg.Wait()
		if polls := b.watched("a").Status.Polls; polls != int64(acked) {
			b.Errorf("%d polls are recorded and %d acknowledged", polls, acked)
		}
	}},
	{"readers, pruning and polls do not disturb each other", func(b *bench) {
		b.keeping("a", freshet.Keep{Versions: 3}, 1)
		b.add("b")
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(done)
			for i := 1; i < 60; i++ {
				b.commit(saw("a", minute(i), freshet.Changed, fmt.Sprintf("state %d of a", i+1)))
			}
		})
		until := func(work func() error) {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if err := work(); err != nil {
						b.Errorf("beside polls: %v", err)
						return
					}
				}
			})
		}
		until(func() error {
			_, err := b.Prune(b.Context(), minute(100), freshet.Keep{}, time.Hour*1000)
			return err
		})
		until(func() error {
			versions, err := b.Versions(b.Context(), "a", freshet.Between{}, 0, 2)
			if err != nil {
				return err
			}
			for _, v := range versions {
				text, err := b.Text(b.Context(), "a", v.Number)
				if errors.Is(err, freshet.ErrNotFound) {
					continue // pruned meanwhile
				}
				if want := fmt.Sprintf("state %d of a", v.Number); err != nil || string(text) != want {
					return fmt.Errorf("version %d is %q, %w", v.Number, text, err)
				}
			}
			return nil
		})
		wg.Wait()
		b.prune(minute(100), freshet.Keep{}, 0)
		same(b, "the versions", b.numbers("a"), []int{60, 59, 58})
		b.readable("a")
		for range 2 {
			if polls := b.watched("a").Status.Polls; polls != 60 {
				b.Errorf("%d polls are recorded, want 60", polls)
			}
			b.reopen()
		}
	}},
}

// inOrder fails the test if the log of changes is not n long, in one order and
// without gaps in any source.
func (b *bench) inOrder(n int) {
	b.Helper()
	changes, err := b.Changes(b.Context(), freshet.ChangeQuery{})
	b.ok("changes", err)
	if len(changes) != n {
		b.Errorf("there are %d changes, want %d", len(changes), n)
	}
	last := map[freshet.SourceID]freshet.Change{}
	cursor := freshet.Cursor(0)
	for _, c := range changes {
		before := last[c.Source]
		if c.Cursor <= cursor || c.Seq != before.Seq+1 {
			b.Errorf("after change %d of %s at %d comes change %d at %d", before.Seq, c.Source, cursor, c.Seq, c.Cursor)
		}
		if before.Seq > 0 && c.From != before.To {
			b.Errorf("change %d of %s does not begin where the one before it ended", c.Seq, c.Source)
		}
		last[c.Source], cursor = c, c.Cursor
	}
}
