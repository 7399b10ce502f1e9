package extract

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

// A program is a recipe ready for use.
type program struct {
	kind   reading.Kind
	steps  []step
	fields []namedField
	items  *itemFinder
	heavy  bool // it may run for long, whatever it reads
	alone  bool // its one step is the selector of the source
}

// A step is a freshet.Step ready for use.
type step struct {
	name  string
	field string // where it was written, such as read[2].css
	run   func(value) (value, error)
	heavy bool
}

// maxSteps is the longest chain.
const maxSteps = 50

// compile judges a recipe and makes it ready.
func compile(r reading.Recipe) (p program, err error) {
	p.kind = r.Kind
	if err := checkKind(r.Kind); err != nil {
		return p, err
	}
	if p.steps, err = compileRead(r, &p.kind); err != nil {
		return p, err
	}
	if p.fields, err = compileFields("extract", r.Extract, ""); err != nil {
		return p, err
	}
	if p.items, err = compileItems(r.Items); err != nil {
		return p, err
	}
	p.alone = len(r.Read) == 0
	for _, s := range p.steps {
		p.heavy = p.heavy || s.heavy
	}
	p.heavy = p.heavy || len(p.fields) > 0 || p.items != nil
	return p, nil
}

func checkKind(k reading.Kind) error {
	switch k {
	case reading.Auto, reading.HTML, reading.JSON, reading.Feed, reading.Text, reading.XML, reading.CSV, reading.ICal, reading.PDF, reading.XLSX, reading.DOCX:
		return nil
	}
	known := []string{"html", "json", "feed", "text", "xml", "csv", "ical", "pdf", "xlsx", "docx"}
	return invalid.Errorf("select.kind", "unknown kind %q%s; use %s, or leave it out", k, suggest.DidYouMean(string(k), known), strings.Join(known, ", "))
}

// compileRead returns the steps of a recipe. A selector on its own is one step.
func compileRead(r reading.Recipe, kind *reading.Kind) ([]step, error) {
	one, needs := step{heavy: true}, reading.Auto
	var err error
	switch {
	case r.CSS != "" && r.JSONPath != "":
		return nil, invalid.Errorf("select.jsonpath", "use a CSS selector or a JSONPath, not both")
	case r.CSS != "":
		one.name, one.field, needs = "css", "select.css", reading.HTML
		one.run, err = cssFinder(one.field, r.CSS)
	case r.JSONPath != "":
		one.name, one.field, needs = "jsonpath", "select.jsonpath", reading.JSON
		one.run, err = jsonPathFinder(one.field, r.JSONPath)
	default:
		return compileSteps("read", r.Read)
	}
	if len(r.Read) > 0 {
		return nil, invalid.Errorf(one.field, "use select or read, not both; make it the first step of read")
	}
	if *kind == reading.Auto {
		*kind = needs
	} else if *kind != needs && !(needs == reading.HTML && (*kind == reading.XML || *kind == reading.Feed)) {
		what := map[reading.Kind]string{reading.HTML: "a CSS selector", reading.JSON: "a JSONPath"}[needs]
		return nil, invalid.Errorf("select.kind", "%s needs %s, not %s", what, needs, *kind)
	}
	return []step{one}, err
}

// compileSteps makes the steps of a list ready.
func compileSteps(list string, steps []reading.Step) (all []step, err error) {
	if len(steps) > maxSteps {
		return nil, invalid.Errorf(list, "has %d steps; the most is %d", len(steps), maxSteps)
	}
	for i, s := range steps {
		one, err := compileStep(fmt.Sprintf("%s[%d].%s", list, i, s.Name), s)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func compileStep(field string, s reading.Step) (step, error) {
	known := stepKinds()
	for _, k := range known {
		if k.Name != s.Name {
			continue
		}
		run, heavy, err := k.compile(argument{field: field, json: s.Arg})
		return step{name: s.Name, field: field, run: run, heavy: heavy}, err
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.Name
	}
	at := strings.TrimSuffix(field, "."+s.Name)
	return step{}, invalid.Errorf(at, "unknown step %q%s; the steps are %s", s.Name, suggest.DidYouMean(s.Name, names), strings.Join(names, ", "))
}

// do runs the step. A library that panics over a document fails the step and no more.
func (s step) do(v value) (out value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fail(FailParse, "", "the parser failed: %v", p)
		}
		if err != nil {
			err = s.blame(err)
		}
	}()
	out, err = s.run(v)
	if err == nil && len(out.text) > maxText {
		err = fail(FailLimit, "Select less before this step.", "the text is longer than %d MiB", maxText>>20)
	}
	return out, err
}

// blame names the step in an error. The selector of a source stands alone and
// needs no name.
func (s step) blame(err error) error {
	if strings.HasPrefix(s.field, "select.") {
		return err
	}
	class := FailParse
	if e, ok := errors.AsType[*Error](err); ok {
		class = e.Class
	}
	return &Error{Class: class, Err: fmt.Errorf("%s: %w", s.field, err)}
}

// through goes through the steps, and calls watch after each if it is not nil.
func through(steps []step, v value, watch func(step, value, time.Duration)) (value, error) {
	for _, s := range steps {
		began := time.Now()
		next, err := s.do(v)
		if err != nil {
			return v, err
		}
		if v = next; watch != nil {
			watch(s, v, time.Since(began))
		}
	}
	return v, nil
}
