package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A cdWatch is a page as changedetection.io has it.
type cdWatch struct {
	URL         string   `json:"url"`
	Title       string   `json:"title"`
	PageTitle   string   `json:"page_title"`
	Tag         string   `json:"tag"`
	Tags        []string `json:"tags"`
	Include     []string `json:"include_filters"`
	Subtract    []string `json:"subtractive_selectors"`
	Paused      bool     `json:"paused"`
	Backend     string   `json:"fetch_backend"`
	Trigger     []string `json:"trigger_text"`
	Ignore      []string `json:"ignore_text"`
	Steps       []any    `json:"browser_steps"`
	Method      string   `json:"method"`
	ExtractText []string `json:"extract_text"`
}

// eachWatch reads url-watches.json or the list of the API: watches by ID.
func eachWatch(text string, yield func(Entry) error) error {
	var whole struct {
		Watching map[string]cdWatch `json:"watching"`
		Settings struct {
			Application struct {
				Tags map[string]struct {
					Title string `json:"title"`
				} `json:"tags"`
			} `json:"application"`
		} `json:"settings"`
	}
	err := json.Unmarshal([]byte(text), &whole)
	if err == nil && whole.Watching == nil {
		err = json.Unmarshal([]byte(text), &whole.Watching)
	}
	if err != nil {
		return fmt.Errorf("this is not what changedetection.io exports: %w", err)
	}
	tag := func(id string) string { return whole.Settings.Application.Tags[id].Title }
	for _, id := range slices.Sorted(maps.Keys(whole.Watching)) {
		if err := yield(watchOf(whole.Watching[id], tag)); err != nil {
			return err
		}
	}
	return nil
}

// watchOf returns what becomes of a watch. Tags are named by ids.
func watchOf(w cdWatch, tag func(id string) string) (e Entry) {
	s := &e.Source
	if s.URL = w.URL; w.URL == "" {
		e.Err = fmt.Errorf("a watch has no url")
		return e
	}
	if s.Name = w.Title; s.Name == "" {
		s.Name = w.PageTitle
	}
	s.Paused, s.Tags = w.Paused, tagsOf(strings.Split(w.Tag, ","))
	for _, id := range w.Tags {
		name := tag(id)
		if name == "" && len(id) != 36 { // an id that is not known says nothing
			name = id
		}
		s.Tags = append(s.Tags, tagsOf([]string{name})...)
	}
	if strings.Contains(w.Backend, "webdriver") || strings.Contains(w.Backend, "browser") || len(w.Steps) > 0 {
		s.Render = true
	}
	e.selectors(w.Include)
	if len(w.Subtract) > 0 {
		s.Read = append(s.Read, map[string]any{"drop": strings.Join(w.Subtract, ", ")})
	}
	note := func(said bool, what string) {
		if said {
			e.Notes = append(e.Notes, what+" is not carried over")
		}
	}
	note(len(w.Trigger) > 0, "trigger_text (a query does that)")
	note(len(w.Ignore) > 0, "ignore_text (a step lines or mask does that)")
	note(len(w.ExtractText) > 0, "extract_text (a step regex does that)")
	note(len(w.Steps) > 0, "browser_steps")
	note(w.Method != "" && w.Method != "GET", "method "+w.Method)
	return e
}

// selectors turns filters into steps. Several CSS selectors are one.
func (e *Entry) selectors(filters []string) {
	var css []string
	for _, f := range filters {
		f = strings.TrimSpace(f)
		kind, arg, _ := strings.Cut(f, ":")
		switch {
		case f == "":
		case kind == "json":
			e.step("jsonpath", arg)
		case kind == "jq" || kind == "jqraw":
			e.step("jq", arg)
		case kind == "xpath" || kind == "xpath1":
			e.step("xpath", arg)
		case strings.HasPrefix(f, "/"):
			e.step("xpath", f)
		default:
			css = append(css, f)
		}
	}
	if len(css) > 0 {
		e.Source.Read = append([]any{map[string]any{"css": strings.Join(css, ", ")}}, e.Source.Read...)
	}
}
