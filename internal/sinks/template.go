package sinks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lazyregexp"
	"freshet/internal/suggest"
)

// Bounds on what a template may do. It is written by whoever may add sinks, and must not
// be able to stop the others.
const (
	maxOutput = 256 << 10 // bytes of what it makes, and of every text in between
	maxSteps  = 10_000    // rounds of its loops, and templates that it calls
)

// words are a template that has been checked.
type words struct{ tmpl *template.Template }

// parseWords reads a template. The error is an *freshet.InvalidError that names the line.
func parseWords(text string) (words, error) {
	tmpl, err := template.New("template").Option("missingkey=error").Funcs(new(run).functions()).Parse(text)
	if err != nil {
		return words{}, templateError(err)
	}
	counting := template.Must(template.New("").Funcs(new(run).functions()).Parse("{{step}}")).Root.Nodes[0]
	for _, t := range tmpl.Templates() {
		if t.Tree == nil {
			continue
		}
		countLoops(t.Root, counting)
		t.Root.Nodes = append([]parse.Node{counting}, t.Root.Nodes...) // templates can call themselves
	}
	return words{tmpl}, nil
}

// countLoops has every round of every loop counted.
func countLoops(n parse.Node, counting parse.Node) {
	var lists []*parse.ListNode
	switch n := n.(type) {
	case *parse.ListNode:
		lists = []*parse.ListNode{n}
	case *parse.IfNode:
		lists = []*parse.ListNode{n.List, n.ElseList}
	case *parse.WithNode:
		lists = []*parse.ListNode{n.List, n.ElseList}
	case *parse.RangeNode:
		lists = []*parse.ListNode{n.List, n.ElseList}
		defer func() { n.List.Nodes = append([]parse.Node{counting}, n.List.Nodes...) }()
	}
	for _, l := range lists {
		if l == nil {
			continue
		}
		for _, inner := range l.Nodes {
			countLoops(inner, counting)
		}
	}
}

// position is how package text/template says where an error is.
var position = lazyregexp.New(`^template: template:(\d+)(?::(\d+))?: `)

// noField is how package text/template says that there is no such name.
var noField = lazyregexp.New(`at <.*>: can't evaluate field (\w+) in type \*sinks\.Event`)

// templateHint says what to do about a mistake in a template.
const templateHint = "docs/delivery.md has all names and functions; freshet sink kinds KIND shows a template that works, and --preview what one makes"

// templateError says where in a template an error is.
func templateError(err error) error {
	for _, own := range []error{errTooSlow, errTooLong} {
		if errors.Is(err, own) {
			return &freshet.InvalidError{Field: "template", Reason: own.Error()}
		}
	}
	text := err.Error()
	if m := position.FindStringSubmatch(text); m != nil {
		where := "line " + m[1]
		if column, err := strconv.Atoi(m[2]); err == nil {
			where += ", column " + strconv.Itoa(column+1)
		}
		text = where + ": " + strings.TrimPrefix(text, m[0])
	}
	text = strings.ReplaceAll(text, `executing "template" `, "")
	if m := noField.FindStringSubmatch(text); m != nil {
		text = strings.Replace(text, m[0], fmt.Sprintf("there is no .%s%s", m[1], suggest.DidYouMean(m[1], eventNames())), 1)
	}
	return freshet.WithHint(&freshet.InvalidError{Field: "template", Reason: text}, templateHint)
}

// eventNames are all that a template can ask of an event.
func eventNames() (names []string) {
	t := reflect.TypeFor[*Event]()
	for f := range t.Elem().Fields() {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	for m := range t.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// render returns what the template makes of an event.
func (w words) render(e *Event) (string, error) {
	r := &run{}
	tmpl, err := w.tmpl.Clone()
	if err != nil {
		return "", err
	}
	out := &bounded{}
	if err := tmpl.Funcs(r.functions()).Execute(out, e); err != nil {
		return "", templateError(err)
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD"), nil
}

// A bounded buffer takes only so much.
type bounded struct{ bytes.Buffer }

// Write takes part of the output.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

var (
	errTooLong  = fmt.Errorf("the output is longer than %d bytes", maxOutput)
	errTooSlow  = fmt.Errorf("its loops go round more than %d times", maxSteps)
	errNoFormat = errors.New("printf takes no width or precision above 999, and no *")
)

// A run is one execution of a template.
type run struct{ steps int }

// step counts a round of a loop.
func (r *run) step() (string, error) {
	if r.steps++; r.steps > maxSteps {
		return "", errTooSlow
	}
	return "", nil
}

// wide is a width or a precision that could fill the memory.
var wide = lazyregexp.New(`%[-+# 0]*(\d{4,}|\d*\.\d{4,}|[\d.]*\*)`)

// functions are all that a template can call, besides comparisons, and, or, not, index,
// slice and len. None reads a clock, a file or the environment, and none makes a text
// that is longer than the output may be.
func (r *run) functions() template.FuncMap {
	text := func(f func(string) string) func(any) (string, error) {
		return func(v any) (string, error) { return short(f(fmt.Sprint(v))) }
	}
	return template.FuncMap{
		"step":     r.step,
		"call":     func(any, ...any) (string, error) { return "", errors.New("there are no functions to call") },
		"print":    func(v ...any) (string, error) { return short(fmt.Sprint(v...)) },
		"println":  func(v ...any) (string, error) { return short(fmt.Sprintln(v...)) },
		"printf":   printf,
		"html":     text(html.EscapeString),
		"js":       text(template.JSEscapeString),
		"urlquery": text(url.QueryEscape),
		"json":     toJSON,
		"upper":    text(strings.ToUpper),
		"lower":    text(strings.ToLower),
		"trim":     text(strings.TrimSpace),
		"quiet":    text(quiet),
		"mrkdwn":   text(mrkdwn),
		"fence":    func(v any) (string, error) { return short(fence(fmt.Sprint(v))) },
		"truncate": func(most int, v any) string { return cut(fmt.Sprint(v), most) },
		"replace":  func(old, new string, v any) (string, error) { return replace(old, new, fmt.Sprint(v)) },
		"join":     func(sep string, v []string) (string, error) { return short(strings.Join(v, sep)) },
		"lines":    func(v any) []string { return strings.Split(strings.TrimRight(fmt.Sprint(v), "\n"), "\n") },
		"contains": func(part string, v any) bool { return strings.Contains(fmt.Sprint(v), part) },
		"default":  func(other, v any) any { return or(v, other) },
		"date":     date,
	}
}

func short(text string) (string, error) {
	if len(text) > maxOutput {
		return "", errTooLong
	}
	return text, nil
}

func printf(format string, v ...any) (string, error) {
	if wide.MatchString(format) {
		return "", errNoFormat
	}
	return short(fmt.Sprintf(format, v...))
}

func toJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return short(strings.TrimRight(b.String(), "\n"))
}

func replace(old, new, text string) (string, error) {
	if len(text)+strings.Count(text, old)*len(new) > 2*maxOutput {
		return "", errTooLong
	}
	return short(strings.ReplaceAll(text, old, new))
}

// or returns a value, or another if it is empty.
func or(v, other any) any {
	if v == nil || reflect.ValueOf(v).IsZero() {
		return other
	}
	return v
}

// date writes a time as package time does, in a zone such as Europe/Berlin.
func date(layout, zone string, t time.Time) (string, error) {
	at, err := time.LoadLocation(zone)
	if err != nil {
		return "", fmt.Errorf("%q is not a time zone such as UTC or Europe/Berlin", zone)
	}
	return t.In(at).Format(layout), nil
}

// quiet keeps what a page says from ringing people: a space of no width stands after
// each @ and <.
func quiet(text string) string {
	return strings.NewReplacer("@", "@\u200b", "<", "<\u200b").Replace(text)
}

// mrkdwn escapes what means something to Slack.
func mrkdwn(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// fence sets a text in a block of code that it cannot end.
func fence(text string) string {
	return "```\n" + strings.ReplaceAll(text, "```", "'''") + "\n```"
}
