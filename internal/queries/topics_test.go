package queries_test

import (
	"slices"
	"strings"
	"testing"

	"freshet/internal/queries"
)

// A query matches whatever relevant would answer, and names the topics that the sink asks its model about.
func TestTopics(t *testing.T) {
	for _, tt := range []struct {
		when   string
		topics []string
		wrong  string
	}{
		{when: `added.contains("relevant")`},
		{when: `relevant("about delays")`, topics: []string{"about delays"}},
		{when: `relevant("a") && (added.contains("x") || removed.contains("y")) && relevant('b')`, topics: []string{"a", "b"}},
		{when: `relevant("a") || added.contains("x")`, wrong: "with &&"},
		{when: `!relevant("a")`, wrong: "with &&"},
		{when: `count(relevant("a")) > 2`, wrong: "with &&"},
		{when: `relevant(added)`, wrong: "in quotes"},
		{when: `relevant("")`, wrong: "in quotes"},
	} {
		q := queries.Query{ID: "q", When: tt.when}
		report, err := queries.Check(q, nil)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s is refused with %v, want %q", tt.when, err, tt.wrong)
			}
			continue
		}
		topics, failed := q.Topics()
		if err != nil || failed != nil || !slices.Equal(topics, tt.topics) || report.Query.Trigger != "" {
			t.Errorf("%s asks %q, with the trigger %q, want %q: %v %v", tt.when, topics, report.Query.Trigger, tt.topics, err, failed)
		}
	}
	if _, err := queries.Check(queries.Query{ID: "q", Value: `relevant("a") ? 1 : 2`}, nil); err == nil {
		t.Error("a value that asks is not refused")
	}
}
