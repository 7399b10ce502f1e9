package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/client"
)

// A huginnAgent is a step of a scenario.
type huginnAgent struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Disabled bool   `json:"disabled"`
	Schedule string `json:"schedule"`
	Options  object `json:"options"`
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
		kind := a.kind()
		if kind != "WebsiteAgent" && kind != "RssAgent" {
			continue
		}
		for n, url := range a.Options.texts("url") { // without a URL, it takes that of the events that it receives
			e := a.entry(kind, url, o)
			file.follow(&e, i, kind == "RssAgent", map[int]bool{i: true})
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

func (a *huginnAgent) kind() string { return strings.TrimPrefix(a.Type, "Agents::") }

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
	if agent := a.Options.text("user_agent"); agent != "" {
		e.header("User-Agent", agent)
	}
	if a.Options["basic_auth"] != nil {
		e.credentials("basic_auth")
	}
	if kind == "WebsiteAgent" {
		a.extract(&e)
	}
	return e
}

// extract carries over the values that an agent takes from a page.
func (a *huginnAgent) extract(e *Entry) {
	kind := a.Options.text("type")
	named := a.Options.object("extract")
	for _, name := range slices.Sorted(maps.Keys(named)) {
		rule := named.object(name)
		value := valueOf(kind, rule)
		if value == nil {
			e.lost("the value "+name, "css, xpath, jsonpath and regex exist")
			continue
		}
		if e.Source.Extract == nil {
			e.Source.Extract = map[string]any{}
		}
		e.Source.Extract[fieldName(name)] = value
	}
	if len(a.Options.object("template")) > 0 {
		e.lost("template", "a template of the sink says what is sent")
	}
}

// valueOf returns how a value is extracted; nil if it cannot be.
func valueOf(kind string, rule object) map[string]any {
	css, xpath, path, pattern, value := rule.text("css"), rule.text("xpath"), rule.text("path"), rule.text("regexp"), rule.text("value")
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

// follow carries over the agents that receive the events of one, and those that receive theirs: what
// they let through, and whom they notify.
func (f *huginnFile) follow(e *Entry, sender int, feed bool, seen map[int]bool) {
	for _, link := range f.Links {
		if link.Source != sender || link.Receiver < 0 || link.Receiver >= len(f.Agents) || seen[link.Receiver] {
			continue
		}
		seen[link.Receiver] = true
		a := &f.Agents[link.Receiver]
		kind := a.kind()
		switch kind {
		case "TriggerAgent":
			a.carryRules(e, feed)
		case "DeDuplicationAgent", "ChangeDetectorAgent": // only changes are reported
		case "EventFormattingAgent", "LiquidOutputAgent", "JqAgent":
			e.lost(fmt.Sprintf("%s %q", kind, a.Name), "a template of the sink says what is sent")
		default:
			if r, ok := a.receiver(kind); ok {
				e.Receivers = append(e.Receivers, r)
				continue
			}
			e.lost(fmt.Sprintf("%s %q", kind, a.Name), "freshet sink add adds a receiver of changes")
		}
		f.follow(e, link.Receiver, feed, seen)
	}
}

// receiver returns the sink for an agent that notifies somebody.
func (a *huginnAgent) receiver(kind string) (r Receiver, ok bool) {
	o := a.Options
	switch kind {
	case "SlackAgent":
		r.Sink = client.NewSink{Kind: "slack", URL: literal(o.text("webhook_url"))}
	case "PostAgent":
		r.Sink = client.NewSink{Kind: "json", URL: literal(o.text("post_url"))}
	case "PushoverAgent":
		r.Sink.URL = literal("pover://" + url.PathEscape(o.text("user")) + "@" + url.PathEscape(o.text("token")))
	case "PushbulletAgent":
		r.Sink.URL = literal("pbul://" + url.PathEscape(o.text("api_key")))
	case "TelegramAgent":
		r.Sink = client.NewSink{Kind: "telegram", Settings: map[string]string{"token": literal(o.text("auth_token")), "chat": literal(o.text("chat_id"))}}
	default:
		return r, false
	}
	return r, !strings.Contains(r.Sink.URL+r.Sink.Settings["token"], "{%")
}

// carryRules carries over which events an agent lets through. Those of a feed are its new items.
func (a *huginnAgent) carryRules(e *Entry, feed bool) {
	for _, one := range a.Options.list("rules") {
		rule := objectOf(one)
		name, operator, value := rule.text("path"), rule.text("type"), rule.text("value")
		condition := ""
		switch field := fieldName(name); {
		case feed:
			condition = itemCondition(name, operator, value)
		case e.Source.Extract[field] != nil:
			condition = fieldCondition(e.Source.Extract, field, operator, value)
		}
		if condition == "" {
			e.lost(fmt.Sprintf("the rule %s %s %s of TriggerAgent %q", name, operator, value, a.Name), "freshet query add --when CONDITION reports only such changes")
			continue
		}
		e.only(condition)
	}
}

// itemCondition returns the condition that a new item of a feed matches a rule.
func itemCondition(name, operator, value string) string {
	member := map[string]string{"title": "i.title", "description": "i.text", "content": "i.text", "url": "i.link", "fulltext": "i.text"}[name]
	if member == "" || operator != "regex" && operator != "!regex" {
		return ""
	}
	return "items.added.exists(i, " + negated(operator) + member + ".matches(" + inJSON("(?i)"+goPattern(value, true)) + "))"
}

// fieldCondition returns the condition that a value of the page matches a rule. What is compared
// becomes a number.
func fieldCondition(extract map[string]any, field, operator, value string) string {
	switch comparison := strings.TrimPrefix(operator, "field"); {
	case operator == "regex" || operator == "!regex":
		return "now." + field + ".exists(x, " + negated(operator) + "x.matches(" + inJSON("(?i)"+goPattern(value, true)) + "))"
	case comparison == "<" || comparison == "<=" || comparison == "==" || comparison == "!=" || comparison == ">=" || comparison == ">":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return ""
		}
		how, _ := extract[field].(map[string]any)
		how["as"] = "number"
		return "now." + field + " " + comparison + " " + value
	}
	return ""
}

// negated returns the sign of a negated operator.
func negated(operator string) string {
	if strings.HasPrefix(operator, "!") {
		return "!"
	}
	return ""
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
