package sinks

import (
	"strings"
	"testing"
	"text/template"
	"time"
)

// Templates come to what package text/template makes of them, and fail where it fails.
func TestTemplatesAreThoseOfGo(t *testing.T) {
	t.Parallel()
	own := template.FuncMap{}
	for name, f := range functions {
		switch name {
		case "and", "or", "not", "len", "index", "slice", "eq", "ne", "lt", "le", "gt", "ge":
		default:
			own[name] = f
		}
	}
	e := &Event{
		ID: "a.1", Kind: kindDigest, Title: "A <page>", Tags: []string{"x", "y", "z"}, Seq: 3, Number: 4,
		Before: time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC), Count: 12, Value: map[string]any{"b": 2.5, "a": "one", "c": nil, "l": []any{1, "two", true}},
		Entries: []*Event{{Title: "first"}, {Title: "second", Tags: []string{"w"}}, {}},
	}
	for _, text := range []string{
		`{{.Title}} {{.Seq}} {{.Tags}} {{.Items}} {{.Value}} {{.Before}} {{.Entries | len}}`,
		`{{and .Title .Seq}}{{and "" .Nothing}}{{or "" 0 "x"}}{{or .Title .Nothing}}{{.Seq | and 1}}{{"" | or 0}}{{not .Title}}`,
		`{{and}}`, `{{or 1 2 | and 0}}`,
		`{{if and (gt .Seq 2) (lt .Seq 4)}}yes{{else}}no{{end}}{{if eq .Kind "change" "digest"}}d{{end}}{{if ne .Kind "x"}}n{{end}}`,
		`{{eq 1 1}}{{eq 1 2}}{{eq "a" "a"}}{{eq .Seq .Number}}{{le 1.5 2.5}}{{ge "b" "a"}}{{gt 1 2}}{{eq true true}}{{eq true false}}`,
		`{{eq .Items nil}}`, `{{eq nil .Value}}`, `{{eq .Value.c nil}}`, `{{eq .Tags .Tags}}`, `{{eq 1 1.5}}`, `{{eq 1 "a"}}`, `{{lt true false}}`, `{{eq 1}}`, `{{lt 1 "a"}}`,
		`{{eq .Count 12}}{{eq .Source "x"}}{{eq .Before .Before}}{{eq .Before .After}}`,
		`{{index .Tags 1}}{{index .Value "a"}}{{index .Value "l" 1}}{{index .Value "none"}}`, `{{index .Tags 3}}`, `{{index .Tags "a"}}`, `{{index .Seq 1}}`, `{{index .Value 1}}`, `{{index "abc" 1}}`, `{{index .Tags -1}}`,
		`{{slice .Title 2}}{{slice .Title 1 3}}{{slice .Tags 1 2}}{{slice .Title}}`, `{{slice .Title 3 1}}`, `{{slice .Title 99}}`, `{{slice .Seq 1}}`,
		`{{len .Tags}}{{len .Title}}{{len .Value}}`, `{{len 3}}`,
		`{{range .Tags}}[{{.}}]{{end}}{{range $i, $t := .Tags}}{{$i}}={{$t}},{{end}}{{range $t := .Tags}}{{$t}}{{end}}{{range .Fields}}x{{else}}none{{end}}`,
		`{{range $k, $v := .Value}}{{$k}}:{{$v}};{{end}}{{range 3}}{{.}}{{end}}{{range $i := 3}}{{$i}}{{end}}{{range .Seq}}.{{end}}`,
		`{{range .Items}}x{{else}}e{{end}}`, `{{range .Title}}{{end}}`, `{{range $i, $j := 3}}{{end}}`, `{{range nil}}{{end}}`,
		`{{range $i, $t := .Tags}}{{if eq $i 1}}{{continue}}{{end}}{{$t}}{{if eq $i 1}}{{break}}{{end}}{{end}}{{range .Tags}}{{.}}{{break}}{{end}}`,
		`{{$x := 1}}{{range .Tags}}{{$x = .}}{{end}}{{$x}}{{$y := .}}{{$y.Title}}{{with $z := .Title}}{{$z}}{{.}}{{end}}{{with .Items}}x{{else with .Title}}{{.}}{{end}}`,
		`{{if $x := .Seq}}{{$x}}{{end}}{{with (index .Entries 1)}}{{.Title}}{{index .Tags 0}}{{end}}{{(index .Entries 0).Title}}{{(index .Entries 0).Top 1 | len}}`,
		`{{range .Top 2}}{{.Title}}{{$.Title}}{{end}}{{.Beyond 2}}{{2 | .Beyond}}{{(.Top 1 | len)}}{{.Heading}}`, `{{.Top "a"}}`, `{{.Top}}`, `{{.Top 1 2}}`, `{{.Title 1}}`, `{{1 | .Title}}`, `{{.Top 1.0 | len}}`, `{{.Top 1.5}}`,
		`{{.Before.Format "2006-01-02"}}{{.Before.Unix}}{{.Before.UTC.Year}}{{.Before.Month}}{{.Before.Weekday}}{{(.Before.Sub .Before).Seconds}}{{.Before.IsZero}}{{.Before.Month.String}}`,
		`{{.Nothing}}`, `{{.Title.Nothing}}`, `{{.Value.none}}`, `{{.Value.c.d}}`, `{{.Items.Added}}`, `{{.change}}`, `{{$.Value.a}}{{$.Value.l}}`, `{{$nothing}}`,
		`{{define "x"}}<{{.}}{{if $}}!{{end}}>{{end}}{{template "x" .Seq}}{{template "x"}}{{block "y" .Tags}}{{len .}}{{end}}`, `{{template "none"}}`,
		`{{upper .Title | printf "%s-%d" | print}}`, `{{printf "%s-%d" "a" 1 | upper}}{{"a" | printf "%s%s" "b"}}{{print 1 2 "x" 1.5 true nil}}{{println "a"}}`,
		`{{truncate 3 .Title}}`, `{{truncate "a" .Title}}`, `{{truncate .Count .Title}}`, `{{join "," .Title}}`, `{{join "," nil}}`, `{{upper nil}}`, `{{upper .Items}}`, `{{date "15:04" "UTC" .Title}}`,
		`{{1}}{{0x10}}{{'a'}}{{1.5}}{{1e3}}{{-1}}{{"s"}}{{true}}`, `{{nil}}`, `{{1 2}}`, `{{1 | 2}}`, `{{(1) 2}}`, `{{default "d" .Items}}{{default "d" 0}}`,
		"a {{- .Seq -}} b {{/* nothing */}}\n{{- /* x */ -}} c", `{{html .Title}}{{js .Title}}{{urlquery .Title}}{{json .Value}}{{contains "p" .Title}}{{lines "a\nb"}}`,
		`{{call .Title}}`, `{{not}}`, `{{not 1 2}}`, `{{true | not}}{{.Title | len | printf "%03d"}}`,
	} {
		w, err := parseWords(text)
		got := ""
		if err == nil {
			got, err = w.render(e)
		}
		want := &strings.Builder{}
		tmpl, wrong := template.New("template").Option("missingkey=error").Funcs(own).Parse(text)
		if wrong == nil {
			wrong = tmpl.Execute(want, e)
		}
		switch {
		case (err != nil) != (wrong != nil):
			t.Errorf("%s: fails by %v, want %v", text, err, wrong)
		case err == nil && got != want.String():
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
