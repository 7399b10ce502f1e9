package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
)

// A session is what a login has opened. Sources with the same login and jar share it.
type session struct {
	key    string
	jar    *jar
	turn   chan struct{} // holds one: whose turn it is to log in
	loaded bool
	state
}

// A state is what is stored of a session, beside its cookies.
type state struct {
	At    time.Time             `json:"at"`    // of the last login that worked
	Count int                   `json:"count"` // of logins that worked
	Taken map[string]takenValue `json:"values,omitempty"`
	Pause pause                 `json:"pause,omitzero"`
}

// belief is the estimator under which the session is stored.
func (s *session) belief() string { return "login:" + s.key }

// overdue reports whether a session has been used for as long as it may.
func (s *session) overdue(l *profile.Login, now time.Time) bool {
	lasts := l.Lasts()
	return lasts > 0 && now.Sub(s.At) >= lasts
}

// take waits until nobody else logs in.
func (s *session) take(ctx context.Context) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// current returns which session it is now, and what its login took.
func (s *session) current(ctx context.Context) (count int, taken map[string]takenValue, err error) {
	release, err := s.take(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer release()
	return s.Count, s.Taken, nil
}

// logins are the sessions at work, by all that they depend on.
type logins struct {
	client   *Client
	mu       *sync.Mutex
	sessions map[string]*session
}

func newLogins(c *Client) logins {
	return logins{client: c, mu: new(sync.Mutex), sessions: map[string]*session{}}
}

// session returns the session of a source with a login. Without a jar of its own its
// cookies go into one that all sources with this login share.
func (ls *logins) session(ctx context.Context, p profile.Profile, id freshet.SourceID) (*session, error) {
	sum := sha256.Sum256([]byte(p.Login.Key()))
	key := hex.EncodeToString(sum[:8])
	name := p.Jar
	if name == "" {
		name = "login-" + key
	}
	jar, err := ls.client.jars.open(ctx, name, id)
	if err != nil {
		return nil, err
	}
	key += ":" + jar.key.name + ":" + string(jar.key.source)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	s := ls.sessions[key]
	if s == nil {
		s = &session{key: key, jar: jar, turn: make(chan struct{}, 1)}
		ls.sessions[key] = s
	}
	return s, nil
}
