package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// wholeLists are lists that come whole, by operation and field, and why. They cannot grow with
// what is watched, or belong to one thing that is read and written as a whole.
var wholeLists = map[string]string{
	"get-budget curve":         "as many points as the request asks for, at most",
	"get-budget eaters":        "as many as the request asks for",
	"get-chances times":        "one document: it is set as a whole, and its ETag is of the whole",
	"get-cluster hands":        "machines that an operator set up",
	"get-cluster nodes":        "machines that an operator set up",
	"get-facets hosts":         "the hundred with most sources",
	"get-facets tags":          "the hundred with most sources",
	"get-flow items":           "one for each hour that the request asks for",
	"get-lab policies":         "those that the program has",
	"get-numbers-by-day items": "one for each day of the span that the request asks for",
	"get-outline items":        "of one version, and bounded",
	"get-overview attention":   "the first few",
	"get-overview changes":     "the first few",
	"get-probe-outline items":  "of one page, and bounded",
	"get-rhythm hours":         "those of a day",
	"get-rhythm minutes":       "those of an hour",
	"get-rhythm weekdays":      "those of a week",
	"get-settings items":       "those that the program has",
	"get-site indexes":         "of one site, and bounded",
	"get-site problems":        "of one site, and bounded",
	"get-site traps":           "of one site, and bounded",
	"get-source read":          "the steps of one source, and bounded",
	"diff-versions fields":     "of one pair of versions, and bounded",
	"diff-versions hunks":      "of one pair of versions, and bounded",
	"get-status sinks":         "a summary; list-sinks has the pages",
	"list-sink-kinds items":    "those that the program has",
	"list-suggestions items":   "the likeliest few",
}

// Every list of the API comes in pages: it takes a limit and where to go on, and says in next
// where the following page begins. A new one that does not must say above why.
func TestEveryListHasPages(t *testing.T) {
	var doc struct {
		Paths      map[string]struct{ Get *listing }
		Components struct{ Schemas map[string]shape }
	}
	if err := json.Unmarshal(newRig(t).do("GET", "/openapi.json", nil).is(200).Body, &doc); err != nil {
		t.Fatal(err)
	}
	unused, lists := map[string]bool{}, 0
	for name := range wholeLists {
		unused[name] = true
	}
	for path, ops := range doc.Paths {
		if ops.Get == nil {
			continue
		}
		answer := ops.Get.answer(doc.Components.Schemas)
		for field, s := range answer.Properties {
			if !s.listsObjects() {
				continue
			}
			name := ops.Get.OperationID + " " + field
			if wholeLists[name] != "" {
				delete(unused, name)
				continue
			}
			lists++
			for _, fault := range ops.Get.faults(answer) {
				t.Errorf("GET %s: the list %s %s; if it cannot grow, say so in wholeLists", path, field, fault)
			}
		}
	}
	for name := range unused {
		t.Errorf("wholeLists has %s, which comes in pages or is no list", name)
	}
	if lists < 20 {
		t.Errorf("only %d lists were found; is the description read as it is written?", lists)
	}
}

// A listing is an operation that may answer with a list.
type listing struct {
	OperationID string
	Parameters  []struct{ Name, In string }
	Responses   map[string]struct {
		Content map[string]struct{ Schema shape }
	}
}

// A shape is what a schema says of a value.
type shape struct {
	Ref        string `json:"$ref"`
	Type       any
	Items      *shape
	Properties map[string]shape
}

// listsObjects reports whether a value is a list of things, rather than of words or numbers.
func (s shape) listsObjects() bool {
	types, _ := s.Type.([]any)
	return (s.Type == "array" || slices.Contains(types, any("array"))) && s.Items != nil && (s.Items.Ref != "" || s.Items.Properties != nil || s.Items.Type == nil)
}

// answer returns the shape of the JSON that an operation answers with.
func (l *listing) answer(named map[string]shape) shape {
	s := l.Responses["200"].Content["application/json"].Schema
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return named[name]
	}
	return s
}

// faults says what an operation lacks whose answer is a list.
func (l *listing) faults(answer shape) (lacks []string) {
	var takes []string
	for _, p := range l.Parameters {
		if p.In == "query" {
			takes = append(takes, p.Name)
		}
	}
	if !slices.Contains(takes, "limit") {
		lacks = append(lacks, "takes no limit")
	}
	if !slices.ContainsFunc([]string{"after", "before", "offset"}, func(name string) bool { return slices.Contains(takes, name) }) {
		lacks = append(lacks, "takes neither after, before nor offset")
	}
	if _, ok := answer.Properties["next"]; !ok {
		lacks = append(lacks, "does not say where the next page begins")
	}
	return lacks
}
