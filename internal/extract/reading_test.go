package extract_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
)

// The list of steps in docs/reference/reading.md is the one that the program has.
func TestReadingPage(t *testing.T) {
	const page, begin, end = "../../docs/reference/reading.md", "<!-- steps -->\n", "<!-- end of steps -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte(begin))
	old, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatal("docs/reference/reading.md has no place for the steps")
	}
	var b strings.Builder
	b.WriteString("| step | works on | gives | what it does |\n|---|---|---|---|\n")
	for _, k := range extract.Steps() {
		name := k.Name
		if k.Arg != "" {
			name += ": " + k.Arg
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", name, k.Name, k.Takes, k.Gives, k.Help)
	}
	for _, k := range extract.Steps() {
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n    - %s\n", k.Name, strings.ToUpper(k.Help[:1])+k.Help[1:], k.Example)
		if k.Input != "" {
			fmt.Fprintf(&b, "\nmakes of\n\n%s\nthis:\n\n%s", indented(k.Input), indented(k.Output))
		}
		if k.Notes != "" {
			fmt.Fprintf(&b, "\n%s\n", k.Notes)
		}
	}
	if d := cmp.Diff(string(old), b.String()); d != "" {
		if !*update {
			t.Fatalf("the steps in docs/reference/reading.md are not those of the program; run go test ./content -run TestReadingPage -update (-page +program):\n%s", d)
		}
		if err := os.WriteFile(page, fmt.Appendf(nil, "%s%s%s%s%s", head, begin, b.String(), end, tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// indented returns a text as a block of Markdown.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r", "")) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
