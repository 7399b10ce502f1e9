package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A huginnAgent is a step of a scenario.
type huginnAgent struct {
	Type     string         `json:"type"`
	Name     string         `json:"name"`
	Disabled bool           `json:"disabled"`
	Schedule string         `json:"schedule"`
	Options  map[string]any `json:"options"`
}

// A huginnFile is a scenario. Links say by their numbers which agents receive the events of others.
type huginnFile struct {
	Name   string        `json:"name"`
	Agents []huginnAgent `json:"agents"`
	Links  []struct {
		Source   int `json:"source"`
		Receiver int `json:"receiver"`
	} `json:"links"`
}

// eachAgent reads the agents of a scenario that poll a page or a feed.
func eachAgent(text string, o Options, yield func(Entry) error) error {
	var file huginnFile
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return fmt.Errorf("this is not a scenario of Huginn: %w", err)
	}
	for i, a := range file.Agents {
		kind := strings.TrimPrefix(a.Type, "Agents::")
		if kind != "WebsiteAgent" && kind != "RssAgent" {
			continue
		}
		for n, url := range textsOf(a.Options["url"]) { // without a URL, it takes that of the events that it receives
			e := a.entry(kind, url, o)
			file.notes(&e, i)
			if e.Path = fmt.Sprintf("agents[%d]", i); n > 0 {
				e.Path += fmt.Sprintf(".options.url[%d]", n)
			}
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry returns what becomes of an agent at one of its URLs.
func (a *huginnAgent) entry(kind, url string, o Options) (e Entry) {
	s := &e.Source
	s.URL, s.Name, s.Paused = url, nameOf(a.Name), a.Disabled
	if strings.Contains(url, "{{") || strings.Contains(url, "{%") {
		e.Err = fmt.Errorf("the URL is a Liquid template: %s", url)
		return e
	}
	e.every(scheduleOf(a.Schedule), o)
	e.headers(a.Options["headers"])
	if agent := textOf(a.Options["user_agent"]); agent != "" {
		e.header("User-Agent", agent)
	}
	if textOf(a.Options["basic_auth"]) != "" {
		e.notef("basic_auth is secret: freshet settings secret set NAME --host HOST, then freshet edit SOURCE --user 'USER:${secret:NAME}'")
	}
	if kind == "WebsiteAgent" {
		a.extract(&e)
	}
	return e
}

// extract carries over the values that an agent takes from a page.
func (a *huginnAgent) extract(e *Entry) {
	kind := textOf(a.Options["type"])
	named := asMap(a.Options["extract"])
	for _, name := range slices.Sorted(maps.Keys(named)) {
		rule := asMap(named[name])
		value := valueOf(kind, rule)
		if value == nil {
			e.notef("the value %s is not carried over: css, xpath, jsonpath and regex exist", name)
			continue
		}
		if e.Source.Extract == nil {
			e.Source.Extract = map[string]any{}
		}
		e.Source.Extract[fieldName(name)] = value
	}
	if template := asMap(a.Options["template"]); len(template) > 0 {
		e.notef("template is not carried over: a template of the sink says what is sent")
	}
}

// valueOf returns how a value is extracted; nil if it cannot be.
func valueOf(kind string, rule map[string]any) map[string]any {
	css, xpath, path, pattern, value := textOf(rule["css"]), textOf(rule["xpath"]), textOf(rule["path"]), textOf(rule["regexp"]), textOf(rule["value"])
	switch {
	case css != "" && strings.HasPrefix(value, "@"):
		return map[string]any{"css": css, "attr": strings.TrimPrefix(value, "@"), "as": "list"}
	case css != "":
		return map[string]any{"css": css, "as": "list"}
	case xpath != "" && strings.HasPrefix(value, "@"):
		return map[string]any{"xpath": xpath + "/" + value, "as": "list"}
	case xpath != "":
		return map[string]any{"xpath": xpath, "as": "list"}
	case kind == "json" && path != "":
		if !strings.HasPrefix(path, "$") {
			path = "$." + path
		}
		return map[string]any{"jsonpath": path, "as": "list"}
	case pattern != "":
		return map[string]any{"regex": pattern, "as": "list"}
	}
	return nil
}

// fieldName returns a name as one of an extracted value.
func fieldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// notes says which agents receive the events of one: what they do is not carried over.
func (f *huginnFile) notes(e *Entry, sender int) {
	for _, link := range f.Links {
		if link.Source != sender || link.Receiver < 0 || link.Receiver >= len(f.Agents) {
			continue
		}
		r := f.Agents[link.Receiver]
		kind, nearest := strings.TrimPrefix(r.Type, "Agents::"), "freshet sink add adds a receiver"
		switch kind {
		case "TriggerAgent", "EventFormattingAgent", "DeDuplicationAgent", "ChangeDetectorAgent", "JqAgent", "LiquidOutputAgent":
			nearest = "freshet query add --when CONDITION reports only such changes"
		}
		e.notef("%s %q receives its events and is not carried over: %s", kind, r.Name, nearest)
	}
}

// scheduleOf returns the time between two runs; zero if it is not a length of time.
func scheduleOf(schedule string) time.Duration {
	every, ok := strings.CutPrefix(schedule, "every_")
	if !ok {
		if strings.HasSuffix(schedule, "am") || strings.HasSuffix(schedule, "pm") || schedule == "midnight" || schedule == "noon" {
			return 24 * time.Hour
		}
		return 0
	}
	if days, ok := strings.CutSuffix(every, "d"); ok {
		d, _ := time.ParseDuration(days + "h")
		return 24 * d
	}
	d, _ := time.ParseDuration(every)
	return d
}
