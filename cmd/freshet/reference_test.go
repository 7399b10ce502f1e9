package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/internal/app/config"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

// generated are the parts of the reference that are made of the code, by the names that stand in the comments
// around them: <!-- generated: NAME --> and <!-- end -->.
var generated = map[string]func(t *testing.T, b *strings.Builder){
	"settings": writeSettings, "source keys": writeSourceKeys, "commands": writeCommands, "endpoints": writeEndpoints,
	"events": writeEvents, "metrics": writeMetrics, "steps": writeSteps, "sinks": writeSinks,
}

// TestDocumentedReference holds the generated parts of the documentation to the code.
// "go test ./cmd/freshet -run TestDocumentedReference -update" writes them.
func TestDocumentedReference(t *testing.T) {
	part := regexp.MustCompile(`(?s)(<!-- generated: ([a-z ]+) -->\n).*?(<!-- end -->)`)
	missing := maps.Clone(generated)
	for page, text := range documentation(t) {
		now := part.ReplaceAllStringFunc(text, func(old string) string {
			m := part.FindStringSubmatch(old)
			write := generated[m[2]]
			if write == nil {
				t.Fatalf("%s: nothing generates %q", page, m[2])
			}
			delete(missing, m[2])
			var b strings.Builder
			write(t, &b)
			return m[1] + b.String() + m[3]
		})
		if now == text {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the code says; run go test ./cmd/freshet -run TestDocumentedReference -update (-page +code):\n%s", page, cmp.Diff(text, now))
		} else if err := os.WriteFile(filepath.Join("../..", page), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range missing {
		t.Errorf("no page has the part %q", name)
	}
}

// row writes a row of a table.
func row(b *strings.Builder, cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// head writes the head of a table.
func head(b *strings.Builder, cells ...string) {
	row(b, cells...)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

// code returns text as code, or nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func writeSettings(t *testing.T, b *strings.Builder) {
	home := map[string]string{"HOME": "/home/ann"}
	defaults := config.Defaults(func(name string) string { return home[name] })
	live := map[string]bool{}
	for _, o := range config.Live() {
		live[o.Key] = true
	}
	head(b, "key, flag", "meaning")
	for _, o := range config.Options() {
		name, about := code(o.Key), o.Help
		if o.Flag != "" {
			name += " " + code("--"+o.Flag)
		}
		if standard := strings.Trim(o.Text(defaults), "[]"); standard != "" && !strings.Contains(about, "(default") {
			about += " (default " + standard + ")"
		}
		if live[o.Key] {
			about += "; reload"
		}
		if o.Help == "" {
			t.Errorf("the setting %s has no help", o.Key)
		}
		row(b, name, about)
	}
}

// A description is an OpenAPI description.
type description struct {
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]struct {
			Required   []string
			Properties map[string]struct{ Description string }
		}
	}
}

type operation struct {
	Summary, Description string
	Tags                 []string
	Parameters           []struct{ Name, In, Description string }
}

func readDescription(t *testing.T) (d description) {
	t.Helper()
	text, err := os.ReadFile("../../internal/api/testdata/openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func writeSourceKeys(t *testing.T, b *strings.Builder) {
	described := readDescription(t).Components.Schemas["NewSource"].Properties
	head(b, "key, flag", "meaning")
	for _, f := range freshet.SourceFields() {
		name, about := code(f.Name), described[f.Name].Description
		if f.Flag != "" {
			name += " " + code("--"+f.Flag)
		}
		if about == "" {
			about = f.Help
		}
		if about != "" { // the daemon alone sets the others
			row(b, name, about)
		}
	}
}

// writeCommands writes the commands with their flags. A flag is described once: before all commands if many have it,
// else with the first that has it.
func writeCommands(_ *testing.T, b *strings.Builder) {
	root := (&program{env: func(string) string { return "" }, out: new(bytes.Buffer), err: new(bytes.Buffer)}).root()
	elsewhere := map[string]bool{"help": true}
	for _, o := range config.Options() {
		elsewhere[o.Flag] = true
	}
	for _, f := range freshet.SourceFields() {
		elsewhere[f.Flag] = true
	}
	const many, most = 5, 20
	verbs, uses, where := []*cobra.Command{}, map[string]int{}, map[string]string{}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { uses[flagLine(f)] = many })
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range listed(cmd) {
			if _, group := c.Annotations[isGroup]; !group {
				verbs = append(verbs, c)
				visitOwn(c, elsewhere, func(f *pflag.Flag) { uses[flagLine(f)]++ })
			}
			walk(c)
		}
	}
	walk(root)
	b.WriteString("## Flags of many commands\n\n")
	for _, line := range slices.Sorted(maps.Keys(uses)) {
		if uses[line] >= many {
			where[line] = "many"
			b.WriteString(line)
		}
	}
	b.WriteString("\n## Each command\n")
	for _, c := range verbs {
		name := strings.TrimPrefix(c.CommandPath(), "freshet ")
		fmt.Fprintf(b, "\n### %s\n\n%s: %s\n\n", name, code(strings.TrimSuffix(c.UseLine(), " [flags]")), c.Short)
		as := map[string][]string{}
		visitOwn(c, elsewhere, func(f *pflag.Flag) {
			line := flagLine(f)
			if other := where[line]; other == "" {
				where[line] = name
				b.WriteString(line)
			} else if uses[line] < most {
				as[other] = append(as[other], code("--"+f.Name))
			}
		})
		for _, other := range slices.Sorted(maps.Keys(as)) {
			if other != "many" {
				fmt.Fprintf(b, "- as of [%s](#%s): %s\n", other, strings.ReplaceAll(other, " ", "-"), strings.Join(as[other], ", "))
			} else {
				fmt.Fprintf(b, "- %s\n", strings.Join(as[other], ", "))
			}
		}
	}
}

// visitOwn visits the flags of a command that are described nowhere else.
func visitOwn(c *cobra.Command, elsewhere map[string]bool, visit func(*pflag.Flag)) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !elsewhere[f.Name] && !strings.HasPrefix(f.Usage, "step: ") {
			visit(f)
		}
	})
}

var formsOfTimes = regexp.MustCompile(`: a date, a time, or how long ago, such as \d+d`)

// flagLine describes a flag in a list.
func flagLine(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	usage = formsOfTimes.ReplaceAllString(usage, "") // the page has them above
	kind = strings.NewReplacer("stringArray", "string", "strings", "string").Replace(kind)
	return fmt.Sprintf("- %s: %s\n", code(strings.TrimSpace("--"+f.Name+" "+kind)), usage)
}

func writeEndpoints(t *testing.T, b *strings.Builder) {
	d := readDescription(t)
	for _, tag := range d.Tags {
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n", strings.ToUpper(tag.Name[:1])+tag.Name[1:], strings.TrimSuffix(tag.Description, ".")+".")
		head(b, "request", "what it does, parameters")
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				op, ok := d.Paths[path][method]
				if !ok || !slices.Contains(op.Tags, tag.Name) {
					continue
				}
				var params []string
				for _, p := range op.Parameters {
					if p.In == "query" {
						params = append(params, code(p.Name))
					}
				}
				about := op.Summary
				if len(params) > 0 {
					about += ": " + strings.Join(params, " ")
				}
				row(b, code(strings.ToUpper(method)+" "+strings.TrimPrefix(path, "/api/v1")), about)
			}
		}
	}
	b.WriteString("\n")
}

func writeEvents(t *testing.T, b *strings.Builder) {
	d := readDescription(t)
	for _, of := range []struct{ event, schema string }{{"freshet.change", "Change"}, {"freshet.match", "Match"}} {
		s := d.Components.Schemas[of.schema]
		fmt.Fprintf(b, "### %s\n\n", of.event)
		head(b, "field", "always", "meaning")
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			always := ""
			if slices.Contains(s.Required, name) {
				always = "yes"
			}
			row(b, code(name), always, s.Properties[name].Description)
		}
		b.WriteString("\n")
	}
}

// writeMetrics finds metrics where they are made: the name, the help and the labels, one after the other.
func writeMetrics(t *testing.T, b *strings.Builder) {
	rows := map[string][2]string{}
	files, err := filepath.Glob("../../internal/api/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			var texts []string
			if call, ok := n.(*ast.CallExpr); ok {
				ast.Inspect(call, func(n ast.Node) bool {
					if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
						text, _ := strconv.Unquote(l.Value) // it has been parsed
						texts = append(texts, text)
					}
					return true
				})
				if len(texts) > 1 && strings.HasPrefix(texts[0], "freshet_") {
					labels := ""
					if len(texts) > 2 {
						labels = "{" + strings.Join(texts[2:], ",") + "}"
					}
					rows[texts[0]] = [2]string{labels, strings.TrimSuffix(texts[1], ".")}
				}
			}
			return true
		})
	}
	head(b, "metric", "meaning")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row(b, code(name+rows[name][0]), rows[name][1])
	}
}

func writeSteps(_ *testing.T, b *strings.Builder) {
	head(b, "step", "works on", "gives", "what it does")
	for _, k := range extract.Steps() {
		name := k.Name
		if k.Arg != "" {
			name += ": " + k.Arg
		}
		row(b, fmt.Sprintf("[`%s`](#%s)", name, k.Name), string(k.Takes), string(k.Gives), k.Help)
	}
	last := ""
	for _, k := range extract.Steps() {
		fmt.Fprintf(b, "\n### %s\n\n    - %s\n", k.Name, k.Example)
		switch k.Input {
		case "":
		case last:
			fmt.Fprintf(b, "\nmakes of the same\n\n%s", block(k.Output))
		default:
			fmt.Fprintf(b, "\nmakes of\n\n%s\nthis:\n\n%s", block(k.Input), block(k.Output))
			last = k.Input
		}
		if k.Notes != "" {
			fmt.Fprintf(b, "\n%s\n", k.Notes)
		}
	}
}

// block returns a text as a block of Markdown.
func block(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r", "")) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

func writeSinks(_ *testing.T, b *strings.Builder) {
	head(b, "kind", "what it is", "URL, settings")
	for _, k := range sinks.Kinds() {
		with := []string{code(k.URL)}
		for _, s := range k.Settings {
			about := s.About
			if s.Needed {
				about += ", required"
			}
			with = append(with, code(s.Name)+" ("+about+")")
		}
		row(b, code(k.Name), k.About, strings.TrimPrefix(strings.Join(with, ", "), ", "))
	}
}
