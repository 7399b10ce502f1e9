package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A distillMonitor is a page as Distill has it. Config and schedule are JSON within JSON.
type distillMonitor struct {
	Name     string `json:"name"`
	URI      string `json:"uri"`
	Config   string `json:"config"`
	Tags     []any  `json:"tags"`
	State    int    `json:"state"`
	Schedule string `json:"schedule"`
	Rules    any    `json:"rules"`
	Actions  any    `json:"actions"`
}

// A distillConfig says what of a page is compared.
type distillConfig struct {
	Selections []struct {
		Frames []struct {
			Includes []distillSelector `json:"includes"`
			Excludes []distillSelector `json:"excludes"`
		} `json:"frames"`
		Dynamic bool    `json:"dynamic"`
		Delay   float64 `json:"delay"`
	} `json:"selections"`
	DataAttr string `json:"dataAttr"`
	Regexp   any    `json:"regexp"`
}

// A distillSelector selects elements.
type distillSelector struct {
	Type string `json:"type"`
	Expr string `json:"expr"`
}

// distillActive is the state of a monitor that is not switched off.
const distillActive = 40

// eachMonitor reads an export of Distill.
func eachMonitor(text string, o Options, yield func(Entry) error) error {
	var file struct {
		Data []distillMonitor `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return fmt.Errorf("this is not what Distill exports: %w", err)
	}
	for i, m := range file.Data {
		e := m.entry(o)
		e.Path = fmt.Sprintf("data[%d]", i)
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// entry returns what becomes of a monitor.
func (m *distillMonitor) entry(o Options) (e Entry) {
	s := &e.Source
	if s.URL, s.Name = strings.TrimSpace(m.URI), nameOf(m.Name); s.URL == "" {
		e.Err = errors.New("the monitor has no uri")
		return e
	}
	for _, tag := range m.Tags {
		name := textOf(tag)
		if name == "" {
			name = objectOf(tag).text("name")
		}
		s.Tags = append(s.Tags, tagsOf(name)...)
	}
	s.Paused = m.State != 0 && m.State != distillActive
	var config distillConfig
	if m.Config != "" && json.Unmarshal([]byte(m.Config), &config) != nil {
		e.lost("config", "it is not the JSON that Distill writes")
	}
	config.reading(&e)
	m.schedule(&e, o)
	if m.Rules != nil {
		e.lost("rules "+inJSON(m.Rules), "freshet query add --when CONDITION reports only such changes")
	}
	if m.Actions != nil {
		e.lost("actions "+inJSON(m.Actions), "freshet sink add adds a receiver")
	}
	return e
}

// reading carries over what is compared.
func (c *distillConfig) reading(e *Entry) {
	var include, exclude []string
	for _, selection := range c.Selections {
		if selection.Dynamic {
			e.Source.Render = true
			if selection.Delay > 0 {
				e.Source.Render = map[string]any{"steps": []any{map[string]any{"wait": fmt.Sprintf("%gs", selection.Delay)}}}
			}
		}
		for _, frame := range selection.Frames {
			include = append(include, selectorTexts(e, frame.Includes)...)
			exclude = append(exclude, selectorTexts(e, frame.Excludes)...)
		}
	}
	if len(exclude) > 0 {
		e.step("drop", selectorsOf(exclude))
	}
	e.selectors(include)
	if c.DataAttr != "" && c.DataAttr != "text" {
		e.lost("dataAttr "+c.DataAttr, "the text is compared; css: SELECTOR@ATTRIBUTE keeps an attribute")
	}
	if pattern := objectOf(c.Regexp).text("expr"); pattern != "" {
		e.step("regex", map[string]any{"pattern": goPattern(pattern, false), "group": 0})
	}
}

// selectorTexts returns selectors as [Entry.selectors] takes them.
func selectorTexts(e *Entry, list []distillSelector) (texts []string) {
	for _, s := range list {
		switch s.Type {
		case "xpath":
			texts = append(texts, "xpath:"+s.Expr)
		case "css":
			texts = append(texts, s.Expr)
		default:
			e.lost(fmt.Sprintf("a selector of the type %q", s.Type), "css and xpath exist")
		}
	}
	return texts
}

// schedule carries over the time between two checks.
func (m *distillMonitor) schedule(e *Entry, o Options) {
	var schedule struct {
		Type   string `json:"type"`
		Params struct {
			Interval float64 `json:"interval"`
		} `json:"params"`
	}
	switch err := json.Unmarshal([]byte(m.Schedule), &schedule); {
	case m.Schedule == "":
	case err == nil && schedule.Type == "INTERVAL":
		e.every(time.Duration(schedule.Params.Interval)*time.Second, o)
	default:
		e.lost("the schedule "+m.Schedule, "strategy names the times of polls")
	}
}
