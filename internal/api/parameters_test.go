package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
)

// A parameter is one of the query of an operation.
type parameter struct {
	Name, In string
	Schema   struct {
		Type    any // a string, or several
		Enum    []any
		Minimum *float64
		Maximum *float64
		Items   struct{ Enum []any }
	}
}

// bad returns values that the parameter cannot have.
func (p parameter) bad() (values []string) {
	if kind := fmt.Sprint(p.Schema.Type); !strings.Contains(kind, "string") && !strings.Contains(kind, "array") {
		values = append(values, "x")
	}
	if p.Schema.Minimum != nil {
		values = append(values, fmt.Sprint(*p.Schema.Minimum-1))
	}
	if p.Schema.Maximum != nil {
		values = append(values, fmt.Sprintf("%.0f", *p.Schema.Maximum+1))
	}
	if len(p.Schema.Enum) > 0 || len(p.Schema.Items.Enum) > 0 {
		values = append(values, "none-of-them")
	}
	switch p.Name {
	case "since", "until", "at", "changed_since", "wait":
		values = append(values, "not a time")
	}
	return values
}

// Every wrong parameter of every operation is refused by its name, and so is one that there
// is not.
func TestEveryBadParameterIsNamed(t *testing.T) {
	r := newRig(t, func(c *api.Config) { c.Sinks = sinksOf(t, c, "s") }).run()
	r.Origin.Put("/a", "text/html", "<p>one")
	r.add("a", "/a")
	r.poll("a")
	r.do("POST", "/api/v1/queries", map[string]any{"id": "q", "name": "q", "when": "true"}).is(201)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []parameter
		}
	}
	if err := json.Unmarshal(r.do("GET", "/openapi.json", nil).is(200).Body, &doc); err != nil {
		t.Fatal(err)
	}
	needed := map[string]string{"/api/v1/search": "&q=one"}
	tried := 0
	for path, ops := range doc.Paths {
		at := strings.NewReplacer("queries/{id}", "queries/q", "{id}", "a", "{name}", "s", "{number}", "1", "{token}", "x", "{edit}", "1", "{cursor}", "1", "{change}", "1").Replace(path)
		for method, op := range ops {
			if method != "get" {
				continue
			}
			refused := func(query, location string) {
				t.Helper()
				tried++
				var p client.Problem
				answer := r.do("GET", at+"?"+query+needed[path], nil)
				if answer.Status != 422 {
					t.Errorf("%s?%s answers %d, want 422: %.200s", at, query, answer.Status, answer.Body)
					return
				}
				answer.into(&p)
				if !slices.ContainsFunc(p.Errors, func(e *client.ErrorDetail) bool { return strings.HasPrefix(e.Location, location) }) {
					t.Errorf("%s?%s is refused with %s, which does not name %s", at, query, answer.Body, location)
				}
			}
			refused("no-such-parameter=1", "query.no-such-parameter")
			for _, p := range op.Parameters {
				if p.In != "query" {
					continue
				}
				for _, value := range p.bad() {
					refused(p.Name+"="+url.QueryEscape(value), "query."+p.Name)
				}
			}
		}
	}
	for _, query := range []string{
		"sources?sort=polls&after=nonsense", "sources?sort=next&after=nonsense", "changes?after=no+cursor", "changes/newest?before=no+cursor",
		"outcomes?after=no+cursor", "feed.atom?before=no+cursor",
	} {
		var p client.Problem
		name := "query." + query[strings.LastIndexAny(query[:strings.LastIndex(query, "=")], "?&")+1:strings.LastIndex(query, "=")]
		r.do("GET", "/api/v1/"+query, nil).is(422).into(&p)
		if len(p.Errors) == 0 || p.Errors[0].Location != name {
			t.Errorf("%s is refused with %+v, want %s named", query, p, name)
		}
	}
	if tried < 100 {
		t.Errorf("only %d bad values were tried", tried)
	}
}
