package sinks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/lazyregexp"
	"freshet/internal/suggest"
)

// Bounds on what a template may do. Any user who may add sinks can write one, and it must not be
// able to stop the others.
const (
	maxOutput = 256 << 10 // bytes of what it makes, and of every text in between
	maxSteps  = 10_000    // rounds of its loops, and templates that it calls
)

// words are a template that has been checked.
type words struct{ trees map[string]*parse.Tree }

// parseWords reads a template. The error is an *invalid.Error that names the line.
func parseWords(text string) (words, error) {
	trees, err := parse.Parse("template", text, "", "", functions)
	if err != nil {
		return words{}, templateError(err)
	}
	return words{trees}, nil
}

// position is how package text/template/parse says where an error is.
var position = lazyregexp.New(`^template: template:(\d+)(?::(\d+))?: `)

// templateHint says what to do about a mistake in a template.
const templateHint = "docs/reference/delivery.md has all names and functions; freshet sink kinds KIND shows a template that works, and --preview what one makes"

// templateError says where in a template an error is.
func templateError(err error) error {
	for _, own := range []error{errTooSlow, errTooLong} {
		if errors.Is(err, own) {
			return &invalid.Error{Field: "template", Reason: own.Error()}
		}
	}
	if none, ok := errors.AsType[*noFieldError](err); ok {
		if e, ok := none.of.(*Event); ok {
			at, _ := errors.AsType[*positioned](err)
			location, _ := at.tree.ErrorContext(at.node)
			err = fmt.Errorf("template: %s: there is no .%s%s", location, none.name, suggest.DidYouMean(none.name, eventNames(e)))
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
	return freshet.WithHint(&invalid.Error{Field: "template", Reason: text}, templateHint)
}

// eventNames are all that a template can ask of an event.
func eventNames(e *Event) []string {
	names := slices.Collect(maps.Keys(methodsOf(e)))
	for f := range reflect.TypeFor[Event]().Fields() {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// render returns what the template makes of an event.
func (w words) render(e *Event) (string, error) {
	text, err := (&run{trees: w.trees}).execute("template", e)
	if err != nil {
		return "", templateError(err)
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

var (
	errTooLong  = fmt.Errorf("the output is longer than %d bytes", maxOutput)
	errTooSlow  = fmt.Errorf("its loops go round more than %d times", maxSteps)
	errNoFormat = errors.New("printf takes no width or precision above 999, and no *")
)

// wide is a width or a precision that could fill the memory.
var wide = lazyregexp.New(`%[-+# 0]*(\d{4,}|\d*\.\d{4,}|[\d.]*\*)`)

// functions are all that a template can call, besides and and or. None reads a clock, a file
// or the environment, and none makes a text that is longer than the output may be.
var functions = map[string]any{
	"and": true, "or": true, // function evaluates them: not all of their arguments
	"not": func(v any) bool { return !isTrue(v) },
	"len": length, "index": index, "slice": slice,
	"eq":       equal,
	"ne":       func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
	"lt":       func(a, b any) (bool, error) { c, err := compare(a, b); return c < 0, err },
	"le":       func(a, b any) (bool, error) { c, err := compare(a, b); return c <= 0, err },
	"gt":       func(a, b any) (bool, error) { c, err := compare(a, b); return c > 0, err },
	"ge":       func(a, b any) (bool, error) { c, err := compare(a, b); return c >= 0, err },
	"call":     func(any, ...any) (string, error) { return "", errors.New("there are no functions to call") },
	"print":    func(v ...any) (string, error) { return short(fmt.Sprint(v...)) },
	"println":  func(v ...any) (string, error) { return short(fmt.Sprintln(v...)) },
	"printf":   printf,
	"html":     textFunction(html.EscapeString),
	"js":       textFunction(template.JSEscapeString),
	"urlquery": textFunction(url.QueryEscape),
	"json":     toJSON,
	"upper":    textFunction(strings.ToUpper),
	"lower":    textFunction(strings.ToLower),
	"trim":     textFunction(strings.TrimSpace),
	"quiet":    textFunction(quiet),
	"mrkdwn":   textFunction(mrkdwn),
	"fence":    textFunction(fence),
	"truncate": func(most int, v any) string { return cut(fmt.Sprint(v), most) },
	"replace":  func(old, new string, v any) (string, error) { return replace(old, new, fmt.Sprint(v)) },
	"join":     func(sep string, v []string) (string, error) { return short(strings.Join(v, sep)) },
	"lines":    func(v any) []string { return strings.Split(strings.TrimRight(fmt.Sprint(v), "\n"), "\n") },
	"contains": func(part string, v any) bool { return strings.Contains(fmt.Sprint(v), part) },
	"default":  func(other, v any) any { return or(v, other) },
	"date":     date,
}

func textFunction(f func(string) string) func(any) (string, error) {
	return func(v any) (string, error) { return short(f(fmt.Sprint(v))) }
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

// quiet keeps the text of a page from mentioning people and from becoming a link in Markdown: a
// space of no width follows each @, < and ].
func quiet(text string) string {
	return strings.NewReplacer("@", "@\u200b", "<", "<\u200b", "]", "]\u200b").Replace(text)
}

// mrkdwn escapes what means something to Slack.
func mrkdwn(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// fence sets a text in a block of code that it cannot end.
func fence(text string) string {
	return "```\n" + strings.ReplaceAll(text, "```", "'''") + "\n```"
}
