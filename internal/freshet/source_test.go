package freshet_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

func TestSourceCheck(t *testing.T) {
	ok := freshet.Source{URL: "https://a.example/"}
	many := make([]string, 33)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	tests := []struct {
		field string // that is wrong
		edit  func(*freshet.Source)
	}{
		{"", func(*freshet.Source) {}},
		{"", func(s *freshet.Source) { s.Weight, s.Cost, s.Keep.Versions = 1e6, 0.001, 1 }},
		{"", func(s *freshet.Source) { s.MinGap, s.MaxGap = time.Hour, time.Hour }},
		{"", func(s *freshet.Source) { s.Name = strings.Repeat("ä", 200) }},
		{"url", func(s *freshet.Source) { s.URL = "" }},
		{"url", func(s *freshet.Source) { s.URL = "https://a.example/\x00" }},
		{"url", func(s *freshet.Source) { s.URL = "https://a.example/" + strings.Repeat("a", 8192) }},
		{"id", func(s *freshet.Source) { s.ID = "a b" }},
		{"id", func(s *freshet.Source) { s.ID = ".." }},
		{"id", func(s *freshet.Source) { s.ID = freshet.SourceID(strings.Repeat("a", 65)) }},
		{"name", func(s *freshet.Source) { s.Name = strings.Repeat("ä", 201) }},
		{"name", func(s *freshet.Source) { s.Name = "a\nb" }},
		{"tags", func(s *freshet.Source) { s.Tags = many }},
		{"tags[0]", func(s *freshet.Source) { s.Tags = []string{"two words"} }},
		{"tags[1]", func(s *freshet.Source) { s.Tags = []string{"a", "a,b"} }},
		{"tags[2]", func(s *freshet.Source) { s.Tags = []string{"a", "b", " "} }},
		{"tags[0]", func(s *freshet.Source) { s.Tags = []string{strings.Repeat("a", 65)} }},
		{"tags[0]", func(s *freshet.Source) { s.Tags = []string{"a\x7fb"} }},
		{"weight", func(s *freshet.Source) { s.Weight = -1 }},
		{"weight", func(s *freshet.Source) { s.Weight = math.NaN() }},
		{"weight", func(s *freshet.Source) { s.Weight = 1e6 + 1 }},
		{"cost", func(s *freshet.Source) { s.Cost = -1 }},
		{"cost", func(s *freshet.Source) { s.Cost = math.Inf(1) }},
		{"life", func(s *freshet.Source) { s.Life = objective.Visibility{Kind: objective.VisibleLast} }},
		{"urgency", func(s *freshet.Source) { s.Urgency = objective.Urgency{Kind: objective.UrgencyExp, A: 2} }},
		{"min_gap", func(s *freshet.Source) { s.MinGap = -1 }},
		{"max_gap", func(s *freshet.Source) { s.MaxGap = -1 }},
		{"min_gap", func(s *freshet.Source) { s.MinGap = 1 }},
		{"max_gap", func(s *freshet.Source) { s.MaxGap = 1 }},
		{"max_gap", func(s *freshet.Source) { s.MaxGap = 999 * time.Millisecond }},
		{"", func(s *freshet.Source) { s.MinGap, s.MaxGap, s.Keep.Age = time.Millisecond, time.Second, time.Minute }},
		{"keep.age", func(s *freshet.Source) { s.Keep.Age = time.Second }},
		{"max_gap", func(s *freshet.Source) { s.MinGap, s.MaxGap = 2*time.Hour, time.Hour }},
		{"level", func(s *freshet.Source) { s.Level = objective.ServiceLevel{Share: 2, Within: time.Hour} }},
		{"keep.age", func(s *freshet.Source) { s.Keep.Age = -1 }},
		{"keep.versions", func(s *freshet.Source) { s.Keep.Versions = -1 }},
		{"keep.bytes", func(s *freshet.Source) { s.Keep.Bytes = -1 }},
	}
	for _, tt := range tests {
		s := ok
		tt.edit(&s)
		_, err := s.Check()
		invalid, is := errors.AsType[*invalid.Error](err)
		if (tt.field != "") != is || is && invalid.Field != tt.field {
			t.Errorf("%s is judged %v, want something wrong with %q", s.Definition(), err, tt.field)
		}
	}
	s, err := freshet.Source{URL: ok.URL, Name: " a name ", Tags: []string{"b", " a ", "b"}}.Check()
	if diff := cmp.Diff([]string{"a", "b"}, s.Tags); err != nil || diff != "" || s.Name != "a name" {
		t.Errorf("the normal form is %+v (%v); tags (-want +got):\n%s", s, err, diff)
	}
}

// drawSource draws any source that a user could describe.
func drawSource(t *rapid.T) freshet.Source {
	maybe := func(name string) bool { return rapid.Bool().Draw(t, name) }
	length := func(name string) time.Duration { return time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, name)) }
	s := freshet.Source{
		ID: "a", URL: "https://a.example/" + rapid.String().Draw(t, "path"), Name: rapid.String().Draw(t, "name"),
		Tags:   rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "tags"),
		Recipe: reading.Recipe{CSS: rapid.String().Draw(t, "css"), JSONPath: rapid.String().Draw(t, "jsonpath"), Kind: rapid.SampledFrom([]reading.Kind{"", "html", "json"}).Draw(t, "kind")},
		Paused: maybe("paused"), MinGap: length("min gap"), MaxGap: length("max gap"),
		Keep: freshet.Keep{Age: length("age"), Versions: rapid.IntRange(0, 1<<40).Draw(t, "versions"), Bytes: rapid.Int64Range(0, 1<<62-1).Draw(t, "bytes")},
	}
	if maybe("has worth") {
		s.Weight, s.Cost = rapid.Float64Range(1e-9, 1e6).Draw(t, "weight"), rapid.Float64Range(1e-9, 1e6).Draw(t, "cost")
		s.Life = objective.Visibility{Kind: objective.VisibleFor, For: length("life")}
		s.Urgency = objective.Urgency{Kind: objective.UrgencyExp, A: rapid.Float64Range(0, 1).Draw(t, "rate"), Per: 1 + length("per")}
		s.Level = objective.ServiceLevel{Share: 0.9, Within: time.Second + length("within")}
	}
	return s
}

// A definition says all that was said of a source, and no more.
func TestDefinitionComesBack(t *testing.T) {
	if got := string(freshet.Source{}.Definition()); got != "{}" {
		t.Errorf("nothing is defined as %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := drawSource(t)
		got, err := freshet.ParseDefinition(want.Definition())
		if err != nil {
			t.Fatal(err)
		}
		if len(want.Tags) == 0 {
			want.Tags, got.Tags = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s is read as another source (-want +got):\n%s", want.Definition(), diff)
		}
	})
}

// Every field of a source that a user can say something of is in the table, is
// read as it is shown, and has a name and at most one flag of its own.
func TestSourceFields(t *testing.T) {
	names, flags := map[string]bool{}, map[string]bool{}
	for _, f := range freshet.SourceFields() {
		if names[f.Name] || f.Flag != "" && flags[f.Flag] || f.Flag != "" && f.Help == "" {
			t.Errorf("the field %s or its flag %q is there twice, or has no help", f.Name, f.Flag)
		}
		names[f.Name], flags[f.Flag] = true, true
	}
	rapid.Check(t, func(t *rapid.T) {
		want := drawSource(t)
		var got freshet.Source
		for _, f := range freshet.SourceFields() {
			if texts := f.Show(&want); len(texts) > 0 {
				if err := f.Read(&got, texts...); err != nil {
					t.Fatalf("%s is shown as %q and read with %v", f.Name, texts, err)
				}
			}
		}
		if len(want.Tags) == 0 {
			want.Tags = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("what is shown is read as another source (-want +got):\n%s", diff)
		}
	})
}

func TestPartOfASource(t *testing.T) {
	s := freshet.Source{Name: "a", Weight: 2, MinGap: time.Hour}
	if got, want := string(s.Part("name", "weight", "tags", "max_gap", "keep.bytes", "paused")), `{"keep":{"bytes":0},"max_gap":"","name":"a","paused":false,"tags":[],"weight":2}`; got != want {
		t.Errorf("the part is %s, want %s", got, want)
	}
}

func FuzzParseDefinition(f *testing.F) {
	f.Add([]byte(`{"url":"https://a.example/","tags":["a"],"select":{"css":"p"},"weight":2.0,"keep":{"age":"60000000000ns","bytes":5},"paused":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := freshet.ParseDefinition(text)
		if err != nil {
			return
		}
		again, err := freshet.ParseDefinition(s.Definition())
		if err != nil || string(again.Definition()) != string(s.Definition()) {
			t.Errorf("%s is %s, which reads as %s, %v", text, s.Definition(), again.Definition(), err)
		}
	})
}

func TestKeyOfNothing(t *testing.T) {
	if got := (reading.Recipe{Kind: reading.Auto}).Key(); got != "{}" {
		t.Errorf("the recipe that says nothing has the key %q, want {}: it is stored with versions", got)
	}
	for _, r := range []reading.Recipe{{Kind: reading.HTML}, {CSS: "p"}, {JSONPath: "$"}, {Read: []reading.Step{{Name: "text"}}}} {
		if r.Key() == "{}" {
			t.Errorf("%+v has the key of nothing", r)
		}
	}
}
