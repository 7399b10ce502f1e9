package sinks_test

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
)

// retained returns what a broker sends a client that subscribes to everything, by topic, once it has
// so many messages.
func retained(t *testing.T, address string, count int) map[string]string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan *paho.Publish, 100)
	c := paho.NewClient(paho.ClientConfig{Conn: conn, OnPublishReceived: []func(paho.PublishReceived) (bool, error){
		func(r paho.PublishReceived) (bool, error) { came <- r.Packet; return true, nil },
	}})
	if _, err := c.Connect(t.Context(), &paho.Connect{ClientID: "reader", CleanStart: true, UsernameFlag: true, Username: "me", PasswordFlag: true, Password: []byte("pass-word")}); err != nil {
		t.Fatal(err)
	}
	defer c.Disconnect(&paho.Disconnect{})
	if _, err := c.Subscribe(t.Context(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "freshet/#"}, {Topic: "homeassistant/#"}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	kept := map[string]string{}
	for len(kept) < count {
		select {
		case p := <-came:
			if !p.Retain {
				t.Errorf("%s is not retained", p.Topic)
			}
			kept[p.Topic] = string(p.Payload)
		case <-ctx.Done():
			t.Fatalf("the broker has retained %d messages, want %d: %v", len(kept), count, kept)
		}
	}
	return kept
}

// A source becomes a device of Home Assistant, and its values become sensors, whose states the broker
// retains.
func TestHomeAssistant(t *testing.T) {
	address, _ := serveMQTT(t, "127.0.0.1:0", nil, &arrivedHook{})
	o := opened(t, sinks.Sink{Name: "ha", Kind: "homeassistant", URL: profile.Value("mqtt://" + address), Settings: values{"user": "me", "password": "pass-word"}}, trusting(nil))
	c, texts := sinks.Sample("1", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	c.Source, c.Label.Name = "red.kettle", "Red kettle"
	c.Details.Fields = []freshet.FieldChange{
		{Name: "price", From: 12.0, To: 9.5}, {Name: "in stock?", From: "no", To: strings.Repeat("ü", 300)}, {Name: "in_stock_", From: "x", To: nil},
	}
	body, err := o.Render(t.Context(), c, texts)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeated delivery changes nothing
		if _, err := o.Send(t.Context(), sinks.Message{ID: "a", Source: c.Source, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	kept := retained(t, address, 9)
	names := map[string]string{}
	for topic, text := range kept {
		if !strings.HasSuffix(topic, "/config") {
			continue
		}
		var config struct {
			Name       string         `json:"name"`
			ID         string         `json:"unique_id"`
			State      string         `json:"state_topic"`
			Class      string         `json:"device_class"`
			StateClass string         `json:"state_class"`
			Attributes string         `json:"json_attributes_topic"`
			Device     map[string]any `json:"device"`
			Origin     map[string]any `json:"origin"`
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&config); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		parts := strings.Split(topic, "/")
		if len(parts) != 5 || parts[0] != "homeassistant" || parts[1] != "sensor" || strings.ContainsFunc(parts[2]+parts[3], func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r)
		}) {
			t.Errorf("Home Assistant does not take the topic %s", topic)
		}
		if config.ID != parts[2]+"_"+parts[3] || config.Device["name"] != "Red kettle" || config.Device["configuration_url"] != "https://sample.example/page" || config.Origin["name"] != "Freshet" {
			t.Errorf("the sensor of %s is %s", topic, text)
		}
		if (config.StateClass == "measurement") != (config.Name == "price") || (config.Class == "timestamp") != (config.Name == "Last change") {
			t.Errorf("the sensor %s has the classes %q and %q", config.Name, config.Class, config.StateClass)
		}
		if config.Attributes != "" && !strings.Contains(kept[config.Attributes], `"summary":"+1 -1 line: Price: 9.50"`) {
			t.Errorf("the attributes are %q", kept[config.Attributes])
		}
		names[config.Name] = kept[config.State]
	}
	if len(names) != 4 || names["Last change"] != "2026-03-01T12:00:00Z" || names["price"] != "9.5" || names["in_stock_"] != "None" || len([]rune(names["in stock?"])) != 255 {
		t.Errorf("the states are %v", names)
	}
}

// Settings that Home Assistant or a broker would refuse are refused at once.
func TestHomeAssistantSettings(t *testing.T) {
	for _, s := range []sinks.Sink{
		{Settings: values{"discovery": "home/#"}}, {Settings: values{"topic": "/freshet"}}, {Template: "{{.Summary}}"}, {URL: "https://ha.example/"},
	} {
		s.Name, s.Kind = "ha", "homeassistant"
		if s.URL == "" {
			s.URL = "mqtt://mqtt.example"
		}
		if _, err := sinks.Check(sinks.Config{}, s); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if !slices.ContainsFunc(sinks.Kinds(), func(k sinks.Kind) bool { return k.Name == "homeassistant" }) {
		t.Error("the kind is not listed")
	}
}
