package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// WebSub subscribes to feeds that name a hub, as of the W3C recommendation of that
// name. The hub then says when a feed has new items, and the feed is polled: what the
// hub sends beside that is not gone by. Polls go on as without it.
//
// A subscription is asked for, and renewed, by the poll that sees the feed, so that the
// request has leave like every other.
type WebSub struct {
	Vault *secrets.Vault
	Store freshet.StateStore
	Base  string // of the callbacks, such as https://freshet.example
	Now   func() time.Time
	Log   *slog.Logger

	mu    sync.Mutex
	known map[freshet.SourceID]subscription // nil until read
}

// A subscription is what is known of that of a source.
type subscription struct {
	Hub   string    `json:"hub"`
	Topic string    `json:"topic"`
	Asked time.Time `json:"asked"`
	Until time.Time `json:"until,omitzero"` // when it ends; zero until the hub has confirmed it
}

const (
	webSubBelief = "websub"
	webSubLease  = 10 * 24 * time.Hour
	webSubRetry  = 6 * time.Hour // after a hub has not answered
	maxOffer     = 16 << 10      // bytes of a feed in which it names its hub
)

// due reports whether a subscription has to be asked for now.
func (s subscription) due(now time.Time) bool {
	if sinceAsked := now.Sub(s.Asked); sinceAsked >= 0 && sinceAsked < webSubRetry {
		return false
	}
	return s.Until.Sub(now) < webSubLease/4
}

// label is what the callback and the secret of a subscription are made of.
func (s subscription) label(id freshet.SourceID) string {
	return "websub\n" + string(id) + "\n" + s.Hub + "\n" + s.Topic
}

// seen looks at what a poll of a source brought, and asks for a subscription if it
// offers one. It returns how many requests that took. That it does not work is no
// failure of the poll.
func (w *WebSub) seen(ctx context.Context, f *fetch.Client, req freshet.Request, resp freshet.Response) int {
	s, ok, err := w.subscription(ctx, req.ID)
	if err != nil {
		w.Log.Error("cannot read the subscriptions", "err", err)
		return 0
	}
	if !resp.NotModified {
		hub, topic := offered(resp)
		if hub == "" || !isWeb(hub) || !isWeb(topic) {
			return 0
		}
		if !ok || hub != s.Hub || topic != s.Topic {
			s, ok = subscription{Hub: hub, Topic: topic}, true
		}
	}
	if !ok || !s.due(w.Now()) {
		return 0
	}
	s.Asked = w.Now()
	return w.ask(ctx, f, req, s)
}

func isWeb(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(raw) <= 2048
}

// ask asks a hub for a subscription. It is on record before, because the hub may confirm
// it before it answers.
func (w *WebSub) ask(ctx context.Context, f *fetch.Client, req freshet.Request, s subscription) int {
	callback, err := w.Vault.Mac(s.label(req.ID))
	if err == nil {
		err = w.keep(ctx, req.ID, s)
	}
	key, keyErr := w.Vault.Mac("secret\n" + s.label(req.ID))
	if err != nil || keyErr != nil {
		w.Log.Error("cannot keep a subscription", "source", req.ID, "err", err)
		return 0
	}
	form := url.Values{
		"hub.mode": {"subscribe"}, "hub.topic": {s.Topic}, "hub.secret": {key}, "hub.lease_seconds": {strconv.Itoa(int(webSubLease / time.Second))},
		"hub.callback": {strings.TrimSuffix(w.Base, "/") + "/api/v1/websub/" + string(req.ID) + "~" + callback},
	}
	resp, err := f.Send(ctx, freshet.Request{URL: s.Hub, Leave: aside(req.Leave), Room: req.Room}, fetch.Sending{
		Method: http.MethodPost, Body: []byte(form.Encode()), Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
	if err != nil && !isNoContent(err) {
		w.Log.Warn("the hub of a feed refused a subscription; the feed is polled as before", "source", req.ID, "hub", mask.URL(s.Hub), "err", mask.Text(err.Error()))
	}
	return resp.Requests
}

// subscription returns that of a source, if there is one.
func (w *WebSub) subscription(ctx context.Context, id freshet.SourceID) (s subscription, ok bool, err error) {
	w.mu.Lock()
	read := w.known != nil
	s, ok = w.known[id]
	w.mu.Unlock()
	if read {
		return s, ok, nil
	}
	found := map[freshet.SourceID]subscription{}
	for b, err := range w.Store.States(ctx, webSubBelief) {
		if err != nil {
			return s, false, err
		}
		var stored subscription
		if json.Unmarshal(b.Value, &stored) == nil {
			found[b.Source] = stored
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = found
	}
	s, ok = w.known[id]
	return s, ok, nil
}

// keep stores a subscription.
func (w *WebSub) keep(ctx context.Context, id freshet.SourceID, s subscription) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := w.Store.SaveState(ctx, []freshet.State{{Source: id, Key: webSubBelief, Value: text}}); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[id] = s
	return nil
}

// found returns the source and the subscription that a callback belongs to.
func (w *WebSub) found(ctx context.Context, token string) (id freshet.SourceID, s subscription, err error) {
	name, mac, _ := strings.Cut(token, "~")
	id = freshet.SourceID(name)
	s, ok, err := w.subscription(ctx, id)
	if err != nil {
		return id, s, err
	}
	want, err := w.Vault.Mac(s.label(id))
	if err != nil {
		return id, s, err
	}
	if !ok || subtle.ConstantTimeCompare([]byte(mac), []byte(want)) == 0 {
		return id, s, fmt.Errorf("subscription: %w", freshet.ErrNotFound)
	}
	return id, s, nil
}

// Confirm answers a hub that wants to know whether we asked for a subscription: with
// its challenge, or with ErrNotFound if we did not.
func (w *WebSub) Confirm(ctx context.Context, token string, q url.Values) (challenge string, err error) {
	id, s, err := w.found(ctx, token)
	if err != nil {
		return "", err
	}
	now := w.Now()
	if q.Get("hub.mode") != "subscribe" || q.Get("hub.topic") != s.Topic || q.Get("hub.challenge") == "" || now.Sub(s.Asked) > 24*time.Hour {
		return "", fmt.Errorf("subscription: %w", freshet.ErrNotFound)
	}
	lease := webSubLease
	if n, err := strconv.Atoi(q.Get("hub.lease_seconds")); err == nil && n > 0 {
		lease = min(max(time.Duration(min(n, 1e8))*time.Second, time.Hour), 30*24*time.Hour)
	}
	s.Until = now.Add(lease)
	if err := w.keep(ctx, id, s); err != nil {
		return "", err
	}
	w.Log.Info("the hub of a feed confirmed a subscription", "source", id, "hub", mask.URL(s.Hub), "until", s.Until.UTC())
	return q.Get("hub.challenge"), nil
}

// Told returns the source that a hub says has new items, or ErrNotFound. A message that
// is not signed as it must be names none.
func (w *WebSub) Told(ctx context.Context, token, signature string, body []byte) (freshet.SourceID, error) {
	id, s, err := w.found(ctx, token)
	if err != nil {
		return "", err
	}
	key, err := w.Vault.Mac("secret\n" + s.label(id))
	if err != nil {
		return "", err
	}
	method, sum, _ := strings.Cut(signature, "=")
	hashes := map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}
	made, ok := hashes[strings.ToLower(method)]
	given, err := hex.DecodeString(sum)
	if !ok || err != nil {
		return "", nil
	}
	mac := hmac.New(made, []byte(key))
	mac.Write(body) // never fails
	if !hmac.Equal(given, mac.Sum(nil)) {
		return "", nil
	}
	return id, nil
}
