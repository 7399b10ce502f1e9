package sink

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/eclipse/paho.golang/paho"
)

// A topical publishes to an MQTT broker, each message over a connection of its own.
type topical struct {
	*Outlet
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func openMQTT(o *Outlet) (sender, error) { return &topical{o, o.cfg.Dial(1883, 8883)}, nil }

func (t *topical) close() error { return nil }

// send publishes with quality of service 1: the broker says that it has the message.
func (t *topical) send(ctx context.Context, f filled, m Message) (string, error) {
	secure := strings.HasPrefix(f.url, "mqtts:")
	host, address, err := withPort(f.url, map[bool]string{true: "8883", false: "1883"}[secure])
	if err != nil {
		return "", err
	}
	conn, err := t.dial(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if secure {
		over := tls.Client(conn, t.cfg.TLS(host))
		if err := over.HandshakeContext(ctx); err != nil {
			return "", fmt.Errorf("TLS handshake with %s: %w", address, err)
		}
		conn = over
	}
	c := paho.NewClient(paho.ClientConfig{Conn: conn})
	hello := &paho.Connect{ClientID: "freshet-" + rand.Text()[:12], CleanStart: true, KeepAlive: 30}
	if user := f.settings["user"]; user != "" {
		hello.UsernameFlag, hello.Username = true, user
		hello.PasswordFlag, hello.Password = true, []byte(f.settings["password"])
	}
	if ack, err := c.Connect(ctx, hello); err != nil {
		if ack != nil {
			return "", fmt.Errorf("the broker refused the connection with reason %#x: %w", ack.ReasonCode, err)
		}
		return "", fmt.Errorf("connect to MQTT: %w", err)
	}
	said, err := c.Publish(ctx, &paho.Publish{
		QoS: 1, Topic: named(f.settings["topic"], m.Source, "/"), Payload: m.Body, Retain: f.settings["retain"] == "true",
		Properties: &paho.PublishProperties{ContentType: eventMedia, User: paho.UserProperties{{Key: "id", Value: m.ID}}},
	})
	if err != nil {
		return "", fmt.Errorf("publish to MQTT: %w", err)
	}
	_ = c.Disconnect(&paho.Disconnect{}) // it has the message, whatever it says now
	return fmt.Sprintf("acknowledged with reason %#x", said.ReasonCode), nil
}
