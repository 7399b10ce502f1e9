package sinks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"freshet/internal/freshet"
)

// A producer produces to a topic of Kafka. It keeps one client.
type producer struct {
	*Outlet
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	turn   chan struct{} // taken by who makes a client
	client *kgo.Client
	with   string // what it was made with
}

func openKafka(o *Outlet) (sender, error) {
	return &producer{Outlet: o, dial: o.cfg.Dial(9092, 9093, 9094), turn: make(chan struct{}, 1)}, nil
}

func (p *producer) close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.client != nil {
		p.client.Close()
	}
	return nil
}

// connected returns the client, a new one if its settings are others now.
func (p *producer) connected(ctx context.Context, f filled) (*kgo.Client, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	with := strings.Join([]string{f.url, f.settings["sasl"], f.settings["user"], f.settings["password"]}, "\n")
	if p.client != nil && p.with == with {
		return p.client, nil
	}
	if p.client != nil {
		p.client.Close()
		p.client = nil
	}
	_, address, err := withPort(f.url, "9092")
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(address), kgo.ClientID("freshet"), kgo.Dialer(p.dialer(strings.HasPrefix(f.url, "kafkas:"))),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(p.cfg.Timeout),
	}
	if user := f.settings["user"]; user != "" {
		opts = append(opts, kgo.SASL(mechanism(f.settings["sasl"], user, f.settings["password"])))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	p.client, p.with = client, with
	return client, nil
}

// mechanism returns how to log in.
func mechanism(name, user, password string) sasl.Mechanism {
	switch name {
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}

// dialer opens connections to all brokers that the cluster names, by the rules that hold
// for the first.
func (p *producer) dialer(secure bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := p.dial(ctx, network, address)
		if err != nil || !secure {
			return conn, err
		}
		host, _, _ := net.SplitHostPort(address) // dial has split it already
		over := tls.Client(conn, p.cfg.TLS(host))
		if err := over.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, fmt.Errorf("TLS handshake with %s: %w", address, err)
		}
		return over, nil
	}
}

// send produces with the id of the source as key, so that its changes are in one partition
// and in order.
func (p *producer) send(ctx context.Context, f filled, m Message) (string, error) {
	client, err := p.connected(ctx, f)
	if err != nil {
		return "", err
	}
	r, err := client.ProduceSync(ctx, &kgo.Record{
		Topic: f.settings["topic"], Key: []byte(m.line()), Value: m.Body,
		Headers: []kgo.RecordHeader{{Key: "id", Value: []byte(m.ID)}, {Key: "content-type", Value: []byte(eventMedia)}},
	}).First()
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		return "", &Refusal{Status: http.StatusRequestEntityTooLarge, Text: err.Error()}
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return "", freshet.WithHint(err, "create the topic first; Freshet does not")
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("partition %d, offset %d", r.Partition, r.Offset), nil
}
