package safeyaml_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"freshet/internal/safeyaml"
)

func TestValues(t *testing.T) {
	for text, want := range map[string][]any{
		"":                                  nil,
		"a: 1\nb: [x, {y: z}]\n":            {map[string]any{"a": uint64(1), "b": []any{"x", map[string]any{"y": "z"}}}},
		"a: &x {k: v}\nb: *x\n":             {map[string]any{"a": map[string]any{"k": "v"}, "b": map[string]any{"k": "v"}}},
		"a: &x {k: v}\nb: {<<: *x, l: w}\n": {map[string]any{"a": map[string]any{"k": "v"}, "b": map[string]any{"k": "v", "l": "w"}}},
		"a: 1\n---\n- b\n":                  {map[string]any{"a": uint64(1)}, []any{"b"}},
	} {
		got, err := safeyaml.Values([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Values(%q) = %#v, %v, want %#v", text, got, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	merges := "a0: &a0 {k: v}\n"
	for i := range 12 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9))
		merges += fmt.Sprintf("a%d: &a%d {<<: [%s], k%d: v}\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	for name, tt := range map[string]struct {
		text string
		line int
		want string
	}{
		"dashes in braces": {"{a: " + strings.Repeat("- ", 50_000), 1, "nested more than 100 levels"},
		"brackets":         {strings.Repeat("[", 50_000), 1, "nested more than 100 levels"},
		"closed brackets":  {strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), 1, "nested more than 100 levels"},
		"block":            {strings.Repeat("- ", 5_000), 1, "nested more than 100 levels"},
		"quotes":           {strings.Repeat(`"`, 100_000), 1, "value is not allowed"},
		"tags":             {strings.Repeat("- !a\n", 5_000), 1001, "more than 1000 tags"},
		"no values":        {strings.Repeat("- a:\n", 100_000), 1, "have no value"},
		"documents":        {strings.Repeat("--- a\n", 100_000), 251, "too many documents"},
		"directives":       {strings.Repeat("%YAML 1.2\n---\n", 40_000), 626, "too many documents"},
		"aliases":          {laughs, 6, "expanding the aliases"},
		"many documents":   {strings.Repeat("---\na: &a ["+strings.Repeat("x, ", 3000)+"]\nb: ["+strings.Repeat("*a, ", 15)+"]\n", 10), 14, "expanding the aliases"},
		"merge keys":       {merges, 6, "expanding the aliases"},
		"itself":           {"a: &a [*a]\n", 1, "contains it"},
		"no anchor":        {"a: 1\nb: *x\n", 2, "could not find alias"},
		"no YAML":          {"a: 1\n  b: [\n", 1, "not allowed"},
	} {
		_, err := safeyaml.Values([]byte(tt.text))
		e, ok := errors.AsType[*safeyaml.Error](err)
		if !ok || e.Line != tt.line || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: the error is %.200v, want one in line %d with %q", name, err, tt.line, tt.want)
		}
	}
}

// parts are pieces of YAML that nest, repeat, refer and quote.
var parts = []string{
	"[", "]", "{", "}", "{a: ", "- ", "? ", "a: ", "- a\n", "\"", "\"\"\n", "'a'\n", "&a ", "!a\n", "*a\n", "*a ", "&b [*a, *a]\n", "# a\n", "---\n", "|\n", "a\n",
	"@\n", ",", ",\n", "<<: *a\n", "<<:\n", "a:\n", "  ", "\n", "- [\n", "{a: [\n", "- - \n", "a: |\n  x\n", "%a\n", "a: &a\n", "...\n", ": ", "\t", "\r", "a: >\n",
	"{},", "[],", "{a},", "!!binary a\n", "\ufeff", "a, ", "--- a\n", "a\n---\n", "%YAML 1.2\n---\n", "%TAG ! tag:\n", "|2\n", ">-\n\n", "? a\n: b\n", "\"a\": ", "\\", "é",
}

// Documents that try to make the parser slow end within bounds of time and memory. A minute
// is a thousand times what they take.
func TestHostileDocuments(t *testing.T) {
	const size = 60_000
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		unit := ""
		for range 1 + chance.IntN(4) {
			unit += parts[chance.IntN(len(parts))]
		}
		if i < len(parts) {
			unit = parts[i]
		}
		text := []string{"", "[", "{", "a: &a x\nb:\n"}[chance.IntN(4)] + strings.Repeat(unit, size/len(unit))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := safeyaml.Values([]byte(text)); err != nil {
				_ = err.Error()
			}
		}()
		select {
		case <-done:
		case <-time.After(5 * time.Minute):
			t.Fatalf("%d times %q is not parsed within a minute", size/len(unit), unit)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
			t.Errorf("%d times %q takes %d MB", size/len(unit), unit, n>>20)
		}
	}
}

func FuzzValues(f *testing.F) {
	f.Add("a: &x {k: v}\nb: {<<: *x, l: w}\n")
	f.Add("- !a [*a, {b: |\n  c\n}]")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := safeyaml.Values([]byte(text)); err != nil {
			_ = err.Error()
		}
	})
}
