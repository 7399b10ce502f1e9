package cluster_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
	"freshet/internal/freshet/suspect"
	"freshet/internal/worker"
)

// fill sets every field of a value to something, including fields that are added later.
func fill(t *rapid.T, v reflect.Value, depth int) {
	if rapid.IntRange(0, 3).Draw(t, "leave") == 0 {
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()))
		return
	}
	if v.Type() == reflect.TypeFor[freshet.Result]() {
		v.SetUint(rapid.Uint64Range(0, uint64(freshet.Doubted)).Draw(t, "result"))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint"))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct && depth == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "length"), 3))
		for i := range v.Len() {
			fill(t, v.Index(i), depth-1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if f.IsExported() {
				fill(t, v.FieldByIndex(f.Index), depth)
			}
		}
	case reflect.Map:
		if hosts := reflect.ValueOf(map[string]time.Duration{"host": time.Minute}); hosts.Type() == v.Type() {
			v.Set(hosts)
		}
	}
}

// Tasks survive encoding and decoding.
func TestTaskEncoding(t *testing.T) {
	known, heard := &cluster.SentDefinitions{}, &cluster.Definitions{}
	rapid.Check(t, func(t *rapid.T) {
		var want cluster.TaskMessage
		fill(t, reflect.ValueOf(&want).Elem(), 2)
		clear := func(say *cluster.TaskMessage) {
			say.Definition = cluster.SharedDefinition(freshet.Source{ID: "other", Noise: freshet.NoiseOff, Recipe: reading.Recipe{CSS: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "css")}})
		}
		clear(&want)
		for i := range want.Shared {
			clear(&want.Shared[i])
			for j := range want.Shared[i].Shared {
				clear(&want.Shared[i].Shared[j])
			}
		}
		id := rapid.Uint64().Draw(t, "id")
		gotID, got, source, err := cluster.DecodeTask(cluster.EncodeTask(id, &want, known), heard)
		if err != nil || gotID != id {
			t.Fatalf("order %d is read as %d: %v", id, gotID, err)
		}
		define, err := freshet.ParseDefinition(want.Definition)
		if define.ID, define.URL = want.Source, want.URL; err != nil || !reflect.DeepEqual(source, define) {
			t.Errorf("the source is %+v, want %+v: %v", source, define, err)
		}
		opts := []cmp.Option{cmpopts.IgnoreUnexported(cluster.TaskMessage{}), cmpopts.IgnoreFields(cluster.TaskMessage{}, "Definition"), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(want, *got, opts...); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Results survive encoding and decoding as they do in JSON.
func TestResultEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var found worker.Result
		fill(t, reflect.ValueOf(&found).Elem(), 2)
		whole := func(f *worker.Result) {
			f.Items, f.Noise = nil, nil
			if f.Foretold != nil {
				f.Foretold = &evidence.Announcement{Next: []evidence.Next{{At: time.Unix(1e9, 0).UTC()}}}
			}
			if f.Word != nil {
				f.Word = &evidence.IndexHint{From: time.Unix(1e9, 0).UTC()}
			}
			if f.Capture != nil {
				f.Capture = &freshet.Capture{Title: f.Capture.Title, Summary: f.Capture.Summary, Hash: f.Capture.Hash}
			}
		}
		whole(&found)
		for i := range found.Shared {
			whole(&found.Shared[i])
			for j := range found.Shared[i].Shared {
				whole(&found.Shared[i].Shared[j])
			}
		}
		text, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		var want worker.Result
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		head, err := cluster.EncodeResult(7, found)
		if err != nil {
			t.Fatal(err)
		}
		id, got, err := cluster.DecodeResult(head)
		if err != nil || id != 7 {
			t.Fatalf("finding 7 is read as %d: %v", id, err)
		}
		if diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(worker.Result{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Sources share a definition if they differ only in fields that the leader alone uses.
func TestSharedDefinitions(t *testing.T) {
	for name, s := range map[string]freshet.Source{
		"nothing":  {},
		"the rest": {ID: "a", URL: "https://a.example", Name: "A", Tags: []string{"x"}, Weight: 3, MinGap: time.Minute, Origin: freshet.FromAPI, Created: time.Unix(1e9, 0), Revision: 4, Of: "site"},
	} {
		if got := cluster.SharedDefinition(s); got != nil {
			t.Errorf("%s is told as %s", name, got)
		}
	}
	known, say := &cluster.SentDefinitions{}, &cluster.TaskMessage{Definition: []byte(`{"css":"main"}`)}
	if told, again := len(cluster.EncodeTask(1, say, known)), len(cluster.EncodeTask(1, say, known)); told-again < len(say.Definition) {
		t.Errorf("a task takes %d bytes, and %d when the worker knows how to read the source", told, again)
	}
	zone := evidence.NextChange{Zone: "Europe/Berlin"}
	for name, s := range map[string]freshet.Source{
		"recipe": {Recipe: reading.Recipe{CSS: "main"}}, "noise": {Noise: freshet.NoiseAuto}, "suspect": {Suspect: suspect.Mark},
		"next": {NextChange: zone}, "render": {Recipe: reading.Recipe{Render: rendering.Settings{On: true}}},
	} {
		got, err := freshet.ParseDefinition(cluster.SharedDefinition(s))
		if diff := cmp.Diff(s, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A worker keeps exactly the definitions that its leader assumes.
func TestDefinitionsAreReplaced(t *testing.T) {
	known, heard := &cluster.SentDefinitions{}, &cluster.Definitions{}
	orders := 0
	tell := func(t rapid.TB, n int) {
		s := freshet.Source{Recipe: reading.Recipe{CSS: "x" + strings.Repeat("y", n)}}
		if n%100 == 0 {
			s.Recipe.CSS = strings.Repeat("z", cluster.MaxDefinitionSize+n)
		}
		_, _, got, err := cluster.DecodeTask(cluster.EncodeTask(1, &cluster.TaskMessage{Definition: cluster.SharedDefinition(s)}, known), heard)
		if err != nil || got.Recipe.CSS != s.Recipe.CSS {
			t.Fatalf("after %d tasks: %v, and %.20q of %d instead of %d bytes", orders, err, got.Recipe.CSS, len(got.Recipe.CSS), len(s.Recipe.CSS))
		}
		orders++
	}
	for n := range 2 * cluster.MaxDefinitions {
		tell(t, n)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 2*cluster.MaxDefinitions).Draw(t, "n")
		for range 50 {
			n = (n + 1) % (2 * cluster.MaxDefinitions)
			tell(t, n)
		}
	})
	if n := heard.Known(); n != cluster.MaxDefinitions {
		t.Errorf("the worker knows %d readings after %d tasks", n, orders)
	}
}

// Arbitrary input is decoded or rejected, with memory in proportion to its size.
func FuzzCodec(f *testing.F) {
	known := &cluster.SentDefinitions{}
	say := cluster.TaskMessage{Source: "a", URL: "https://a.example", Definition: []byte(`{"css":"main"}`), At: time.Unix(1e9, 5), Shared: []cluster.TaskMessage{{Source: "b"}}}
	f.Add(cluster.EncodeTask(1, &say, known))
	f.Add(cluster.EncodeTask(1<<40, &say, known))
	for _, found := range []worker.Result{{Status: 200, Listed: -1}, {Result: freshet.Changed, Capture: &freshet.Capture{Title: "t", Text: []byte("x")}, Shared: []worker.Result{{}}}} {
		head, err := cluster.EncodeResult(3, found)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if id, found, err := cluster.DecodeResult(head); err == nil && found != nil {
			again, err := cluster.EncodeResult(id, *found)
			if err != nil {
				return // what JSON reads it need not write
			}
			if _, got, err := cluster.DecodeResult(again); err != nil || !cmp.Equal(*found, *got, cmpopts.IgnoreUnexported(worker.Result{}), cmpopts.EquateEmpty()) {
				t.Errorf("%+v comes back as %+v: %v", found, got, err)
			}
		}
		heard := &cluster.Definitions{}
		if _, say, s, err := cluster.DecodeTask(head, heard); err == nil && say != nil {
			say.Definition = cluster.SharedDefinition(s)
			if _, got, _, err := cluster.DecodeTask(cluster.EncodeTask(1, say, &cluster.SentDefinitions{}), heard); err != nil || !cmp.Equal(say.Head, got.Head) || say.URL != got.URL {
				t.Errorf("%+v comes back as %+v: %v", say, got, err)
			}
		}
	})
}
