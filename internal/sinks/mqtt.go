package sinks

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"freshet/internal/freshet"
)

// A topical publishes to an MQTT broker over one connection, which it keeps.
type topical struct {
	*Outlet
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	turn chan struct{} // taken by who connects
	link *link         // nil if there is none
	with string        // what it was connected with
}

// A link is a connection to a broker.
type link struct {
	*paho.Client
	conn net.Conn
}

func openMQTT(o *Outlet) (sender, error) {
	return &topical{Outlet: o, dial: o.cfg.Dial(1883, 8883), turn: make(chan struct{}, 1)}, nil
}

func (t *topical) close() error {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	t.leave()
	return nil
}

// leave ends the connection.
func (t *topical) leave() {
	if t.link == nil {
		return
	}
	_ = t.link.conn.SetWriteDeadline(time.Now().Add(time.Second)) // a broker that is stuck holds nobody up
	_ = t.link.Disconnect(&paho.Disconnect{})                     // whatever it was sent has been acknowledged or will be sent again
	t.link = nil
}

// send publishes a message to the topic of the sink.
func (t *topical) send(ctx context.Context, f filled, m Message) (string, error) {
	return t.publish(ctx, f, &paho.Publish{
		Topic: named(f.settings["topic"], m, "/"), Payload: m.Body, Retain: f.settings["retain"] == "true",
		Properties: &paho.PublishProperties{ContentType: eventMedia, User: paho.UserProperties{{Key: "id", Value: m.ID}}},
	})
}

// publish publishes with quality of service 1: the broker acknowledges the message.
func (t *topical) publish(ctx context.Context, f filled, p *paho.Publish) (string, error) {
	l, kept, err := t.connected(ctx, f, nil)
	if err != nil {
		return "", err
	}
	p.QoS = 1
	said, err := l.try(ctx, p)
	if err != nil && said == nil && kept && ctx.Err() == nil { // the connection is broken: the broker was restarted, or a router forgot it
		if l, _, err = t.connected(ctx, f, l); err != nil {
			return "", err
		}
		said, err = l.try(ctx, p)
	}
	switch {
	case err != nil && said == nil:
		t.drop(l)
		return "", fmt.Errorf("publish to MQTT: %w", err)
	case err != nil:
		return "", refusedPublish(said.ReasonCode, err)
	}
	return fmt.Sprintf("acknowledged with reason %#x", said.ReasonCode), nil
}

// try makes one attempt. A connection over which it takes too long is closed; and it ends with
// the connection, which the library does not see to if that breaks at the wrong moment.
func (l *link) try(ctx context.Context, p *paho.Publish) (*paho.PublishResponse, error) {
	stop := context.AfterFunc(ctx, func() { l.conn.Close() })
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-l.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return l.Publish(ctx, p)
}

// drop ends a connection that does not answer, if it is the one that is kept.
func (t *topical) drop(l *link) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	if t.link == l {
		t.leave()
	}
}

// connected returns a connection, and whether it is the one from before. It is not one that
// is known to be broken.
func (t *topical) connected(ctx context.Context, f filled, broken *link) (l *link, kept bool, err error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	with := strings.Join([]string{f.url, f.settings["user"], f.settings["password"]}, "\n")
	if t.link != nil && t.link != broken && t.with == with {
		select {
		case <-t.link.Done():
		default:
			return t.link, true, nil
		}
	}
	t.leave()
	if l, err = t.greet(ctx, f); err != nil {
		return nil, false, err
	}
	t.link, t.with = l, with
	return l, false, nil
}

// greet connects and logs in.
func (t *topical) greet(ctx context.Context, f filled) (*link, error) {
	conn, err := t.reach(ctx, f)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	c := paho.NewClient(paho.ClientConfig{Conn: packets.NewThreadSafeConn(conn), PacketTimeout: t.cfg.Timeout})
	few := uint16(10) // it is sent nothing, and makes room for 65535 messages otherwise
	hello := &paho.Connect{ClientID: "freshet-" + rand.Text()[:12], CleanStart: true, KeepAlive: 30, Properties: &paho.ConnectProperties{ReceiveMaximum: &few}}
	if user := f.settings["user"]; user != "" {
		hello.UsernameFlag, hello.Username = true, user
		hello.PasswordFlag, hello.Password = true, []byte(f.settings["password"])
	}
	if ack, err := c.Connect(ctx, hello); err != nil {
		conn.Close()
		if ack != nil {
			return nil, refusedConnect(ack.ReasonCode, err)
		}
		return nil, fmt.Errorf("connect to MQTT: %w", err)
	}
	return &link{c, conn}, nil
}

// reach opens a connection to the broker.
func (t *topical) reach(ctx context.Context, f filled) (net.Conn, error) {
	secure := strings.HasPrefix(f.url, "mqtts:")
	host, address, err := withPort(f.url, map[bool]string{true: "8883", false: "1883"}[secure])
	if err != nil {
		return nil, err
	}
	conn, err := t.dial(ctx, "tcp", address)
	if err != nil || !secure {
		return conn, err
	}
	over := tls.Client(conn, t.cfg.TLS(host))
	if err := over.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS handshake with %s: %w", address, err)
	}
	return over, nil
}

// Reasons of MQTT 5 that something can be done about.
const (
	reasonVersion  = 0x84
	reasonPassword = 0x86
	reasonDenied   = 0x87
	reasonTopic    = 0x90
)

// refusedConnect says what can be done if a broker wants no connection.
func refusedConnect(reason byte, err error) error {
	err = fmt.Errorf("the broker refused the connection with reason %#x: %w", reason, err)
	switch reason {
	case reasonPassword, reasonDenied:
		return freshet.WithHint(err, "check the settings user and password")
	case reasonVersion:
		return freshet.WithHint(err, "the broker has to speak MQTT 5")
	}
	return err
}

// refusedPublish says what can be done if a broker wants no message.
func refusedPublish(reason byte, err error) error {
	err = fmt.Errorf("the broker refused the message with reason %#x: %w", reason, err)
	if reason == reasonDenied || reason == reasonTopic {
		return freshet.WithHint(err, "check the topic, and what the broker lets this user publish to")
	}
	return err
}
