package auth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"freshet/internal/auth"
)

// However many strangers guess passwords, a user from a familiar network waits for one hash at
// most, and strangers beyond a few are refused at once.
func TestStrangersDoNotKeepUsersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q auth.HashQueue
		q.Welcome("192.0.2.7")
		release := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			if err := q.Do(t.Context(), "198.51.100.1", func() { <-release }); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var mu sync.Mutex
		var order []string
		refused := 0
		join := func(ctx context.Context, from string) {
			all.Go(func() {
				err := q.Do(ctx, from, func() {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, from)
				})
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, auth.ErrOverloaded) {
					refused++
				} else if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		gone, cancel := context.WithCancel(t.Context())
		join(gone, "198.51.100.9")
		for i := range 100 {
			join(t.Context(), fmt.Sprintf("203.0.113.%d", i))
		}
		cancel()
		synctest.Wait()
		join(t.Context(), "203.0.113.200") // the place of the one who left
		join(t.Context(), "192.0.2.7")
		if refused != 93 {
			t.Errorf("%d of 101 strangers are refused at once, want 93", refused)
		}
		close(release)
		all.Wait()
		if len(order) != 9 || order[0] != "192.0.2.7" || slices.Contains(order, "198.51.100.9") {
			t.Errorf("the passwords are hashed in the order %v", order)
		}
		// The queue is as good as new.
		if err := q.Do(t.Context(), "203.0.113.1", func() {}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
