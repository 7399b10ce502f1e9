package sinks

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet/client"
	"freshet/internal/invalid"
)

const minKey, maxKey = 24, 64 // bytes of a signing key

// secretKey reads a secret of Standard Webhooks. Nothing of it is repeated in an error.
func secretKey(secret string) ([]byte, error) {
	const field = "settings.secret"
	if secret == "" {
		return nil, invalid.Errorf(field, "is missing; create one with: echo whsec_$(openssl rand -base64 32)")
	}
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	if !ok {
		return nil, invalid.Errorf(field, "does not start with whsec_")
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, invalid.Errorf(field, "is not base64 after whsec_")
	}
	if len(key) < minKey || len(key) > maxKey {
		return nil, invalid.Errorf(field, "holds %d bytes, not %d to %d", len(key), minKey, maxKey)
	}
	return key, nil
}

// checkWebhook judges how requests are signed, as far as that is known before secrets
// are filled in.
func checkWebhook(s Sink) error {
	unsigned, err := strconv.ParseBool(string(s.Settings["unsigned"]))
	if s.Settings["unsigned"] != "" && err != nil {
		return invalid.Errorf("settings.unsigned", "%q is not true or false", s.Settings["unsigned"])
	}
	secret := s.Settings["secret"]
	if unsigned || secret.Secret() {
		return nil
	}
	_, err = secretKey(string(secret))
	return err
}

// postWebhook signs in the manner of Standard Webhooks.
func postWebhook(o *Outlet, f filled, m Message) (request, error) {
	id, now := WebhookID(o.sink.Name, m.ID), o.cfg.Now()
	r := request{url: f.url, body: m.Body, header: contentHeader(eventMedia)}
	if o.sink.Template != "" {
		r.header = contentHeader(mediaOf(m.Body))
	}
	r.header.Set(webhooks.HeaderWebhookID, id)
	r.header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if unsigned, _ := strconv.ParseBool(f.settings["unsigned"]); unsigned {
		return r, nil
	}
	key, err := secretKey(f.settings["secret"])
	if err != nil {
		return r, err
	}
	sign, err := webhooks.NewWebhookRaw(key)
	if err != nil {
		return r, fmt.Errorf("sign for webhook %s: %w", o.sink.Name, err)
	}
	signature, err := sign.Sign(id, now, m.Body)
	if err != nil {
		return r, fmt.Errorf("sign for webhook %s: %w", o.sink.Name, err)
	}
	r.header.Set(webhooks.HeaderWebhookSignature, signature)
	return r, nil
}

// mediaOf says what the output of a template is.
func mediaOf(body []byte) string {
	if json.Valid(body) {
		return jsonMedia
	}
	return "text/plain; charset=utf-8"
}

// WebhookID returns the webhook-id under which a sink is sent an event: the
// same on every attempt, different for different sinks. It is a digest because
// an id with a full stop in it would make signatures ambiguous.
func WebhookID(sink, event string) string {
	sum := sha256.Sum256([]byte(sink + "\n" + event))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// frameEvent returns the event as CloudEvents has it, or the output of a template.
func frameEvent(o *Outlet, e *Event, text string) ([]byte, error) {
	if o.sink.Template != "" {
		return []byte(text), nil
	}
	if e.batch != nil {
		return json.Marshal(BatchEnvelope(*e.batch, e.base))
	}
	return json.Marshal(Envelope(e.change, e.base))
}

// postEvent sends a CloudEvent by its HTTP binding: all of it in the body or, in binary
// mode, all but the data in the header.
func postEvent(o *Outlet, f filled, m Message) (request, error) {
	r := request{url: f.url, body: m.Body, header: contentHeader(eventMedia)}
	if f.settings["mode"] != "binary" || o.sink.Template != "" {
		return r, nil
	}
	var e struct {
		client.Event
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.Body, &e); err != nil {
		return r, fmt.Errorf("event %s as it was kept: %w", m.ID, err)
	}
	r.body, r.header = e.Data, contentHeader(e.DataContentType)
	for name, value := range map[string]string{
		"specversion": e.SpecVersion, "id": e.ID, "source": e.Source, "type": e.Type, "subject": e.Subject, "time": e.Time.Format("2006-01-02T15:04:05.999999999Z07:00"),
	} {
		if value != "" {
			r.header.Set("Ce-"+name, ceText(value))
		}
	}
	return r, nil
}

// ceText escapes what the HTTP binding of CloudEvents does not let into a header.
func ceText(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c <= ' ' || c == '"' || c == '%' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A difference is what differs, as text.
type difference struct {
	Added   string `json:"added,omitempty"`
	Removed string `json:"removed,omitempty"`
	Diff    string `json:"diff,omitempty"`
}

// difference returns what differs.
func (e *Event) difference() (d difference, err error) {
	for _, part := range []struct {
		to   *string
		read func() (string, error)
	}{{&d.Added, e.Added}, {&d.Removed, e.Removed}, {&d.Diff, e.Diff}} {
		if *part.to, err = part.read(); err != nil {
			return d, err
		}
	}
	return d, nil
}

// A plainEvent is a change in plain JSON, with what differs.
type plainEvent struct {
	ID string `json:"id"`
	client.Change
	Link string `json:"link"`
	difference
}

// A plainBatch is what a query tells in plain JSON, with what differs.
type plainBatch struct {
	ID string `json:"id"`
	client.MatchBatch
	Matches []plainMatch `json:"matches"`
	Link    string       `json:"link"`
}

type plainMatch struct {
	client.Match
	difference
}

// framePlain returns the event in plain JSON, or the output of a template.
func framePlain(o *Outlet, e *Event, text string) ([]byte, error) {
	if o.sink.Template != "" {
		return []byte(text), nil
	}
	if e.batch != nil {
		return framePlainBatch(e)
	}
	differs, err := e.difference()
	if err != nil {
		return nil, err
	}
	return json.Marshal(plainEvent{ID: e.ID, Change: ChangeOf(e.change), Link: e.Link, difference: differs})
}

func framePlainBatch(e *Event) (body []byte, err error) {
	p := plainBatch{ID: e.ID, MatchBatch: e.batch.told(), Link: e.Link}
	entries := e.Entries
	if len(entries) == 0 {
		entries = []*Event{e}
	}
	for i, m := range p.MatchBatch.Matches {
		one := plainMatch{Match: m}
		if one.difference, err = entries[i].difference(); err != nil {
			return nil, err
		}
		p.Matches = append(p.Matches, one)
	}
	return json.Marshal(p)
}

// postPlain sends a body as it is.
func postPlain(_ *Outlet, f filled, m Message) (request, error) {
	r := request{url: f.url, body: m.Body, header: contentHeader(mediaOf(m.Body)), method: strings.ToUpper(f.settings["method"])}
	if media := f.settings["content_type"]; media != "" {
		r.header = contentHeader(media)
	}
	r.header.Set("X-Freshet-Event", m.ID)
	return r, nil
}

// under returns a path below a URL.
func under(base, path string) string { return strings.TrimRight(base, "/") + path }

// bearer returns a header with a token, if there is one.
func bearer(media, token string) http.Header {
	h := contentHeader(media)
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return h
}

// escape returns a text as a segment of a path.
func escape(text string) string { return url.PathEscape(text) }
