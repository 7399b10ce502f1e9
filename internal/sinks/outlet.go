package sinks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
)

// A Config is what outlets are made with. All but Exec is needed.
type Config struct {
	// Do sends one request and follows no redirect. It is the way out of the program,
	// so it decides which addresses may be reached. CheckURL judges an http or https
	// URL beforehand and returns it in its normal form.
	Do       func(*http.Request) (*http.Response, error)
	CheckURL func(string) (string, error)

	// Dial opens connections for what is not HTTP, by the same rules. The ports are
	// those that the protocol is at home on. TLS returns how to make one secure.
	Dial func(ports ...uint16) func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  func(server string) *tls.Config

	Secrets auth.Secrets
	Exec    bool // commands may be run

	// Mail returns the server of e-mail sinks that name none, as such a sink; nil means that there is none.
	Mail func() (Sink, error)

	// Difference returns a picture of the part of a page that a change changed, in PNG. Nil means
	// that there are none.
	Difference func(context.Context, freshet.Change) ([]byte, error)

	Answers *Answers         // of models; nil has each question asked again
	Apprise string           // URL of an Apprise API server, for URLs that only Apprise understands; "" if there is none
	Base    string           // of the URLs in events; see Envelope
	Timeout time.Duration    // of one attempt; 0 means 15 seconds
	Now     func() time.Time // the wall clock; nil means time.Now

	// Mac returns a text for a label that only this server can make. It signs the links in
	// messages; nil means that there are none.
	Mac func(label string) (string, error)
}

// Patience is how long one attempt takes at most, unless a Config says otherwise.
const Patience = 15 * time.Second

// A sender brings messages to a receiver. It is used by several goroutines at once.
type sender interface {
	// send makes one attempt and returns what the receiver said.
	send(ctx context.Context, f filled, m Message) (string, error)
	close() error
}

// An Outlet renders changes for one sink and sends them to it.
type Outlet struct {
	cfg   Config
	sink  Sink
	kind  *kind
	words words  // of the kind or of the sink
	model *model // that summarizes messages; nil if there is none
	sender
}

// Open returns the outlet of a sink. The error is an *invalid.Error if something
// is wrong with the sink. Nothing is connected to yet.
func Open(cfg Config, s Sink) (*Outlet, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = Patience
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s, err := Check(cfg, s)
	if err != nil {
		return nil, err
	}
	o := &Outlet{cfg: cfg, sink: s, kind: kindOf(s.Kind)}
	text := s.Template
	if text == "" {
		text = o.kind.words
	}
	if o.words, err = parseWords(text); err != nil {
		return nil, err
	}
	if o.model, err = modelOf(cfg, s); err != nil {
		return nil, err
	}
	o.sender, err = o.kind.open(o)
	return o, err
}

// Sink returns the sink in its normal form.
func (o *Outlet) Sink() Sink { return o.sink }

// Missing returns why the secrets that the sink refers to cannot be filled in; nil if they
// can.
func (o *Outlet) Missing() error {
	_, err := o.fill()
	return err
}

// fill looks up what the values of the sink refer to.
func (o *Outlet) fill() (filled, error) {
	s, err := o.cfg.withServer(o.sink)
	if err != nil {
		return filled{}, err
	}
	return fill(s, o.kind, o.cfg.Secrets)
}

// Endpoint says where messages go, without saying it: another text is another receiver.
func (o *Outlet) Endpoint() string { return string(o.sink.URL) }

// Render returns what is sent of a change. It holds no secrets.
func (o *Outlet) Render(ctx context.Context, c freshet.Change, texts Texts) ([]byte, error) {
	return o.render(NewEvent(ctx, c, o.cfg.Base, texts))
}

// RenderBatch returns what is sent of what a query tells. It holds no secrets.
// The error is ErrIrrelevant if the model of the sink says that it is not about the topics of the
// query.
func (o *Outlet) RenderBatch(ctx context.Context, p Batch) ([]byte, error) {
	e := newBatchEvent(ctx, p, o.cfg.Base)
	if err := o.relevant(e, p.Topics); err != nil {
		return nil, err
	}
	return o.render(e)
}

// Asks reports whether rendering asks a model, which takes long.
func (o *Outlet) Asks() bool { return o.model != nil }

func (o *Outlet) render(e *Event) ([]byte, error) {
	e.links = o.linksOf(e)
	if err := o.summarize(e); err != nil {
		return nil, err
	}
	text := ""
	if o.sink.Template != "" || o.kind.words != "" {
		var err error
		if text, err = o.words.render(e); err != nil {
			return nil, err
		}
	}
	body, err := o.kind.frame(o, e, text)
	if err != nil {
		return nil, fmt.Errorf("render event %s: %w", e.ID, err)
	}
	return body, nil
}

// Send makes one attempt at bringing a message to the receiver, and returns what it
// said. The error is a *Refusal if the receiver did not want the message.
func (o *Outlet) Send(ctx context.Context, m Message) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.cfg.Timeout, fmt.Errorf("no answer within %v", o.cfg.Timeout))
	defer cancel()
	f, err := o.fill()
	if err != nil {
		return "", err
	}
	answer, err := o.sender.send(ctx, f, m)
	if _, refused := errors.AsType[*Refusal](err); err != nil && !refused && context.Cause(ctx) != nil {
		return "", context.Cause(ctx)
	}
	return f.clean(answer), distrusted(f.cleanErr(err))
}

// distrusted says what can be done if a server shows a certificate that is not believed. Package
// fetch says it of requests.
func distrusted(err error) error {
	if err == nil || freshet.HintOf(err) != "" {
		return err
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return freshet.WithHint(err, "if the server is yours, add its certificate authority to the system's certificates (SSL_CERT_FILE)")
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return freshet.WithHint(err, "the certificate is for another name; check the host in the url")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return freshet.WithHint(err, "the server does not speak TLS on that port; check the scheme and the port of the url")
	}
	return err
}

// Close closes the connections of the outlet.
func (o *Outlet) Close() error { return o.sender.close() }
