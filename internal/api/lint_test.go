package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A described is an operation as the OpenAPI document has it.
type described struct {
	OperationID string `json:"operationId"`
	Summary     string `json:"summary"`
	Description string `json:"description"`
	Tags        []string
	Parameters  []struct {
		Name, In, Description string
	}
	Responses map[string]struct{ Description string }
}

// The served description keeps the rules that independent linters recommend: "make
// lint-api" runs these. An operation needs a Description where it is routed.
func TestDescriptionKeepsTheRules(t *testing.T) {
	text := newRig(t).do("GET", "/openapi.json", nil).is(200).Body
	var doc struct {
		Info struct {
			Description string
			Contact     map[string]string
			License     map[string]string
		}
		Servers  []map[string]string
		Security *[]map[string][]string
		Tags     []struct{ Name, Description string }
		Paths    map[string]map[string]described
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Info.Description == "" || len(doc.Info.Contact) == 0 || doc.Info.License["name"] == "" || len(doc.Servers) == 0 || doc.Security == nil {
		t.Errorf("info, contact, license, servers or security is missing: %+v", doc.Info)
	}
	var tags []string
	for _, tag := range doc.Tags {
		tags = append(tags, tag.Name)
		if tag.Description == "" {
			t.Errorf("tag %s has no description", tag.Name)
		}
	}
	ids := map[string]string{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			where := strings.ToUpper(method) + " " + path
			if ids[op.OperationID] != "" || op.OperationID == "" {
				t.Errorf("%s has the operationId %q, which %s has too", where, op.OperationID, ids[op.OperationID])
			}
			ids[op.OperationID] = where
			checkDescribed(t, where, op, tags)
		}
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	checkSchemas(t, "", whole)
}

// unconditional are what is changed or removed whatever it was before.
var unconditional = []string{"remove-hook", "edit-settings", "set-chances", "clear-chances", "logout", "set-password", "remove-user", "remove-token", "remove-share", "end-lab-run"}

// unkeyed are operations whose request or answer holds a secret, which is not kept to be
// told again.
var unkeyed = []string{"login", "logout", "set-password", "add-user", "edit-user", "add-token", "add-share", "make-hook"}

func checkDescribed(t *testing.T, where string, op described, tags []string) {
	t.Helper()
	if op.Summary == "" || op.Description == "" {
		t.Errorf("%s has the summary %q and the description %q; want both", where, op.Summary, op.Description)
	}
	if len(op.Tags) == 0 {
		t.Errorf("%s has no tag", where)
	}
	for _, tag := range op.Tags {
		if !slices.Contains(tags, tag) {
			t.Errorf("%s has the tag %s, which is not described", where, tag)
		}
	}
	if op.Responses["4XX"].Description == "" {
		t.Errorf("%s declares no 4XX answer", where)
	}
	names := map[string]bool{}
	for _, p := range op.Parameters {
		names[p.Name] = true
		if p.Description == "" {
			t.Errorf("%s: parameter %s has no description", where, p.Name)
		}
		if p.In == "path" && !strings.Contains(where, "{"+p.Name+"}") {
			t.Errorf("%s has no %s in its path", where, p.Name)
		}
	}
	method, _, _ := strings.Cut(where, " ")
	if method != "GET" && !names["Idempotency-Key"] && !slices.Contains(unkeyed, op.OperationID) {
		t.Errorf("%s takes no Idempotency-Key", where)
	}
	if (method == "PATCH" || method == "PUT" || method == "DELETE") && !names["If-Match"] && !slices.Contains(unconditional, op.OperationID) {
		t.Errorf("%s takes no If-Match", where)
	}
}

// checkSchemas looks for words that OpenAPI does not have.
func checkSchemas(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == "patternDescription" {
				t.Errorf("%s has a %s", where, name)
			}
			if types, ok := inner.([]any); ok && name == "type" && slices.Contains(types, any("")) {
				t.Errorf("%s has the type %v", where, types)
			}
			checkSchemas(t, where+"/"+name, inner)
		}
	case []any:
		for i, inner := range v {
			checkSchemas(t, fmt.Sprint(where, "/", i), inner)
		}
	}
}
