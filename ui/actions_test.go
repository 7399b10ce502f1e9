package ui_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lineless are requests of the page that show no lines, and why.
var lineless = map[string]string{
	"alert.tsx POST /alerts/preview":         "changes nothing: it shows what is being typed",
	"alert.tsx POST /alerts/test":            "changes nothing: it sends a test message",
	"login.tsx POST /session":                "a login by a program is a token",
	"login.tsx DELETE /session":              "a program without a session ends none",
	"queries.tsx POST /queries/test":         "changes nothing: it tries what is being typed",
	"settings.tsx POST /sources/{}/test":     "changes nothing: it tries what is being typed",
	"sinks.tsx POST /sinks-preview":          "changes nothing: it shows a sample",
	"remedies.tsx POST /sources/{}/poll":     "the poll after an edit, which a remedy is",
	"source.tsx POST /sources/{}/poll":       "waits for the first poll, which is made anyway; and Poll now, whose line is shown",
	"alert.tsx POST /queries/{}/acknowledge": "one button in a row of many; the line is in the help of the query",
	"bring.tsx POST /import/document":        "changes nothing: it fetches a list to look at",
	"start.tsx POST /probe":                  "changes nothing: it looks at a page",
	"start.tsx POST /alerts":                 "the line beside it is of the alert, the source or its edit, whatever is made",
	"start.tsx POST /sources":                "likewise",
	"start.tsx PATCH /sources/{}":            "likewise",
	"attention.tsx m.method m.path":          "a remedy is its own line: it is sent and shown from one value",
}

var (
	writing = regexp.MustCompile(`\b(?:send|ask)(?:<[^(]*>)?\(('(?:POST|PUT|PATCH|DELETE)'|[a-z][\w.]*), `)
	showing = regexp.MustCompile(`method(?:=|: )["'](POST|PUT|PATCH|DELETE)["'],? url(?:=\{|: )`)
	named   = regexp.MustCompile(`\bpath = (.+);\n`)
	address = regexp.MustCompile(`^address\(`)
	hole    = regexp.MustCompile(`\$\{[^}]*\}`)
	literal = regexp.MustCompile("^['`](.*)['`]$")
)

// firstOf returns an expression up to the comma or bracket that ends it.
func firstOf(code string) string {
	depth := 0
	var quoted rune
	for i, c := range code {
		switch {
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case strings.ContainsRune("'`", c):
			quoted = c
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c) && depth > 0:
			depth--
		case strings.ContainsRune(",)]}\n", c) && depth == 0:
			return code[:i]
		}
	}
	return code
}

// routeOf returns the path that an expression makes, with {} for what it fills in; before is the
// code above it, in which a path may have a name.
func routeOf(expression, before string) string {
	expression = strings.TrimSpace(expression)
	if address.MatchString(expression) {
		expression = firstOf(address.ReplaceAllString(expression, ""))
	}
	if names := named.FindAllStringSubmatch(before, -1); len(names) > 0 && (expression == "path" || strings.HasPrefix(expression, "path + ")) {
		expression = names[len(names)-1][1] + strings.TrimPrefix(expression, "path")
	}
	var route strings.Builder
	for piece := range strings.SplitSeq(expression, " + ") {
		if m := literal.FindStringSubmatch(piece); m != nil {
			route.WriteString(hole.ReplaceAllString(m[1], "{}"))
		} else {
			route.WriteString("{}")
		}
	}
	return route.String()
}

// Whatever the page has done on the server it shows as lines for a shell, in the same file: a new
// action cannot forget to.
func TestEveryActionShowsItsLines(t *testing.T) {
	files, err := filepath.Glob("src/*.tsx")
	if err != nil || len(files) < 20 {
		t.Fatalf("the page has %d files, %v", len(files), err)
	}
	used, actions := map[string]bool{}, 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code, name := string(text), filepath.Base(path)
		var shown []string
		for _, at := range showing.FindAllStringSubmatchIndex(code, -1) {
			shown = append(shown, code[at[2]:at[3]]+" "+routeOf(firstOf(code[at[1]:]), code[:at[0]]))
		}
		for _, at := range writing.FindAllStringSubmatchIndex(code, -1) {
			method, expression := code[at[2]:at[3]], firstOf(code[at[1]:])
			act := method + " " + expression
			if strings.HasPrefix(method, "'") {
				act = strings.Trim(method, "'") + " " + routeOf(expression, code[:at[0]])
			}
			actions++
			if _, known := lineless[name+" "+act]; known {
				used[name+" "+act] = true
			} else if !slices.Contains(shown, act) {
				t.Errorf("%s does %s and shows no line for it: add it to an AsLines, or to lineless with the reason. It shows %q", name, act, shown)
			}
		}
	}
	if actions < 40 {
		t.Errorf("only %d actions were found", actions)
	}
	for what := range lineless {
		if !used[what] {
			t.Errorf("%s is not done any more; take it from lineless", what)
		}
	}
}
