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

// fill gives every field of a value something, or leaves it as it is. A field that somebody adds is
// filled, too.
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

// Orders come back as they were, whatever they say.
func TestOrders(t *testing.T) {
	known, heard := &cluster.Told{}, &cluster.Heard{}
	rapid.Check(t, func(t *rapid.T) {
		var want cluster.OrderSay
		fill(t, reflect.ValueOf(&want).Elem(), 2)
		clear := func(say *cluster.OrderSay) {
			say.Definition = cluster.ReadingOf(freshet.Source{ID: "other", Noise: freshet.NoiseOff, Recipe: reading.Recipe{CSS: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "css")}})
		}
		clear(&want)
		for i := range want.Shared {
			clear(&want.Shared[i])
			for j := range want.Shared[i].Shared {
				clear(&want.Shared[i].Shared[j])
			}
		}
		id := rapid.Uint64().Draw(t, "id")
		gotID, got, source, err := cluster.ReadOrder(cluster.WriteOrder(id, &want, known), heard)
		if err != nil || gotID != id {
			t.Fatalf("order %d is read as %d: %v", id, gotID, err)
		}
		define, err := freshet.ParseDefinition(want.Definition)
		if define.ID, define.URL = want.Source, want.URL; err != nil || !reflect.DeepEqual(source, define) {
			t.Errorf("the source is %+v, want %+v: %v", source, define, err)
		}
		opts := []cmp.Option{cmpopts.IgnoreUnexported(cluster.OrderSay{}), cmpopts.IgnoreFields(cluster.OrderSay{}, "Definition"), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(want, *got, opts...); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Findings come back as they do from JSON, whatever they say.
func TestFindings(t *testing.T) {
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
		head, err := cluster.WriteDone(7, found)
		if err != nil {
			t.Fatal(err)
		}
		id, got, err := cluster.ReadDone(head)
		if err != nil || id != 7 {
			t.Fatalf("finding 7 is read as %d: %v", id, err)
		}
		if diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(worker.Result{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Two sources have the same reading if they differ only in fields that the leader alone uses.
func TestReadings(t *testing.T) {
	for name, s := range map[string]freshet.Source{
		"nothing":  {},
		"the rest": {ID: "a", URL: "https://a.example", Name: "A", Tags: []string{"x"}, Weight: 3, MinGap: time.Minute, Origin: freshet.FromAPI, Created: time.Unix(1e9, 0), Revision: 4, Of: "site"},
	} {
		if got := cluster.ReadingOf(s); got != nil {
			t.Errorf("%s is told as %s", name, got)
		}
	}
	known, say := &cluster.Told{}, &cluster.OrderSay{Definition: []byte(`{"css":"main"}`)}
	if told, again := len(cluster.WriteOrder(1, say, known)), len(cluster.WriteOrder(1, say, known)); told-again < len(say.Definition) {
		t.Errorf("a task takes %d bytes, and %d when the worker knows how to read the source", told, again)
	}
	zone := evidence.NextChange{Zone: "Europe/Berlin"}
	for name, s := range map[string]freshet.Source{
		"recipe": {Recipe: reading.Recipe{CSS: "main"}}, "noise": {Noise: freshet.NoiseAuto}, "suspect": {Suspect: suspect.Mark},
		"next": {NextChange: zone}, "render": {Recipe: reading.Recipe{Render: rendering.Settings{On: true}}},
	} {
		got, err := freshet.ParseDefinition(cluster.ReadingOf(s))
		if diff := cmp.Diff(s, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A worker knows as many readings as its leader thinks that it does, however many there are.
func TestReadingsAreForgotten(t *testing.T) {
	known, heard := &cluster.Told{}, &cluster.Heard{}
	orders := 0
	tell := func(t rapid.TB, n int) {
		s := freshet.Source{Recipe: reading.Recipe{CSS: "x" + strings.Repeat("y", n)}}
		if n%100 == 0 {
			s.Recipe.CSS = strings.Repeat("z", cluster.MostReading+n)
		}
		_, _, got, err := cluster.ReadOrder(cluster.WriteOrder(1, &cluster.OrderSay{Definition: cluster.ReadingOf(s)}, known), heard)
		if err != nil || got.Recipe.CSS != s.Recipe.CSS {
			t.Fatalf("after %d tasks: %v, and %.20q of %d instead of %d bytes", orders, err, got.Recipe.CSS, len(got.Recipe.CSS), len(s.Recipe.CSS))
		}
		orders++
	}
	for n := range 2 * cluster.MostReadings {
		tell(t, n)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 2*cluster.MostReadings).Draw(t, "n")
		for range 50 {
			n = (n + 1) % (2 * cluster.MostReadings)
			tell(t, n)
		}
	})
	if n := heard.Known(); n != cluster.MostReadings {
		t.Errorf("the worker knows %d readings after %d tasks", n, orders)
	}
}

// Whatever comes, it is read or refused, and takes no more memory than there are bytes to account for it.
func FuzzCodec(f *testing.F) {
	known := &cluster.Told{}
	say := cluster.OrderSay{Source: "a", URL: "https://a.example", Definition: []byte(`{"css":"main"}`), At: time.Unix(1e9, 5), Shared: []cluster.OrderSay{{Source: "b"}}}
	f.Add(cluster.WriteOrder(1, &say, known))
	f.Add(cluster.WriteOrder(1<<40, &say, known))
	for _, found := range []worker.Result{{Status: 200, Listed: -1}, {Result: freshet.Changed, Capture: &freshet.Capture{Title: "t", Text: []byte("x")}, Shared: []worker.Result{{}}}} {
		head, err := cluster.WriteDone(3, found)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if id, found, err := cluster.ReadDone(head); err == nil && found != nil {
			again, err := cluster.WriteDone(id, *found)
			if err != nil {
				return // what JSON reads it need not write
			}
			if _, got, err := cluster.ReadDone(again); err != nil || !cmp.Equal(*found, *got, cmpopts.IgnoreUnexported(worker.Result{}), cmpopts.EquateEmpty()) {
				t.Errorf("%+v comes back as %+v: %v", found, got, err)
			}
		}
		heard := &cluster.Heard{}
		if _, say, s, err := cluster.ReadOrder(head, heard); err == nil && say != nil {
			say.Definition = cluster.ReadingOf(s)
			if _, got, _, err := cluster.ReadOrder(cluster.WriteOrder(1, say, &cluster.Told{}), heard); err != nil || !cmp.Equal(say.Head, got.Head) || say.URL != got.URL {
				t.Errorf("%+v comes back as %+v: %v", say, got, err)
			}
		}
	})
}
