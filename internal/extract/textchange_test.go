package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

func TestTextChange(t *testing.T) {
	many := ""
	for i := range 30 {
		many += fmt.Sprintf("line %d\n", i)
	}
	long := strings.Repeat("x", 1000)
	for name, tt := range map[string]struct {
		old, new string
		want     *freshet.TextChange
	}{
		"the same":   {"a\n", "a\n", nil},
		"one line":   {"a\nb\nc\n", "a\nB\nc\n", &freshet.TextChange{AddedCount: 1, RemovedCount: 1, Added: []string{"B"}, Removed: []string{"b"}}},
		"a long one": {"a\n", "a\n" + long + "\n", &freshet.TextChange{AddedCount: 1, Added: []string{long[:400] + "... (600 bytes more)"}, Cut: true}},
		"many":       {"a\n", "a\n" + many, &freshet.TextChange{AddedCount: 30, Added: strings.Split(strings.TrimSpace(many), "\n")[:20], Cut: true}},
	} {
		if diff := cmp.Diff(tt.want, extract.Diff([]byte(tt.old), []byte(tt.new)).TextChange()); diff != "" {
			t.Errorf("%s is told otherwise (-want +got):\n%s", name, diff)
		}
	}
}

// What is told of lines is bounded whatever they are.
func TestTextChangeIsBounded(t *testing.T) {
	var old, new string
	for i := range 300 {
		old += fmt.Sprintf("%d %s\n", i, strings.Repeat("o", i%700))
		new += fmt.Sprintf("%d %s\n", i, strings.Repeat("n", i%700))
	}
	c := extract.Diff([]byte(old), []byte(new)).TextChange()
	if n := len(strings.Join(c.Added, "") + strings.Join(c.Removed, "")); n > 2200 || !c.Cut || c.AddedCount < 290 {
		t.Errorf("%d bytes are told of %d lines (cut: %v)", n, c.AddedCount, c.Cut)
	}
}

// An item that is updated says what its values were and are.
func TestItemsTellValues(t *testing.T) {
	var m extract.ItemMemory
	m.Compare(extract.ListOf([]freshet.Item{{Key: "1", Title: "One", Text: strings.Repeat("long ", 100), Fields: freshet.Fields{"price": 10.0, "stock": true}}}))
	var again extract.ItemMemory
	if err := again.UnmarshalBinary(m.MarshalBinary()); err != nil {
		t.Fatal(err)
	}
	c := again.Compare(extract.ListOf([]freshet.Item{{Key: "1", Title: "One!", Text: strings.Repeat("longer ", 100), Fields: freshet.Fields{"price": 12.5, "size": "L"}}}))
	want := []freshet.FieldChange{{Name: "price", From: 10.0, To: 12.5}, {Name: "size", To: "L"}, {Name: "stock", From: true}, {Name: "title", From: "One", To: "One!"}}
	if diff := cmp.Diff(want, c.Updated[0].Values); diff != "" {
		t.Errorf("the values are told otherwise (-want +got):\n%s", diff)
	}
	if !cmp.Equal(c.Updated[0].Fields, []string{"price", "size", "stock", "text", "title"}) {
		t.Errorf("other are %v", c.Updated[0].Fields)
	}
}
