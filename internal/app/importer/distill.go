package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// distillActive are the states of a monitor that is not switched off.
var distillActive = []string{"", "0", "40"}

// eachMonitor reads an export of Distill.
func eachMonitor(text string, o Options, yield func(Entry)) error {
	var file struct {
		Data []object `json:"data"`
	}
	if json.Unmarshal([]byte(text), &file.Data) != nil { // or a list of monitors
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			return fmt.Errorf("this is not what Distill exports: %w", err)
		}
	}
	for i, m := range file.Data {
		e := Entry{Path: fmt.Sprintf("data[%d]", i)}
		e.monitor(m, o)
		yield(e)
	}
	return nil
}

// monitor carries over a page as Distill has it. Its config and schedule are JSON within JSON.
func (e *Entry) monitor(m object, o Options) {
	s := &e.Source
	if s.URL, s.Name = m.text("uri"), nameOf(m.text("name")); s.URL == "" {
		e.Err = errors.New("the monitor has no uri")
		return
	}
	for _, tag := range m.list("tags") {
		s.Tags = append(s.Tags, tagsOf(cmp.Or(textOf(tag), objectOf(tag).text("name")))...)
	}
	s.Paused = !slices.Contains(distillActive, m.text("state"))
	var config, schedule object
	if text := m.text("config"); text != "" && json.Unmarshal([]byte(text), &config) != nil {
		e.lost("config", "it is not the JSON that Distill writes")
	}
	e.selections(config)
	text := m.text("schedule")
	_ = json.Unmarshal([]byte(text), &schedule)
	if seconds := numberOf(schedule.object("params")["interval"]); seconds > 0 && schedule.text("type") == "INTERVAL" {
		e.every(time.Duration(seconds*float64(time.Second)), o)
	} else if text != "" {
		e.lost("the schedule "+text, "active says when a source is polled, strategy names the times of polls")
	}
	for _, lost := range []struct{ key, nearest string }{
		{"rules", "freshet query add --when CONDITION reports only such changes"}, {"actions", "freshet sink add adds a receiver"},
	} {
		if m[lost.key] != nil {
			e.lost(lost.key+" "+inJSON(m[lost.key]), lost.nearest)
		}
	}
}

// selections carries over what is compared.
func (e *Entry) selections(config object) {
	var include, exclude []string
	for _, one := range config.list("selections") {
		selection := objectOf(one)
		if selection.on("dynamic") {
			e.Source.Render = true
			if delay, _ := selection["delay"].(float64); delay > 0 {
				e.Source.Render = map[string]any{"steps": []any{map[string]any{"wait": fmt.Sprintf("%gs", delay)}}}
			}
		}
		for _, one := range selection.list("frames") {
			frame := objectOf(one)
			include = append(include, e.selectorTexts(frame.list("includes"))...)
			exclude = append(exclude, e.selectorTexts(frame.list("excludes"))...)
		}
	}
	if len(exclude) > 0 {
		e.step("drop", selectorsOf(exclude))
	}
	e.selectors(include)
	if attribute := config.text("dataAttr"); attribute != "" && attribute != "text" {
		e.lost("dataAttr "+attribute, "the text is compared; css: SELECTOR@ATTRIBUTE keeps an attribute")
	}
	if config.on("includeStyle") {
		e.lost("includeStyle", "the text is compared")
	}
	if pattern := config.object("regexp").text("expr"); pattern != "" {
		e.step("regex", map[string]any{"pattern": goPattern(pattern, false), "group": 0})
	}
}

// selectorTexts returns selectors as [Entry.selectors] takes them.
func (e *Entry) selectorTexts(list []any) (texts []string) {
	for _, one := range list {
		s := objectOf(one)
		switch kind, expr := s.text("type"), s.text("expr"); kind {
		case "xpath":
			texts = append(texts, "xpath:"+expr)
		case "css":
			texts = append(texts, expr)
		default:
			e.lost(fmt.Sprintf("a selector of the type %q", kind), "css and xpath exist")
		}
	}
	return texts
}
