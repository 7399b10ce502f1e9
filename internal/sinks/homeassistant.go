package sinks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/eclipse/paho.golang/paho"

	"freshet/internal/invalid"
)

// homeAssistantKind makes each source a device of Home Assistant by MQTT discovery, with its last change
// and each of its named values as a sensor.
var homeAssistantKind = &kind{
	Kind: Kind{Name: "homeassistant", About: "the MQTT 5 broker of Home Assistant: each source becomes a device, each named value a sensor", URL: "mqtt://mqtt.example:1883", Settings: []Setting{
		{Name: "user", About: "name at the broker"}, {Name: "password", About: "of the user", Secret: true},
		{Name: "discovery", About: "discovery prefix of Home Assistant; homeassistant is the default"}, {Name: "topic", About: "prefix of the topics of states; freshet is the default"},
	}},
	schemes: []string{"mqtt", "mqtts"}, check: checkHomeAssistant, frame: frameHomeAssistant, open: openHomeAssistant,
}

func checkHomeAssistant(s Sink) error {
	if s.Template != "" {
		return invalid.Errorf("template", "a sink of the kind homeassistant has none: Home Assistant prescribes the messages")
	}
	for _, name := range []string{"discovery", "topic"} {
		if topic := string(s.Settings[name]); strings.ContainsAny(topic, "+#\x00") || strings.Trim(topic, "/") != topic {
			return invalid.Errorf("settings."+name, "%q is not a prefix of topics such as freshet", topic)
		}
	}
	return nil
}

// A publication is a retained message. Home Assistant gets it again after a restart.
type publication struct {
	Topic   string `json:"topic"`
	Payload string `json:"payload"`
}

// A sensor is a configuration message of MQTT discovery.
type sensor struct {
	Name       string `json:"name"`
	UniqueID   string `json:"unique_id"`
	Topic      string `json:"state_topic"`
	Class      string `json:"device_class,omitempty"`
	StateClass string `json:"state_class,omitempty"`
	Attributes string `json:"json_attributes_topic,omitempty"`
	Device     device `json:"device"`
	Origin     origin `json:"origin"`
}

type device struct {
	IDs  []string `json:"identifiers"`
	Name string   `json:"name"`
	URL  string   `json:"configuration_url,omitempty"`
}

type origin struct {
	Name string `json:"name"`
}

// frameHomeAssistant renders what is published of an event: of each change the configuration and the
// state of each sensor, in this order.
func frameHomeAssistant(o *Outlet, e *Event, _ string) ([]byte, error) {
	all := []publication{}
	entries := e.Entries
	if e.Kind != kindDigest {
		entries = []*Event{e}
	}
	for _, entry := range entries {
		if entry.Source == "" {
			continue
		}
		published, err := sensorsOf(o.sink, entry)
		if err != nil {
			return nil, err
		}
		all = append(all, published...)
	}
	return json.Marshal(all)
}

// sensorsOf returns the publications of one change.
func sensorsOf(s Sink, e *Event) (all []publication, err error) {
	node := "freshet_" + word(string(e.Source))
	states := cmp.Or(string(s.Settings["topic"]), "freshet") + "/" + word(string(e.Source)) + "/"
	dev := device{IDs: []string{node}, Name: cmp.Or(e.Name, e.Title), URL: webAddress(e.URL)}
	add := func(id, state string, c sensor) {
		c.UniqueID, c.Topic, c.Device, c.Origin = node+"_"+id, states+id, dev, origin{"Freshet"}
		config, fault := json.Marshal(c)
		err = cmp.Or(err, fault)
		all = append(all, publication{cmp.Or(string(s.Settings["discovery"]), "homeassistant") + "/sensor/" + node + "/" + id + "/config", string(config)}, publication{c.Topic, state})
	}
	details, err := json.Marshal(map[string]any{"summary": e.Summary, "url": e.URL, "version": e.Number})
	if err != nil {
		return nil, err
	}
	all = append(all, publication{states + "details", string(details)})
	add("changed", e.Before.UTC().Format(time.RFC3339), sensor{Name: "Last change", Class: "timestamp", Attributes: states + "details"})
	for _, f := range e.Fields {
		c := sensor{Name: f.Name}
		if _, number := f.To.(float64); number {
			c.StateClass = "measurement"
		}
		add("value_"+word(f.Name), stateOf(f.To), c)
	}
	return all, err
}

// mostState is how many characters a state of Home Assistant has at most.
const mostState = 255

// stateOf returns a value as a state.
func stateOf(v any) string {
	state, isText := v.(string)
	if !isText {
		text, err := json.Marshal(v)
		if state = string(text); err != nil || v == nil {
			return "None" // unknown
		}
	}
	if runes := []rune(state); len(runes) > mostState {
		return string(runes[:mostState-1]) + "…"
	}
	return state
}

// word returns a text as a part of a topic and of an ID: letters, digits, - and _. Different texts have
// different words.
func word(text string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text)
	if kept == text {
		return text
	}
	return fmt.Sprintf("%s_%08x", kept, uint32(xxhash.Sum64String(text)))
}

// webAddress returns a URL that Home Assistant takes as a link; "" if it takes no such one.
func webAddress(url string) string {
	if strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return url
	}
	return ""
}

// An assistant publishes all that a message holds.
type assistant struct{ *topical }

func openHomeAssistant(o *Outlet) (sender, error) {
	t, err := openMQTT(o)
	if err != nil {
		return nil, err
	}
	return assistant{t.(*topical)}, nil
}

func (a assistant) send(ctx context.Context, f filled, m Message) (answer string, err error) {
	var all []publication
	if err := json.Unmarshal(m.Body, &all); err != nil {
		return "", fmt.Errorf("event %s as it was kept: %w", m.ID, err)
	}
	for _, p := range all {
		answer, err = a.publish(ctx, f, &paho.Publish{
			Topic: p.Topic, Payload: []byte(p.Payload), Retain: true,
			Properties: &paho.PublishProperties{User: paho.UserProperties{{Key: "id", Value: m.ID}}},
		})
		if err != nil {
			return "", err
		}
	}
	return cmp.Or(answer, "nothing to publish"), nil
}
