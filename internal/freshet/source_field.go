package freshet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
	"freshet/internal/freshet/suspect"
	"freshet/internal/freshet/timetable"
	"freshet/internal/invalid"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// A SourceField is one setting of a source. The configuration file, the flags, the stored
// definition and the output all derive from the same list: see SourceFields.
type SourceField struct {
	Name string // in files and the API; a dot separates the section, as in "keep.age"
	Flag string // on the command line; "" if there is none
	Kind string // what the flag takes: "string", "float", "int", "bool", "TIME", "SIZE" or "JSON"
	List bool   // it can be given several times
	Bare string // what the flag means without a value; "" if it needs one
	Help string // of the flag

	Structured bool // it is an object or a list; Read and Show have it as JSON

	// Read sets the field from text: one, or any number if it is a List.
	Read func(s *Source, text ...string) error

	// Show returns the field as Read reads it, or nothing if it has its default.
	Show func(s *Source) []string

	value func(s *Source) any // for JSON; what Show returns unless it says otherwise
	clear func(s *Source)     // gives the field its default
}

// SourceFields returns all settings of a source in display order. A field that is added here
// is read, stored and shown everywhere; package client has the types of the API.
func SourceFields() []SourceField { return slices.Clone(sourceFields) }

// sourceFields is built once: listings decode hundreds of sources with it.
var sourceFields = makeSourceFields()

func makeSourceFields() []SourceField {
	return []SourceField{
		wordField(SourceField{Name: "id"}, func(s *Source) *string { return (*string)(&s.ID) }),
		wordField(SourceField{Name: "url"}, func(s *Source) *string { return &s.URL }),
		wordField(SourceField{Name: "name", Flag: "name", Help: "name to show in lists and messages"}, func(s *Source) *string { return &s.Name }),
		listField(SourceField{Name: "tags", Flag: "tag", Help: "tag to group sources by; can be repeated"}, func(s *Source) *[]string { return &s.Tags }),
		valueField(SourceField{Name: "request"}, func(s *Source) **profile.Profile { return &s.Request }),
		valueField(SourceField{Name: "expect"}, func(s *Source) **profile.Expect { return &s.Expect }),
		wordField(SourceField{Name: "select.css", Flag: "css", Help: "watch only the parts of the page that match this CSS selector"}, func(s *Source) *string { return &s.Recipe.CSS }),
		wordField(SourceField{Name: "select.jsonpath", Flag: "jsonpath", Help: "watch only the values that match this JSONPath, such as $.items[*].price"}, func(s *Source) *string { return &s.Recipe.JSONPath }),
		textField(SourceField{Name: "select.kind", Flag: "kind", Help: "treat the response as html, json, feed, text, xml, csv, ical, pdf, xlsx or docx (default: detected)"},
			func(s *Source) *reading.Kind { return &s.Recipe.Kind }, parseKind, func(k reading.Kind) string { return string(k) }),
		valueField(SourceField{Name: "read"}, func(s *Source) *[]reading.Step { return &s.Recipe.Read }),
		textField(SourceField{Name: "noise", Flag: "noise", Help: "what to do about parts that change at nearly every poll, such as a clock: report (show where they are), auto (do not report such changes) or off (default auto)"},
			func(s *Source) *NoiseSetting { return &s.Noise }, ParseNoiseSetting, func(n NoiseSetting) string { return string(n) }).spelled(func(s *Source) string { return s.Noise.String() }),
		valueField(SourceField{Name: "extract"}, func(s *Source) *reading.Extracts { return &s.Recipe.Extract }),
		valueField(SourceField{Name: "items"}, func(s *Source) *reading.Items { return &s.Recipe.Items }),
		valueField(SourceField{Name: "render", Flag: "render", Bare: "true", Help: "show the page in Chromium before it is read; --render='{\"wait_for\": \".price\", \"screenshot\": true}' says how (docs/reference/render.md)"}, func(s *Source) *rendering.Settings { return &s.Recipe.Render }),
		numberField(SourceField{Name: "weight", Flag: "weight", Help: "importance compared with other sources (default 1)"}, func(s *Source) *float64 { return &s.Weight }),
		dialField(SourceField{Name: "dial", Flag: "dial", Help: "preset of life and urgency: stock-ticker, auction, front-page, news-list or archive"}),
		textField(SourceField{Name: "life", Flag: "life", Help: "how long a change can be seen: overwrite (until the next change), append (for ever), window:10m or last:5 (default overwrite)"},
			func(s *Source) *objective.Visibility { return &s.Life }, objective.ParseVisibility, func(l objective.Visibility) string { return strings.TrimPrefix(l.String(), "overwrite") }),
		textField(SourceField{Name: "urgency", Flag: "urgency", Help: "how fast a change loses value until it is captured: uniform (not at all), half-life:1h, window:10m, exp:0.9/1m, ... (default uniform)"},
			func(s *Source) *objective.Urgency { return &s.Urgency }, objective.ParseUrgency, func(u objective.Urgency) string { return strings.TrimPrefix(u.String(), "uniform") }),
		numberField(SourceField{Name: "cost", Flag: "cost", Help: "cost of a poll compared with other sources (default 1)"}, func(s *Source) *float64 { return &s.Cost }),
		switchField(SourceField{Name: "paused"}, func(s *Source) *bool { return &s.Paused }),
		lengthField(SourceField{Name: "min_gap", Flag: "min-gap", Help: "wait at least this long between two polls"}, func(s *Source) *time.Duration { return &s.MinGap }),
		lengthField(SourceField{Name: "max_gap", Flag: "max-gap", Help: "poll at least this often, if the budget and the host allow"}, func(s *Source) *time.Duration { return &s.MaxGap }),
		textField(SourceField{Name: "strategy", Flag: "strategy", Help: "poll it at these times and at no others, such as 'hour {5, 35}', 'day {06:30, 14:00} Europe/Berlin' or 'week {mon 09:00}'; freshet lab plan --from-store finds the best"},
			func(s *Source) *timetable.Strategy { return &s.Strategy }, timetable.Parse, timetable.Strategy.String),
		textField(SourceField{Name: "active", Flag: "active", Help: "poll it only in these hours, such as 'mon-fri 09:00-17:00 Europe/Berlin' or '08:00-20:00, sat 10:00-14:00'"},
			func(s *Source) *timetable.Hours { return &s.Active }, timetable.ParseHours, timetable.Hours.String),
		textField(SourceField{Name: "level", Flag: "level", Help: "how soon you want to know of changes, such as '90% within 10m'; freshet budget --levels shows the cost"},
			func(s *Source) *objective.ServiceLevel { return &s.Level }, objective.ParseServiceLevel, objective.ServiceLevel.String),
		textField(SourceField{Name: "aim", Flag: "aim", Help: "what polls of it are for: captures (see as many changes as possible), freshness (have an up-to-date copy as much of the time as possible) or age (a copy that is never out of date for long) (default: as the setting aim says)"},
			func(s *Source) *objective.Objective { return &s.Aim }, objective.ParseObjective, func(a objective.Objective) string { return string(a) }),
		textField(SourceField{Name: "next_change", Flag: "next-change", Help: "the value of extract that says when the page changes next, the time zone of such times, or both, such as 'next_update Europe/Berlin'"},
			func(s *Source) *evidence.NextChange { return &s.NextChange }, evidence.ParseNextChange, evidence.NextChange.String),
		wordField(SourceField{Name: "from", Flag: "from", Help: "poll it only from workers at this place, such as eu-west (freshet cluster worker --place)"}, func(s *Source) *string { return &s.From }),
		textField(SourceField{Name: "suspect", Flag: "suspect", Help: "what to do with a capture that is probably the wrong page: hold (report it when a second look agrees), mark (report it at once, marked as suspect) or off (do not check) (default hold)"},
			func(s *Source) *suspect.Handling { return &s.Suspect }, suspect.ParseHandling, func(s suspect.Handling) string { return string(s) }).spelled(func(s *Source) string { return s.Suspect.String() }),
		valueField(SourceField{Name: "site"}, func(s *Source) **crawl.Settings { return &s.Site }),
		wordField(SourceField{Name: "of"}, func(s *Source) *string { return (*string)(&s.Of) }),
		switchField(SourceField{Name: "index"}, func(s *Source) *bool { return &s.Index }),
		textField(SourceField{Name: "robots", Flag: "robots", Help: "whether to poll it only if the robots.txt files of its hosts allow it: obey, ignore or default (as the setting robots says)"},
			func(s *Source) *RobotsSetting { return &s.Robots }, ParseRobotsSetting, func(r RobotsSetting) string { return string(r) }).spelled(func(s *Source) string { return s.Robots.String() }),
		lengthField(SourceField{Name: "keep.age", Flag: "keep-age", Help: "delete versions that were replaced longer ago than this (checked every hour)"}, func(s *Source) *time.Duration { return &s.Keep.Age }),
		countField(SourceField{Name: "keep.versions", Flag: "keep-versions", Help: "keep at most this many versions; the daemon deletes the others within seconds of this setting, then every hour"}, func(s *Source) *int { return &s.Keep.Versions }),
		sizeField(SourceField{Name: "keep.bytes", Flag: "keep-bytes", Help: "keep at most this many bytes of versions (checked every hour)"}, func(s *Source) *int64 { return &s.Keep.Bytes }),
	}
}

// textField is a field that is written as one text.
func textField[T any](f SourceField, at func(*Source) *T, parse func(string) (T, error), format func(T) string) SourceField {
	if f.Kind == "" {
		f.Kind = "string"
	}
	f.Read = func(s *Source, text ...string) error {
		v, err := parse(strings.Join(text, ""))
		if err == nil {
			*at(s) = v
		}
		return err
	}
	f.clear = func(s *Source) { *at(s) = *new(T) }
	f.Show = func(s *Source) []string {
		if text := format(*at(s)); text != "" {
			return []string{text}
		}
		return nil
	}
	return f
}

// spelled writes out the default of a field in an edit.
func (f SourceField) spelled(as func(*Source) string) SourceField {
	f.value = func(s *Source) any { return as(s) }
	return f
}

func wordField(f SourceField, at func(*Source) *string) SourceField {
	same := func(text string) string { return text }
	return textField(f, at, func(text string) (string, error) { return text, nil }, same)
}

func parseKind(text string) (reading.Kind, error) {
	return reading.Kind(strings.TrimPrefix(text, "auto")), nil
}

func lengthField(f SourceField, at func(*Source) *time.Duration) SourceField {
	f.Kind = "TIME"
	return textField(f, at, units.ParseDuration, func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return units.FormatDuration(d)
	})
}

// numeric is a field whose value is a number in JSON.
func numeric[T int | int64 | float64](f SourceField, at func(*Source) *T, parse func(string) (T, error), format func(T) string) SourceField {
	f = textField(f, at, parse, func(x T) string {
		if x == 0 {
			return ""
		}
		return format(x)
	})
	f.value = func(s *Source) any { return *at(s) }
	return f
}

// most bounds weight and cost.
const most = 1e6

func numberField(f SourceField, at func(*Source) *float64) SourceField {
	f.Kind = "float"
	return numeric(f, at, func(text string) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x > 0) || x > most {
			return 0, fmt.Errorf("%q is not a number above 0 and up to 1,000,000", text)
		}
		return x, nil
	}, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })
}

func countField(f SourceField, at func(*Source) *int) SourceField {
	f.Kind = "int"
	return numeric(f, at, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	}, strconv.Itoa)
}

func sizeField(f SourceField, at func(*Source) *int64) SourceField {
	f.Kind = "SIZE"
	return numeric(f, at, units.ParseSize, units.FormatSize)
}

func switchField(f SourceField, at func(*Source) *bool) SourceField {
	f.Kind = "bool"
	f = textField(f, at, func(text string) (bool, error) {
		on, err := strconv.ParseBool(text)
		if err != nil {
			err = fmt.Errorf("%q is not true or false", text)
		}
		return on, err
	}, func(on bool) string { return strings.TrimPrefix(strconv.FormatBool(on), "false") })
	f.value = func(s *Source) any { return *at(s) }
	return f
}

func listField(f SourceField, at func(*Source) *[]string) SourceField {
	f.Kind, f.List = "string", true
	f.Read = func(s *Source, text ...string) error { *at(s) = text; return nil }
	f.Show = func(s *Source) []string { return *at(s) }
	f.clear = func(s *Source) { *at(s) = nil }
	f.value = func(s *Source) any { return append([]string{}, *at(s)...) }
	return f
}

// Definition returns the document of the source as JSON, in the form in which the API takes
// a new source.
func (s Source) Definition() []byte { return marshalled(s.Document()) }

// Document returns the settings of the source by field name, without defaults. Values are as
// encoding/json takes them.
func (s Source) Document() map[string]any {
	all := map[string]any{}
	for i := range sourceFields {
		f := &sourceFields[i]
		if len(f.Show(&s)) > 0 {
			f.put(all, f.json(&s))
		}
	}
	return all
}

// DefinitionOver returns the settings of a page that differ from those of its site, without
// ID and URL. A setting of the site that the page unsets is null.
func (s Source) DefinitionOver(site Source) []byte {
	base := site.Page(s.ID, s.URL)
	all := map[string]any{"of": string(site.ID)}
	for i := range sourceFields {
		f := &sourceFields[i]
		own := f.Show(&s)
		switch {
		case slices.Equal(own, f.Show(&base)):
		case len(own) == 0:
			f.put(all, nil)
		default:
			f.put(all, f.json(&s))
		}
	}
	return marshalled(all)
}

// Part returns the named fields of the source as a JSON object, defaults included: an edit
// as the API takes it.
func (s Source) Part(names ...string) []byte {
	part := map[string]any{}
	for i := range sourceFields {
		f := &sourceFields[i]
		if slices.Contains(names, f.Name) {
			f.put(part, f.json(&s))
		}
	}
	return marshalled(part)
}

func marshalled(object map[string]any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // of texts, numbers and lists
	}
	return text
}

// json returns the value of a field.
func (f *SourceField) json(s *Source) any {
	if f.value != nil {
		return f.value(s)
	}
	return strings.Join(f.Show(s), "")
}

// put sets the field in a JSON object.
func (f *SourceField) put(all map[string]any, value any) {
	section, name, nested := strings.Cut(f.Name, ".")
	if !nested {
		all[section] = value
		return
	}
	part, ok := all[section].(map[string]any)
	if !ok {
		part = map[string]any{}
		all[section] = part
	}
	part[name] = value
}

// ParseDefinition reads what Definition returns, and what the API takes as a new
// source. It does not judge: see Source.Check.
func ParseDefinition(definition []byte) (Source, error) { return parseOver(Source{}, definition) }

// ParseDocument is ParseDefinition for a definition that has been decoded.
func ParseDocument(document map[string]any) (Source, error) { return Source{}.set(document) }

// Patch returns the source with a JSON merge patch (RFC 7396) of its document applied. A
// dial in the patch sets the life and the urgency that the patch does not name. It does not
// judge: see Source.Check.
func (s Source) Patch(patch map[string]any) (Source, error) {
	whole := maps.Clone(patch)
	if name, ok := patch["dial"].(string); ok {
		if _, err := ParseDial(name); err == nil {
			for _, field := range []string{"life", "urgency"} {
				if _, said := patch[field]; !said {
					s = s.cleared(field)
				}
			}
		}
	}
	for i := range sourceFields {
		f := &sourceFields[i]
		if object, ok := patch[f.Name].(map[string]any); ok && f.Structured {
			value := map[string]any{}
			if text := f.Show(&s); len(text) > 0 {
				_ = strictjson.DecodeObject([]byte(text[0]), &value) // true, or a list, has no parts to merge
			}
			strictjson.Merge(value, object)
			whole[f.Name] = value
		}
	}
	s, err := s.set(whole)
	if _, said := patch["noise"]; said && s.Noise == NoiseUnset {
		s.Noise = NoiseAuto
	}
	return s, err
}

// cleared returns the source with the default of a field.
func (s Source) cleared(name string) Source {
	for i := range sourceFields {
		if sourceFields[i].Name == name {
			sourceFields[i].clear(&s)
		}
	}
	return s
}

// ParseDefinitionOver reads what DefinitionOver returns, of the page of a site with an
// ID and a URL.
func ParseDefinitionOver(site Source, id SourceID, url string, definition []byte) (Source, error) {
	page := site.Page(id, url)
	if string(definition) == `{"of":"`+string(site.ID)+`"}` { // as most are
		return page, nil
	}
	return parseOver(page, definition)
}

// parseOver reads a definition over what holds without it.
func parseOver(s Source, definition []byte) (Source, error) {
	var all map[string]any
	if err := strictjson.DecodeObject(definition, &all); err != nil {
		return s, fmt.Errorf("read the definition of a source: %w", err)
	}
	return s.set(all)
}

// set returns the source with the fields that a document names. Null is the default.
func (s Source) set(document map[string]any) (Source, error) {
	for i := range sourceFields {
		f := &sourceFields[i]
		section, name, nested := strings.Cut(f.Name, ".")
		value, said := document[section]
		if part, ok := value.(map[string]any); nested && ok {
			value, said = part[name]
		} else if nested && value != nil {
			continue
		}
		if !said {
			continue
		}
		if err := f.readJSON(&s, value); err != nil {
			return s, &invalid.Error{Field: f.Name, Reason: invalid.ReasonOf(err).Error()}
		}
	}
	return s, nil
}

// readJSON sets the field from a value of a JSON object. Null, an empty text and zero are
// the default.
func (f *SourceField) readJSON(s *Source, value any) error {
	if f.Structured && value != nil {
		err := f.readValue(s, value)
		if err == nil && len(f.Show(s)) == 0 {
			f.clear(s)
		}
		return err
	}
	switch value := value.(type) {
	case nil:
		f.clear(s)
		return nil
	case []any:
		items := make([]string, len(value))
		for i, v := range value {
			items[i] = fmt.Sprint(v)
		}
		return f.Read(s, items...)
	case string:
		if value == "" {
			f.clear(s)
			return nil
		}
		return f.Read(s, value)
	case json.Number:
		if x, err := value.Float64(); err == nil && x == 0 {
			f.clear(s)
			return nil
		}
	case float64:
		if value == 0 {
			f.clear(s)
			return nil
		}
	}
	return f.Read(s, fmt.Sprint(value))
}
