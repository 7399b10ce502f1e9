package deliver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet"
)

const (
	defaultTimeout = 15 * time.Second
	maxAnswer      = 16 << 10 // bytes of a response body that are read
	maxQuote       = 200      // bytes of it that an error repeats
	minKey, maxKey = 24, 64   // bytes of a signing key
)

// WebhookConfig says where a Webhook posts to. Name, URL and Send are needed,
// and a Secret unless Unsigned is set.
type WebhookConfig struct {
	Name string // of letters, digits, '.', '_' and '-'
	URL  string

	// Secret signs every request: "whsec_" and 24 to 64 bytes in base64.
	Secret   string
	Unsigned bool // send without a signature

	// Send sends one request and follows no redirect. It is the way out of
	// the program, so it decides which addresses may be reached.
	Send func(*http.Request) (*http.Response, error)

	Timeout time.Duration    // of one attempt; 0 means 15 seconds
	Now     func() time.Time // the wall clock; nil means time.Now
}

// A Webhook posts events to one endpoint.
type Webhook struct {
	cfg  WebhookConfig
	sign *webhooks.Webhook // nil if unsigned
}

// NewWebhook returns a Webhook, or a *freshet.InvalidError that says what is
// wrong with its configuration.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	if !freshet.ValidSourceID(freshet.SourceID(cfg.Name)) {
		return nil, &freshet.InvalidError{Field: "name", Reason: fmt.Sprintf("%q is not a valid name; use up to 64 letters, digits, '.', '_' and '-'", cfg.Name)}
	}
	if u, err := url.Parse(cfg.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &freshet.InvalidError{Field: "url", Reason: fmt.Sprintf("%q is not an http or https URL", freshet.MaskURL(cfg.URL))}
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	h := &Webhook{cfg: cfg}
	if cfg.Unsigned {
		return h, nil
	}
	key, err := secretKey(cfg.Secret)
	if err != nil {
		return nil, err
	}
	if h.sign, err = webhooks.NewWebhookRaw(key); err != nil {
		return nil, fmt.Errorf("sign for webhook %s: %w", cfg.Name, err)
	}
	return h, nil
}

// secretKey reads a secret. Nothing of it is repeated in an error.
func secretKey(secret string) ([]byte, error) {
	invalid := func(reason string) ([]byte, error) {
		return nil, &freshet.InvalidError{Field: "secret", Reason: reason}
	}
	if secret == "" {
		return invalid("is missing; create one with: echo whsec_$(openssl rand -base64 32)")
	}
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	if !ok {
		return invalid("does not start with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return invalid("is not base64 after whsec_")
	}
	if len(key) < minKey || len(key) > maxKey {
		return invalid(fmt.Sprintf("holds %d bytes, not %d to %d", len(key), minKey, maxKey))
	}
	return key, nil
}

// A Refusal is an endpoint's answer that is not a success.
type Refusal struct {
	Status     int
	Body       string        // the beginning of it
	RetryAfter time.Duration // how long the endpoint asked us to stay away
}

// Error says what was answered.
func (r *Refusal) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the endpoint answered %d %s", r.Status, http.StatusText(r.Status)))
	if r.Body != "" {
		text += fmt.Sprintf(": %q", r.Body)
	}
	return text
}

// Gone reports whether the endpoint wants no more deliveries at all.
func (r *Refusal) Gone() bool { return r.Status == http.StatusGone }

// Send posts a message. It returns nil if the endpoint has accepted it, and a
// *Refusal if it answered anything but 2xx.
func (h *Webhook) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.cfg.Timeout, fmt.Errorf("no answer within %v", h.cfg.Timeout))
	defer cancel()
	req, err := h.request(ctx, m)
	if err != nil {
		return err
	}
	resp, err := h.cfg.Send(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("post to %s: %w", h.cfg.Name, err)
	}
	defer resp.Body.Close()
	// What is left unread would keep the connection from being used again.
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode/100 != 2:
		return &Refusal{
			Status:     resp.StatusCode,
			Body:       strings.ToValidUTF8(string(answer[:min(len(answer), maxQuote)]), "\uFFFD"),
			RetryAfter: retryAfter(resp.Header, h.cfg.Now()),
		}
	case err != nil && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	}
	return nil // accepted, however its body ended
}

// request builds the signed request.
func (h *Webhook) request(ctx context.Context, m Message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.cfg.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, fmt.Errorf("post to %s: %w", h.cfg.Name, err)
	}
	id, now := WebhookID(h.cfg.Name, m.ID), h.cfg.Now()
	req.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	req.Header.Set(webhooks.HeaderWebhookID, id)
	req.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if h.sign != nil {
		signature, err := h.sign.Sign(id, now, m.Body)
		if err != nil {
			return nil, fmt.Errorf("sign for webhook %s: %w", h.cfg.Name, err)
		}
		req.Header.Set(webhooks.HeaderWebhookSignature, signature)
	}
	return req, nil
}

// WebhookID returns the webhook-id under which a sink is sent an event: the
// same on every attempt, different for different sinks. It is a digest because
// an id with a full stop in it would make signatures ambiguous.
func WebhookID(sink, event string) string {
	sum := sha256.Sum256([]byte(sink + "\n" + event))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// retryAfter reads a Retry-After header, in seconds or as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
