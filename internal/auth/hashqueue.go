package auth

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrOverloaded means that too many passwords wait to be hashed.
var ErrOverloaded = errors.New("too many logins at once; try again in a few seconds")

// The most that wait for the hash of a password.
const (
	maxStrangersWaiting = 8
	maxFamiliarWaiting  = 64
	maxFamiliar         = 10_000 // networks
)

// A hashQueue hashes one password at a time: its memory must not grow with the number of
// callers. Callers from a network that has logged in before go first, so that strangers who
// guess do not keep users out.
type hashQueue struct {
	mu        sync.Mutex
	busy      bool
	waiting   [2][]chan struct{} // of familiar callers and of strangers
	familiars map[string]bool    // networks
}

const (
	familiarLane = iota
	strangerLane
)

// welcome notes that a user from an address has logged in.
func (q *hashQueue) welcome(from string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.familiars) >= maxFamiliar {
		q.familiars = nil
	}
	if q.familiars == nil {
		q.familiars = map[string]bool{}
	}
	q.familiars[network(from)] = true
}

// do calls hash when it is the caller's turn. It returns ErrOverloaded at once if too many
// wait already.
func (q *hashQueue) do(ctx context.Context, from string, hash func()) error {
	turn, lane, err := q.join(from)
	if err != nil {
		return err
	}
	select {
	case <-turn:
	case <-ctx.Done():
		if !q.leave(turn, lane) {
			q.next() // it was the caller's turn at that moment
		}
		return context.Cause(ctx)
	}
	defer q.next()
	hash()
	return nil
}

// join returns a channel that is closed when it is the caller's turn.
func (q *hashQueue) join(from string) (turn chan struct{}, lane int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn = make(chan struct{})
	if !q.busy {
		q.busy = true
		close(turn)
		return turn, familiarLane, nil
	}
	lane, most := strangerLane, maxStrangersWaiting
	if q.familiars[network(from)] {
		lane, most = familiarLane, maxFamiliarWaiting
	}
	if len(q.waiting[lane]) >= most {
		return nil, lane, ErrOverloaded
	}
	q.waiting[lane] = append(q.waiting[lane], turn)
	return turn, lane, nil
}

// leave gives up a place in a lane. It reports whether the caller still waited there.
func (q *hashQueue) leave(turn chan struct{}, lane int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting[lane], turn)
	if i < 0 {
		return false
	}
	q.waiting[lane] = slices.Delete(q.waiting[lane], i, i+1)
	return true
}

// next gives the turn to the next caller.
func (q *hashQueue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for lane := range q.waiting {
		if len(q.waiting[lane]) > 0 {
			close(q.waiting[lane][0])
			q.waiting[lane] = q.waiting[lane][1:]
			return
		}
	}
	q.busy = false
}
