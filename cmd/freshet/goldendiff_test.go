package main

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
)

// diffStore makes a store whose sources changed in ways that are hard to show: a
// paragraph was moved, a JSON document and a long line were changed in one place, and a
// page tries to break out of whatever shows it.
func diffStore(t *testing.T) string {
	t.Helper()
	g := newPast(t)
	defer g.close()
	see := func(id freshet.SourceID, old, new string) {
		g.add(freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"})
		g.saw(id, 5*time.Hour, "A page", old)
		g.saw(id, time.Hour, "A page", new)
	}
	intro := "# The library\nThe library lends books, records and tools to everybody in the town.\n"
	hours := "## Hours\nOn weekdays the library is open from nine to five.\nOn Saturdays it is open from ten to one.\n"
	rest := "## Rules\nA book is lent for four weeks.\nA tool is lent for one week.\nWhoever is late pays one crown a day.\n## Rooms\nThe rooms can be had for meetings.\n"
	see("library", intro+hours+rest, intro+rest+hours)
	see("prices", "{\n  \"currency\": \"crown\",\n  \"items\": [\n    {\n      \"name\": \"kettle\",\n      \"price\": 19\n    },\n    {\n      \"name\": \"pot\",\n      \"price\": 24\n    }\n  ]\n}\n",
		"{\n  \"currency\": \"crown\",\n  \"items\": [\n    {\n      \"name\": \"kettle\",\n      \"price\": 18\n    },\n    {\n      \"name\": \"pan\",\n      \"price\": 31\n    },\n    {\n      \"name\": \"pot\",\n      \"price\": 24\n    }\n  ]\n}\n")
	minified := func(price string) string {
		return `{"currency":"crown","items":[` + strings.Repeat(`{"name":"spoon","price":3,"stock":12},`, 20) + `{"name":"kettle","price":` + price + `},` + strings.Repeat(`{"name":"fork","price":2,"stock":40},`, 20) + `{}]}` + "\n"
	}
	see("minified", minified("19"), minified("18"))
	see("hostile", "An offer\n<script>alert(1)</script> for 12 crowns\n\u202eevil\n", "An offer\n<script>alert(2)</script> for 14 crowns\n</table><img src=x onerror=alert(3)>\n")
	return g.dir
}

// TestGoldenDiff is TestGolden for the forms of diffs.
func TestGoldenDiff(t *testing.T) {
	inZone(t)
	env := map[string]string{"FRESHET_DATA": diffStore(t)}
	for _, tt := range []struct {
		name, line string
		code       int
	}{
		{"diff-moved", "diff library", 0},
		{"diff-moved-sides", "diff library --side-by-side", 0},
		{"diff-unified", "diff prices --unified", 0},
		{"diff-word", "diff prices --word", 0},
		{"diff-word-long", "diff minified --word", 0},
		{"diff-minified", "diff minified", 0},
		{"diff-word-hostile", "diff hostile --word", 0},
		{"diff-json-patch", "diff prices --json-patch", 0},
		{"diff-json-patch-text", "diff library --json-patch", exitUsage},
		{"diff-two-forms", "diff library --json-patch --word", exitUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goldenRun(t, tt.name, tt.line, tt.code, func() map[string]string { return env })
		})
	}
	t.Run("diff-html", func(t *testing.T) {
		out, code := printed(t, env, []string{"diff", "hostile", "--html"})
		if code != 0 {
			t.Fatalf("exit code %d", code)
		}
		isGolden(t, "testdata/golden/diff-html.html", out)
	})
}
