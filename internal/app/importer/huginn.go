package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/lazyregexp"
)

// A huginnFile is a scenario: agents, and links that say by their numbers which of them receive the
// events of others.
type huginnFile struct {
	Agents []object `json:"agents"`
	Links  []object `json:"links"`
}

// liquid matches a tag of Liquid, also within a URL.
var liquid = lazyregexp.New(`\{%|%7B%25`)

// eachAgent reads the agents of a scenario that poll a page or a feed.
func eachAgent(text string, o Options, yield func(Entry)) error {
	var file huginnFile
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return fmt.Errorf("this is not a scenario of Huginn: %w", err)
	}
	for i, a := range file.Agents {
		kind := kindOf(a)
		if kind != "WebsiteAgent" && kind != "RssAgent" {
			continue
		}
		for n, url := range a.object("options").texts("url") { // without a URL, it takes that of the events that it receives
			e := Entry{Path: fmt.Sprintf("agents[%d]", i)}
			if n > 0 {
				e.Path += fmt.Sprintf(".options.url[%d]", n)
			}
			e.agent(a, url, o)
			file.follow(&e, i, kind == "RssAgent", map[int]bool{i: true})
			yield(e)
		}
	}
	return nil
}

func kindOf(agent object) string { return strings.TrimPrefix(agent.text("type"), "Agents::") }

// agent carries over an agent at one of its URLs.
func (e *Entry) agent(a object, url string, o Options) {
	s, options := &e.Source, a.object("options")
	s.URL, s.Name, s.Paused = url, nameOf(a.text("name")), a.on("disabled")
	if strings.Contains(url, "{{") || strings.Contains(url, "{%") {
		e.Err = fmt.Errorf("the URL is a Liquid template: %s", url)
		return
	}
	e.every(scheduleOf(a.text("schedule")), o)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		e.option(key, options[key])
	}
	if kindOf(a) == "WebsiteAgent" {
		e.values(options)
	}
}

// agentOptions are the options of an agent that say nothing about what is watched, or are carried over with others.
const agentOptions = " url url_from_event data_from_event type mode extract expected_update_period_in_days uniqueness_look_back include_repeats clean include_feed_info" +
	" include_sort_info max_events_per_run remembered_id_count events_order events_list_order disable_url_encoding faraday_backend event_headers_key "

// lostFromAgents are the options of an agent that have no counterpart, with the nearest that exists.
var lostFromAgents = map[string]string{
	"template": sentByTemplate, "event_headers": "freshet cat --headers SOURCE shows the headers of a response", "disable_ssl_verification": noUnverified,
	"force_encoding": encodingIsFound, "disable_redirect_follow": redirected,
}

const sentByTemplate = "a template of the sink says what is sent"

// option carries over an option of an agent.
func (e *Entry) option(key string, value any) {
	switch text := textOf(value); key {
	case "headers":
		e.headers(value)
	case "user_agent":
		e.header("User-Agent", text)
	case "basic_auth":
		e.credentials(key)
	case "proxy":
		e.proxy(text)
	case "unzip":
		e.step("decode", text)
	case "http_success_codes":
		status := []any{200}
		for _, code := range textsOf(value) {
			status = append(status, int(numberOf(code)))
		}
		e.Source.Expect = map[string]any{"status": status}
	default:
		e.unknown(key, value, agentOptions, lostFromAgents)
	}
}

// values carries over the values that an agent takes from a page.
func (e *Entry) values(options object) {
	named := options.object("extract")
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if value := valueOf(options.text("type"), named.object(name)); value != nil {
			e.extract(fieldName(name), value)
		} else {
			e.lost("the value "+name, "css, xpath, jsonpath and regex exist")
		}
	}
}

// valueOf returns how a value is extracted; nil if it cannot be.
func valueOf(kind string, rule object) map[string]any {
	attribute, isAttribute := strings.CutPrefix(rule.text("value"), "@")
	for _, by := range []string{"css", "xpath", "path", "regexp"} {
		value, selector := map[string]any{"as": "list"}, rule.text(by)
		switch {
		case selector == "" || by == "path" && kind != "json":
			continue
		case by == "css" && isAttribute:
			value["attr"] = attribute
		case by == "xpath" && isAttribute:
			selector += "/@" + attribute
		case by == "path" && !strings.HasPrefix(selector, "$"):
			selector = "$." + selector
		}
		if by == "path" {
			selector = strings.ReplaceAll(selector, "$.[", "$[")
		}
		value[map[string]string{"css": "css", "xpath": "xpath", "path": "jsonpath", "regexp": "regex"}[by]] = selector
		return value
	}
	return nil
}

// fieldName returns a name as one of an extracted value.
func fieldName(name string) string {
	return strings.Map(func(r rune) rune {
		if isWordRune(r) {
			return r
		}
		return '_'
	}, name)
}

// follow carries over the agents that receive the events of one, and those that receive theirs: what
// they let through, and whom they notify.
func (f *huginnFile) follow(e *Entry, sender int, feed bool, seen map[int]bool) {
	for _, link := range f.Links {
		receiver := int(numberOf(link["receiver"]))
		if int(numberOf(link["source"])) != sender || receiver < 0 || receiver >= len(f.Agents) || seen[receiver] {
			continue
		}
		seen[receiver] = true
		a := f.Agents[receiver]
		kind, name := kindOf(a), a.text("name")
		switch kind {
		case "TriggerAgent":
			e.rules(a, feed)
		case "DeDuplicationAgent", "ChangeDetectorAgent": // only changes are reported
		case "EventFormattingAgent", "LiquidOutputAgent", "JqAgent":
			e.lost(fmt.Sprintf("%s %q", kind, name), sentByTemplate)
		default:
			if list, err := sinksOf(kind, a.object("options")); err == nil && !liquid.MatchString(inJSON(list)) {
				for _, s := range list {
					e.Receivers = append(e.Receivers, Receiver{Sink: s})
				}
				continue
			}
			e.lost(fmt.Sprintf("%s %q", kind, name), "freshet sink add adds a receiver of changes")
		}
		f.follow(e, receiver, feed, seen)
	}
}

// rules carries over which events an agent lets through. Those of a feed are its new items.
func (e *Entry) rules(a object, feed bool) {
	for _, one := range a.object("options").list("rules") {
		rule := objectOf(one)
		name, operator, value := rule.text("path"), rule.text("type"), strings.Join(rule.texts("value"), "|") // any of several
		condition := ""
		switch field := fieldName(name); {
		case value == "":
		case feed:
			condition = itemCondition(name, operator, value)
		case e.Source.Extract[field] != nil:
			condition = fieldCondition(e.Source.Extract, field, operator, value)
		}
		if condition == "" {
			e.lost(fmt.Sprintf("the rule %s %s %s of TriggerAgent %q", name, operator, value, a.text("name")), "freshet query add --when CONDITION reports only such changes")
			continue
		}
		e.only(condition)
	}
}

// itemCondition returns the condition that a new item of a feed matches a rule.
func itemCondition(name, operator, value string) string {
	member := map[string]string{"title": "i.title", "description": "i.text", "content": "i.text", "url": "i.link", "fulltext": "i.text"}[name]
	not, isPattern := strings.CutSuffix(operator, "regex")
	if member == "" || !isPattern {
		return ""
	}
	return "items.added.exists(i, " + not + member + ".matches(" + inJSON("(?i)"+goPattern(value, true)) + "))"
}

// fieldCondition returns the condition that a value of the page matches a rule. What is compared
// becomes a number.
func fieldCondition(extract map[string]any, field, operator, value string) string {
	if not, isPattern := strings.CutSuffix(operator, "regex"); isPattern {
		return "now." + field + ".exists(x, " + not + "x.matches(" + inJSON("(?i)"+goPattern(value, true)) + "))"
	}
	comparison := strings.TrimSuffix(strings.TrimPrefix(operator, "field"), "value")
	if _, err := strconv.ParseFloat(value, 64); err != nil || !slices.Contains([]string{"<", "<=", "==", "!=", ">=", ">"}, comparison) {
		return ""
	}
	how, _ := extract[field].(map[string]any)
	how["as"] = "number"
	return "now." + field + " " + comparison + " " + value
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
