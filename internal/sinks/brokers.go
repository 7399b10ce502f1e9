package sinks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// brokerKinds hand changes to message brokers.
var brokerKinds = []*kind{
	{Kind: Kind{Name: "nats", About: "a subject of a NATS JetStream stream", URL: "nats://nats.example:4222", Settings: []Setting{
		{Name: "subject", About: "where to publish; {source} and {query} stand for their ids", Needed: true},
		{Name: "token", About: "of the server", Secret: true}, {Name: "user", About: "name at the server"}, {Name: "password", About: "of the user", Secret: true},
		{Name: "creds", About: "what stands in the .creds file of the user", Secret: true}, {Name: "nkey", About: "seed of the user, such as SU...", Secret: true},
	}}, schemes: []string{"nats", "tls"}, check: checkSubject, frame: frameEvent, open: openNATS},
	{Kind: Kind{Name: "mqtt", About: "a topic of an MQTT 5 broker", URL: "mqtt://mqtt.example:1883", Settings: []Setting{
		{Name: "topic", About: "where to publish; {source} and {query} stand for their ids", Needed: true},
		{Name: "user", About: "name at the broker"}, {Name: "password", About: "of the user", Secret: true}, {Name: "retain", About: "true has the broker keep the last message of the topic"},
	}}, schemes: []string{"mqtt", "mqtts"}, check: checkTopic, frame: frameEvent, open: openMQTT},
	homeAssistantKind,
	{Kind: Kind{Name: "kafka", About: "a topic of Kafka", URL: "kafka://kafka.example:9092", Settings: []Setting{
		{Name: "topic", About: "where to publish; the id of the query or the source is the key", Needed: true},
		{Name: "user", About: "name at the broker"}, {Name: "password", About: "of the user", Secret: true}, {Name: "sasl", About: "plain, scram-sha-256 or scram-sha-512; plain is the default"},
	}}, schemes: []string{"kafka", "kafkas"}, check: oneOf("sasl", "plain", "scram-sha-256", "scram-sha-512"), frame: frameEvent, open: openKafka},
}

// checkSubject judges where to publish.
func checkSubject(s Sink) error {
	subject := string(s.Settings["subject"])
	if strings.ContainsAny(subject, " \t\r\n*>") || strings.HasPrefix(subject, ".") || strings.HasSuffix(subject, ".") || strings.Contains(subject, "..") {
		return invalid.Errorf("settings.subject", "%q is not a subject such as freshet.changes.{source}", subject)
	}
	var given []string
	for _, name := range []string{"token", "user", "creds", "nkey"} {
		if s.Settings[name] != "" {
			given = append(given, name)
		}
	}
	if len(given) > 1 {
		return invalid.Errorf("settings."+given[1], "%s are ways to log in of which one can be used", strings.Join(given, " and "))
	}
	return nil
}

// checkTopic judges where to publish.
func checkTopic(s Sink) error {
	if topic := string(s.Settings["topic"]); strings.ContainsAny(topic, "+#\x00") {
		return invalid.Errorf("settings.topic", "%q is not a topic such as freshet/changes/{source}", topic)
	}
	return oneOf("retain", "true", "false")(s)
}

// named puts the ids of a source and of a query into a subject or topic. What would cut it
// in two there is replaced; the query stands for the source if there are several, and for a
// change, changes.
func named(pattern string, m Message, cuts string) string {
	source, query := string(m.Source), string(m.Query)
	if source == "" {
		source = query
	}
	if query == "" {
		query = "changes"
	}
	return strings.NewReplacer("{source}", strings.ReplaceAll(source, cuts, "_"), "{query}", strings.ReplaceAll(query, cuts, "_")).Replace(pattern)
}

// withPort returns the address in a URL, with a port if it has none.
func withPort(raw, port string) (host, address string, err error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return "", "", errors.New("the url names no server")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return u.Hostname(), net.JoinHostPort(u.Hostname(), port), nil
}

// A publisher publishes to JetStream. It keeps one connection.
type publisher struct {
	*Outlet
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	turn chan struct{} // taken by who connects
	conn *nats.Conn
	with string // what it was connected with
}

func openNATS(o *Outlet) (sender, error) {
	return &publisher{Outlet: o, dial: o.cfg.Dial(4222), turn: make(chan struct{}, 1)}, nil
}

func (p *publisher) close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.conn != nil {
		p.conn.Close()
	}
	return nil
}

// A natsDialer opens the connections of one attempt to connect.
type natsDialer struct {
	ctx  context.Context // that attempt's, which it does not outlive
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	err  error // of the last one that could not be opened, of which the library does not always tell
}

// Dial implements [nats.CustomDialer].
func (d *natsDialer) Dial(network, address string) (conn net.Conn, err error) {
	conn, d.err = d.dial(d.ctx, network, address)
	return conn, d.err
}

// connected returns a connection, the one from before if it still works.
func (p *publisher) connected(ctx context.Context, f filled) (*nats.Conn, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	with := strings.Join([]string{f.url, f.settings["token"], f.settings["user"], f.settings["password"], f.settings["creds"], f.settings["nkey"]}, "\n")
	if p.conn != nil {
		if p.conn.IsConnected() && p.with == with {
			return p.conn, nil
		}
		p.conn.Close()
		p.conn = nil
	}
	host, _, err := withPort(f.url, "4222")
	if err != nil {
		return nil, err
	}
	login, err := natsLogin(f)
	if err != nil {
		return nil, err
	}
	dialer := &natsDialer{ctx: ctx, dial: p.dial}
	opts := []nats.Option{
		login, nats.Name("freshet sink " + p.sink.Name), nats.SetCustomDialer(dialer), nats.NoReconnect(), nats.IgnoreDiscoveredServers(),
		nats.Timeout(p.cfg.Timeout),
	}
	if strings.HasPrefix(f.url, "tls:") {
		opts = append(opts, nats.Secure(p.cfg.TLS(host)))
	}
	conn, err := nats.Connect(f.url, opts...)
	if errors.Is(err, nats.ErrNoServers) && dialer.err != nil {
		err = dialer.err
	}
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return nil, freshet.WithHint(fmt.Errorf("connect to NATS: %w", err), "check the settings that log in: user and password, token, creds or nkey")
	}
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	p.conn, p.with = conn, with
	return conn, nil
}

// natsLogin returns how to log in.
func natsLogin(f filled) (nats.Option, error) {
	switch {
	case f.settings["creds"] != "":
		return nats.UserCredentialBytes([]byte(f.settings["creds"])), nil
	case f.settings["token"] != "":
		return nats.Token(f.settings["token"]), nil
	case f.settings["nkey"] == "":
		return nats.UserInfo(f.settings["user"], f.settings["password"]), nil
	}
	key, err := nkeys.FromSeed([]byte(f.settings["nkey"]))
	if err != nil {
		return nil, invalid.Errorf("settings.nkey", "is not a seed such as SU...: %v", err)
	}
	public, err := key.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return nil, invalid.Errorf("settings.nkey", "is not the seed of a user, which begins with SU")
	}
	return nats.Nkey(public, key.Sign), nil
}

// publish makes one attempt over the connection that there is, or a new one.
func (p *publisher) publish(ctx context.Context, f filled, m Message) (*jetstream.PubAck, error) {
	conn, err := p.connected(ctx, f)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	return js.PublishMsg(ctx, &nats.Msg{
		Subject: named(f.settings["subject"], m, "."), Data: m.Body,
		Header: nats.Header{jetstream.MsgIDHeader: {m.ID}, "Content-Type": {eventMedia}},
	}, jetstream.WithRetryAttempts(0))
}

// send publishes under the id of the change: a stream that has it already drops it.
func (p *publisher) send(ctx context.Context, f filled, m Message) (string, error) {
	ack, err := p.publish(ctx, f, m)
	if errors.Is(err, nats.ErrConnectionClosed) { // that of before, meanwhile
		ack, err = p.publish(ctx, f, m)
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return "", &Refusal{Status: http.StatusRequestEntityTooLarge, Text: err.Error()}
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return "", freshet.WithHint(fmt.Errorf("no stream takes the subject: %w", err), "add the subject to a stream with: nats stream add")
	case err != nil:
		return "", err
	}
	answer := fmt.Sprintf("stream %s, sequence %d", ack.Stream, ack.Sequence)
	if ack.Duplicate {
		answer += ", which it had already"
	}
	return answer, nil
}
