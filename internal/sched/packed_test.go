package sched_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/reading"
	"freshet/internal/sched"
)

// Whatever is said of a source, it comes out as it was put in, and two of which not the
// same is said are kept apart.
func TestPackedSourcesLoseNothing(t *testing.T) {
	plain := func() freshet.Source {
		return freshet.Source{
			ID: "a", URL: "https://a.example/", Tags: []string{"x"}, Request: &profile.Profile{}, Expect: &profile.Expect{},
			Site: &crawl.Settings{}, Recipe: reading.Recipe{Read: []reading.Step{{Name: "trim"}}}, Urgency: objective.Urgency{Table: []float64{1}},
		}
	}
	leaves := 0
	walk(reflect.ValueOf(plain()), nil, func(path []int) {
		leaves++
		other := plain()
		name := set(reflect.ValueOf(&other).Elem(), path)
		if reflect.DeepEqual(other, plain()) {
			t.Fatalf("%s could not be set", name)
		}
		again, said := sched.Packed(plain(), other, plain(), other)
		if !reflect.DeepEqual(again, []freshet.Source{plain(), other, plain(), other}) {
			t.Errorf("sources that differ in %s come out as others", name)
		}
		if own := []string{".ID", ".URL", ".Name", ".Created", ".Revision"}; !slices.Contains(own, name) && said != 2 {
			t.Errorf("of sources that differ in %s %d different things are said, want 2", name, said)
		}
	})
	if leaves < 60 {
		t.Errorf("only %d parts of a source were tried", leaves)
	}
	if _, said := sched.Packed(plain(), plain()); said != 1 {
		t.Errorf("the same is kept %d times", said)
	}
	if _, said := sched.Packed(freshet.Source{ID: "a"}, freshet.Source{ID: "b", Weight: math.NaN()}, freshet.Source{ID: "c", Weight: math.NaN()}); said != 3 {
		t.Errorf("what is equal to nothing is kept %d times, want 3", said)
	}
}

// walk finds the leaves of a value.
func walk(v reflect.Value, path []int, leaf func([]int)) {
	switch {
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), append(path[:len(path):len(path)], i), leaf)
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		walk(v.Elem(), path, leaf)
	default:
		leaf(path)
	}
}

// set changes the leaf at the end of a path, and returns its name.
func set(v reflect.Value, path []int) (name string) {
	for _, i := range path {
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		name += "." + v.Type().Field(i).Name
		v = v.Field(i)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "other")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		v.Set(reflect.ValueOf(start))
	default:
		panic(fmt.Sprintf("%s is a %s", name, v.Kind()))
	}
	return name
}

// A time in short is the same time, and in the same order; one that does not fit is the
// first or the last that does.
func TestStamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Time {
			return time.Unix(rapid.Int64Range(-9e9, 9e9).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name+" nanoseconds"))
		}
		a, b := draw("a"), draw("b")
		if !sched.Stamped(a).Equal(a) {
			t.Fatalf("%v becomes %v", a, sched.Stamped(a))
		}
		if sched.StampsInOrder(a, b) != a.Before(b) {
			t.Fatalf("%v and %v change their order", a, b)
		}
		if !sched.StampsInOrder(time.Time{}, a) {
			t.Fatalf("no time comes after %v", a)
		}
	})
	if !sched.Stamped(time.Time{}).IsZero() {
		t.Error("no time becomes one")
	}
	for _, year := range []int{1, 1500, 2500, 9999} {
		at := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		if got := sched.Stamped(at); got.IsZero() || got.Before(start) != at.Before(start) {
			t.Errorf("%v becomes %v", at, got)
		}
	}
}
