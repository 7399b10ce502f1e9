package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/freshet"
)

// A Mode says who has to log in.
type Mode string

// The modes.
const (
	Auto Mode = "auto" // everybody, but for those on this machine while there are no users
	On   Mode = "on"   // everybody
	Off  Mode = "off"  // nobody: something in front of the API sees to it
)

// A Config says how a gate works. Store is needed.
type Config struct {
	Store *Store
	Mode  Mode // "" means Auto

	// Loopback says that the API listens on this machine alone.
	Loopback bool

	// Inside says that requests come from this process, on behalf of a user who may read the data
	// directory.
	Inside bool

	// Local is a token for users who may read the data directory; "" means that there is none.
	Local string

	// Follows says that another process writes the store, and this one only reads it.
	Follows bool

	// Proxies are addresses whose word on where a request comes from is taken.
	Proxies []netip.Prefix

	// Provider is the issuer of an OpenID provider at which people log in; "" if there is
	// none. While there is one, nobody is let in without a login.
	Provider string

	// Public is the URL under which people reach the API; "" if nobody said.
	Public string

	Cost Cost             // zero means DefaultCost
	Keep time.Duration    // for the audit log; zero means a year
	Now  func() time.Time // nil means time.Now
	Log  *slog.Logger     // nil means silence
}

// How long sessions last.
const (
	SessionIdle = 7 * 24 * time.Hour  // without a request
	SessionLife = 30 * 24 * time.Hour // in all
)

const (
	usedEvery  = 5 * time.Minute // how exactly it is known when a pass was used
	sweepEvery = time.Hour
	auditYear  = 365 * 24 * time.Hour
)

// A Gate knows who asks.
type Gate struct {
	Config
	users  atomic.Int64 // how many there are
	hashes hashQueue
	decoy  string // the hash of no password
	tries  tries

	welcoming sync.Mutex // one guest at a time

	mu    sync.Mutex
	calls map[*call]struct{}   // under way
	told  map[string]time.Time // passes whose use was reported to another process, and when
}

// New returns a gate.
func New(ctx context.Context, cfg Config) (*Gate, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Cost == (Cost{}) {
		cfg.Cost = DefaultCost
	}
	if cfg.Keep == 0 {
		cfg.Keep = auditYear
	}
	if cfg.Mode == "" {
		cfg.Mode = Auto
	}
	g := &Gate{Config: cfg, calls: map[*call]struct{}{}}
	g.tries.now = cfg.Now
	g.decoy = g.Cost.decoy()
	sessions, err := g.Store.Credentials(ctx, SessionKind)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		g.hashes.welcome(s.From)
	}
	return g, g.count(ctx)
}

// count notes how many users there are.
func (g *Gate) count(ctx context.Context) error {
	users, err := g.Store.Users(ctx)
	if err == nil {
		g.users.Store(int64(len(users)))
	}
	return err
}

// HasUsers reports whether there are users.
func (g *Gate) HasUsers() bool { return g.users.Load() > 0 }

// Open reports whether those on this machine may do everything.
func (g *Gate) Open() bool {
	return g.Mode == Off || g.Inside || g.Mode == Auto && g.Loopback && !g.HasUsers() && g.Provider == ""
}

// Notice says in a sentence who may do everything without a password; "" if nobody may.
func (g *Gate) Notice() string {
	switch {
	case g.Inside || !g.Open():
		return ""
	case g.Mode == Off:
		return "No login is set up: anyone who reaches this address has full control."
	}
	return "No login is set up: anyone on this machine has full control."
}

// ErrUnknown means that a secret is not that of a pass, or not any more.
var ErrUnknown = errors.New("not logged in, or the session has ended")

// prefixes say what a secret is to those who find one.
var prefixes = map[CredentialKind]string{SessionKind: "fs_", TokenKind: "ft_", ShareKind: "fl_"}

// LocalPrefix begins a token for users who may read the data directory.
const LocalPrefix = "fd_"

// NewSecret returns a secret that nobody can guess.
func NewSecret(prefix string) string {
	random := make([]byte, 32)
	rand.Read(random) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(random)
}

func hashOf(secret string) freshet.Hash { return freshet.Hash(sha256.Sum256([]byte(secret))) }

// Issue makes a pass and returns its secret, which is not kept.
func (g *Gate) Issue(ctx context.Context, p Credential) (Credential, string, error) {
	secret := NewSecret(prefixes[p.Kind])
	p.ID, p.Secret, p.Created = strings.ToLower(rand.Text()[:12]), hashOf(secret), g.Now().UTC()
	if p.Kind == SessionKind {
		if p.Used = p.Created; p.Expires.IsZero() || p.Expires.Sub(p.Created) > SessionLife {
			p.Expires = p.Created.Add(SessionLife)
		}
	}
	if err := p.Check(); err != nil {
		return p, "", err
	}
	return p, secret, g.Store.AddCredential(ctx, p)
}

// Known returns the caller with a secret, or ErrUnknown.
func (g *Gate) Known(ctx context.Context, secret string) (Caller, error) {
	if g.Local != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(g.Local)) == 1 {
		return everybody(viaData), nil
	}
	p, err := g.Store.CredentialBySecret(ctx, hashOf(secret))
	if errors.Is(err, freshet.ErrNotFound) || err == nil && !g.valid(p) {
		return Caller{}, ErrUnknown
	}
	if err != nil {
		return Caller{}, err
	}
	p.Limit.Scopes = access.Expand(p.Limit.Scopes)
	c := Caller{Known: true, User: p.User, Via: string(p.Kind), Credential: p, Limit: p.Limit}
	switch p.Kind {
	case TokenKind:
		c.Via = "token " + p.Name
	case ShareKind:
		c.User, c.Via, c.Limit.Scopes = "", "link "+p.ID, []access.Right{access.Read}
	}
	if c.User == "" && len(p.Limit.Scopes) == 0 { // a session of a share link
		c.Limit.Scopes = []access.Right{access.Read}
	}
	if c.User != "" {
		u, err := g.Store.User(ctx, p.User)
		if err != nil {
			return Caller{}, cmpErr(err)
		}
		c.Guest = g.Guest(u)
		c.Role, c.Limit.Scopes = u.Role, common(u.Role.Rights(), p.Limit.Scopes)
	}
	return c, g.used(ctx, p)
}

// cmpErr takes a user that was removed meanwhile for one that is not known.
func cmpErr(err error) error {
	if errors.Is(err, freshet.ErrNotFound) {
		return ErrUnknown
	}
	return err
}

// common returns what of the rights of a role a pass has; one without any has all.
func common(role, pass []access.Right) []access.Right {
	if len(pass) == 0 {
		return role
	}
	return slices.DeleteFunc(slices.Clone(role), func(r access.Right) bool { return !slices.Contains(pass, r) })
}

// everybody returns a caller that may do everything.
func everybody(via string) Caller {
	return Caller{Known: true, Role: access.Admin, Via: via, Limit: Limit{Scopes: access.Admin.Rights()}}
}

// valid reports whether a pass is good still.
func (g *Gate) valid(p Credential) bool {
	now := g.Now()
	if !p.Expires.IsZero() && !p.Expires.After(now) {
		return false
	}
	return p.Kind != SessionKind || now.Sub(p.Used) < SessionIdle
}

// used notes now and then that a pass was used.
func (g *Gate) used(ctx context.Context, p Credential) error {
	now := g.Now().UTC()
	if g.Follows || now.Sub(p.Used) < usedEvery {
		return nil
	}
	if err := g.Store.MarkUsed(ctx, p.ID, now); err != nil {
		g.Log.Warn("cannot note that a pass was used", "pass", p.ID, "err", err) // reading goes on while nothing can be written
	}
	return nil
}

// mostTold is how many passes are remembered whose use was reported to another process.
const mostTold = 10_000

// Untold reports whether the process that writes the store has to hear that a caller was here,
// because this one cannot note it. It does so now and then.
func (g *Gate) Untold(c Caller) bool {
	now := g.Now()
	if !g.Follows || c.Credential.ID == "" || now.Sub(c.Credential.Used) < usedEvery {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at, ok := g.told[c.Credential.ID]; ok && now.Sub(at) < usedEvery {
		return false
	}
	if g.told == nil || len(g.told) >= mostTold {
		g.told = map[string]time.Time{}
	}
	g.told[c.Credential.ID] = now
	return true
}

// Run removes what has expired, until ctx is done.
func (g *Gate) Run(ctx context.Context) {
	for {
		now := g.Now()
		if err := g.Store.Sweep(ctx, now, now.Add(-SessionIdle), now.Add(-g.Keep)); err != nil && ctx.Err() == nil {
			g.Log.Warn("cannot remove expired sessions and old entries of the audit log; it is tried again in an hour", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery):
		}
	}
}

// First adds the first user, an admin, if there is none. It reports whether it did.
func (g *Gate) First(ctx context.Context, name, password string) (bool, error) {
	if g.HasUsers() {
		return false, nil
	}
	if _, err := g.AddUser(ctx, User{Name: name, Role: access.Admin}, password); err != nil {
		return false, fmt.Errorf("add user %s: %w", name, err)
	}
	return true, nil
}
