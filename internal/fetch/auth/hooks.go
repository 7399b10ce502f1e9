package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"strings"
	"sync"
	"time"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
)

// Hooks let others say that a source has changed, each by a token that cannot be
// guessed. A token is made of the source, of a number that is drawn anew when the
// token is, and of the key of the vault: the store alone does not tell it.
type Hooks struct {
	Vault *secrets.Vault
	Store freshet.StateStore
	Now   func() time.Time

	mu    sync.Mutex
	calls calls
	asked map[freshet.SourceID]time.Time
}

const (
	hookBelief = "hook"
	hookGap    = 5 * time.Second // within which a second call of a source changes nothing
	hookRate   = 20              // calls a second, of all sources together and wrong tokens too
)

// calls counts the calls of one second.
type calls struct {
	second int64
	n      int
}

// Token returns the token of a source, which is made if there is none, or anew.
func (h *Hooks) Token(ctx context.Context, id freshet.SourceID, anew bool) (string, error) {
	drawn, err := h.drawn(ctx, id)
	if err != nil {
		return "", err
	}
	if drawn == "" || anew {
		drawn = rand.Text()
		if err := h.Store.SaveState(ctx, []freshet.State{{Source: id, Key: hookBelief, Value: []byte(drawn)}}); err != nil {
			return "", err
		}
	}
	return h.token(id, drawn)
}

// Remove makes the token of a source invalid.
func (h *Hooks) Remove(ctx context.Context, id freshet.SourceID) error {
	return h.Store.SaveState(ctx, []freshet.State{{Source: id, Key: hookBelief}})
}

func (h *Hooks) token(id freshet.SourceID, drawn string) (string, error) {
	mac, err := h.Vault.Mac("hook\n" + string(id) + "\n" + drawn)
	return string(id) + "~" + mac, err
}

// drawn returns the number that belongs to the token of a source, "" if it has none.
func (h *Hooks) drawn(ctx context.Context, id freshet.SourceID) (string, error) {
	for b, err := range h.Store.States(ctx, hookBelief) {
		if err != nil {
			return "", err
		}
		if b.Source == id {
			return string(b.Value), nil
		}
	}
	return "", nil
}

// ErrManyCalls means that hooks are called too often.
var ErrManyCalls = fmt.Errorf("more than %d calls of hooks a second", hookRate)

// Called returns the source whose token was used, or ErrNotFound, or ErrManyCalls.
// Again says that it was used a moment ago, and that nothing need be done.
func (h *Hooks) Called(ctx context.Context, token string) (id freshet.SourceID, again bool, err error) {
	if !h.Allow() {
		return "", false, ErrManyCalls
	}
	name, _, _ := strings.Cut(token, "~")
	id = freshet.SourceID(name)
	want, drawn := "", ""
	if freshet.ValidSourceID(id) {
		if drawn, err = h.drawn(ctx, id); err != nil {
			return "", false, err
		}
		if want, err = h.token(id, drawn); err != nil {
			return "", false, err
		}
	}
	if drawn == "" || subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 0 {
		return "", false, fmt.Errorf("hook: %w", freshet.ErrNotFound)
	}
	return id, h.Repeated(id), nil
}

// Allow reports whether one more call is within the rate.
func (h *Hooks) Allow() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if second := h.Now().Unix(); second != h.calls.second {
		h.calls = calls{second: second}
	}
	h.calls.n++
	return h.calls.n <= hookRate
}

// Repeated notes that the hook of a source was called, and reports whether it was just
// before.
func (h *Hooks) Repeated(id freshet.SourceID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.Now()
	if last, ok := h.asked[id]; ok && now.Sub(last) >= 0 && now.Sub(last) < hookGap {
		return true
	}
	if h.asked == nil {
		h.asked = map[freshet.SourceID]time.Time{}
	}
	h.asked[id] = now
	return false
}
