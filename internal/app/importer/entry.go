package importer

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/queries"
)

// An Entry is one page of a list, or a receiver of notifications.
type Entry struct {
	Line   int    // line on which it begins; zero if the format has none
	Path   string // path into the document, if the format has no lines
	Source client.NewSource
	Notes  []string // the settings that are not carried over, with the nearest that exists
	Err    error    // why the entry cannot be a source

	// When is the condition of a query about the source, in CEL; "" if each of its changes counts.
	When string

	// Receivers get the changes of the source, or only those for which When is true. An entry
	// without a URL has one, which gets the changes of all sources of the list.
	Receivers []Receiver

	conditions []string // all of which are to be true, in CEL
	location   string   // by which another program knows the page
	waits      bool     // paused until its history is there
}

// IsReceiver reports whether the entry is a receiver and no page.
func (e *Entry) IsReceiver() bool { return e.Source.URL == "" && len(e.Receivers) > 0 }

// At returns where the entry is in the list.
func (e *Entry) At() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d", e.Line)
	}
	return e.Path
}

// notef adds a note.
func (e *Entry) notef(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(e.Notes, note) {
		e.Notes = append(e.Notes, note)
	}
}

// lost notes a setting that is not carried over, and what is nearest to it.
func (e *Entry) lost(setting, nearest string) {
	e.notef("%s is not carried over: %s", setting, nearest)
}

// unknown notes a setting that has no counterpart, unless it is among those that need none or says nothing.
func (e *Entry) unknown(key string, value any, silent string, lost map[string]string) {
	text := textOf(value)
	if text == "" {
		text = inJSON(value)
	}
	switch nearest := lost[key]; {
	case strings.Contains(silent, " "+key+" ") || empty(value):
	case nearest == "":
		e.notef("%s is not carried over", key)
	default:
		e.lost(strings.TrimSuffix(key+" "+text, " true"), nearest)
	}
}

// only restricts the changes that count to those for which a condition in CEL is true.
func (e *Entry) only(condition string) { e.conditions = append(e.conditions, condition) }

// request returns the request of the source, to add to.
func (e *Entry) request() map[string]any {
	if e.Source.Request == nil {
		e.Source.Request = map[string]any{}
	}
	return e.Source.Request
}

// step adds a step that reads the response.
func (e *Entry) step(name string, arg any) {
	e.Source.Read = append(e.Source.Read, map[string]any{name: arg})
}

// extract adds a value that is taken from the response.
func (e *Entry) extract(name string, how map[string]any) {
	if e.Source.Extract == nil {
		e.Source.Extract = map[string]any{}
	}
	e.Source.Extract[name] = how
}

// lines adds a step that keeps or changes lines.
func (e *Entry) lines(key string, value any) { e.step("lines", map[string]any{key: value}) }

// every carries over the time between two checks.
func (e *Entry) every(d time.Duration, o Options) {
	switch {
	case d <= 0 || o.Intervals == Ignored:
	case o.Intervals == AsGaps:
		e.Source.MaxGap = client.Duration(d)
	default:
		e.Source.Level = "90% within " + client.Duration(d).String()
	}
}

// settle leaves out the settings that no source can have, with a note for each, so that the rest
// of the entry is not lost.
func (e *Entry) settle() {
	if u, err := url.Parse(e.Source.URL); err == nil && u.User != nil && u.Host != "" {
		u.User = nil
		e.Source.URL = u.String()
		e.credentials("the login in the URL")
	}
	for e.Err == nil && !e.IsReceiver() {
		recipe, err := check(e.Source)
		if err == nil {
			e.settleConditions(recipe)
			return
		}
		field, _ := invalid.FieldOf(err)
		if !e.drop(field, invalid.ReasonOf(err)) {
			e.Err = err
		}
	}
}

// settleConditions leaves out the conditions that no query can have, such as a pattern that RE2 does not
// know, with a note for each.
func (e *Entry) settleConditions(recipe reading.Recipe) {
	schema := &queries.Schema{}
	schema.Add(recipe)
	e.conditions = slices.DeleteFunc(e.conditions, func(when string) bool {
		_, err := queries.Check(queries.Query{Name: "import", When: when, Trigger: "each"}, schema)
		if err != nil {
			e.notef("the condition %s is not carried over: %v", when, err)
		}
		return err != nil
	})
	e.When = strings.Join(e.conditions, " && ")
}

// check returns how the responses of a source are read, or why a definition is no source.
func check(n client.NewSource) (reading.Recipe, error) {
	s, err := n.Defined()
	if err == nil {
		s, err = s.Check()
	}
	if err == nil {
		err = extract.Check(s.Recipe)
	}
	return s.Recipe, err
}

// drop removes the invalid setting that a field such as read[2].css or request.headers.X names,
// and reports whether there was one.
func (e *Entry) drop(field string, reason error) bool {
	var definition map[string]any
	if text, err := json.Marshal(e.Source); err != nil || json.Unmarshal(text, &definition) != nil {
		return false
	}
	section, rest, _ := strings.Cut(field, ".")
	section, index, indexed := strings.Cut(section, "[")
	if section == "url" || section == "id" || definition[section] == nil {
		return false
	}
	what := field
	switch value := definition[section].(type) {
	case []any:
		n := slices.IndexFunc(value, func(one any) bool {
			_, err := check(e.with(section, []any{one}))
			return err != nil
		})
		if indexed {
			_, _ = fmt.Sscanf(index, "%d]", &n)
		}
		if n < 0 || n >= len(value) {
			n = len(value) - 1 // there are too many
		}
		what = fmt.Sprintf("%s %s", section, inJSON(value[n]))
		definition[section] = slices.Delete(value, n, n+1)
	case map[string]any:
		part, name, _ := strings.Cut(rest, ".")
		part, _, _ = strings.Cut(part, "[")
		if inner, ok := value[part].(map[string]any); ok && inner[name] != nil {
			delete(inner, name)
		} else if value[part] != nil {
			delete(value, part)
		} else {
			what = section
			delete(definition, section)
		}
	default:
		delete(definition, section)
	}
	var source client.NewSource
	if text, err := json.Marshal(definition); err != nil || json.Unmarshal(text, &source) != nil {
		return false
	}
	e.Source = source
	e.notef("%s is not carried over: %v", what, reason)
	return true
}

// with returns a source with the URL and one other setting.
func (e *Entry) with(section string, value any) (n client.NewSource) {
	if text, err := json.Marshal(map[string]any{"url": e.Source.URL, section: value}); err == nil {
		_ = json.Unmarshal(text, &n) // what cannot be read is an invalid source
	}
	return n
}
