package config_test

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"freshet/internal/app/config"
)

// A long list says the same of its mistakes as a short one, with the right lines.
func TestMistakesInALongList(t *testing.T) {
	for _, c := range []struct{ name, item, want string }{
		{"unknown key", "  - url: https://a.example/\n    tag: x\n", `%d:5: sources[%d]: unknown key "tag" (did you mean "tags"?)`},
		{"no url", "  - name: x\n", `%[1]d:5: sources[%[2]d]: the source has no url`},
		{"bad url", "  - url: ftp://a.example/\n", `%d:10: sources[%d].url: `},
		{"repeated key", "  - url: https://a.example/\n    url: https://b.example/\n", `%d:5: sources[%d]: the key "url" is repeated; it was first used in line `},
		{"same source", "  - https://host.example/7\n", `%d:5: sources[%d].url: the same source is already in line 9;`},
		{"same id", "  - {url: https://a.example/, id: first}\n", `%d:35: sources[%d].id: the id "first" is already used by the source in line 2`},
		{"syntax", "  - url: \"https://a.example/\n", `%d:10: invalid YAML: `},
		{"comment and blank", "# a comment\n\n      # another\n  - url: 3\n", `%[1]d:10: sources[%[2]d].url: `},
		{"block scalar", "  - url: https://a.example/\n    name: >-\n      - url\n      x\n    wrong: 1\n", `%d:5: sources[%d]: unknown key "wrong"`},
		{"after the list", "queries: 3\n", `%d:10: queries: expected a list`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, before := range []int{20, 1100} { // a short and a long list
				var b strings.Builder
				b.WriteString("sources:\n  - {url: https://first.example/, id: first}\n")
				for i := 1; i < before; i++ {
					fmt.Fprintf(&b, "  - https://host.example/%d\n", i)
				}
				lines := strings.Count(b.String(), "\n")
				b.WriteString(c.item)
				for i := before; i < before+50 && c.name != "syntax" && c.name != "after the list"; i++ {
					fmt.Fprintf(&b, "  - https://host.example/%d\n", i)
				}
				_, err := config.LoadText(config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}, b.String())
				wrong, ok := errors.AsType[*config.Error](err)
				if !ok || len(wrong.Problems) != 1 {
					t.Fatalf("with %d sources the error is %v", before, err)
				}
				line := lines + strings.Count(c.item, "\n")
				if want := "f.yaml:" + strings.Split(fmt.Sprintf(c.want, line, before), "%!(EXTRA")[0]; !strings.Contains(err.Error(), want) {
					t.Errorf("with %d sources the error is\n%v, want\n%s", before, err, want)
				}
			}
		})
	}
}

// A list takes memory for its sources and not for the tree of its YAML.
func TestMemoryOfALongList(t *testing.T) {
	var b strings.Builder
	const n = 5_000
	b.WriteString("budget: 1/s\nsources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - url: https://host%d.example/section/page-%d.html\n    tags: [news, t%d]\n", i%100, i, i%20)
	}
	text := b.String()
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // so that the heap is hardly more than what is used
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	done := make(chan config.Settings)
	go func() {
		s, err := config.LoadText(config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}, text)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	var most uint64
	for {
		select {
		case s := <-done:
			if s.Sources.Len() != n {
				t.Errorf("there are %d sources", s.Sources.Len())
			}
			if each := (most - before) / n; each > 4_000 {
				t.Errorf("a source takes %d bytes while the file is read", each)
			}
			runtime.GC()
			runtime.ReadMemStats(&m)
			if each := (max(m.HeapAlloc, before) - before) / n; each > 400 {
				t.Errorf("a source takes %d bytes when the file has been read", each)
			}
			runtime.KeepAlive(s)
			return
		default:
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc, before)
		}
	}
}
