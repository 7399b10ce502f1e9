package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/app/config"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// recipeFlags are how a source is read, from a file and by names of values.
type recipeFlags struct{ chainFlags }

func (f *recipeFlags) register(set *pflag.FlagSet) {
	f.extract = reading.Extracts{}
	set.StringVar(&f.file, "chain", "", "read the page with the steps, values and items in this YAML or JSON file (freshet test tries it); - is standard input")
	set.Var(&extractFlag{&f.chainFlags}, "extract", "name a value to keep with each version, such as 'price=css .price | number'; can be repeated")
}

// describe adds what the flags say to a new source.
func (f *recipeFlags) describe(n *client.NewSource, in io.Reader) error {
	if !f.given() {
		return nil
	}
	r, err := f.recipe(in)
	if err != nil {
		return err
	}
	return json.Unmarshal(freshet.Source{Recipe: r}.Definition(), n)
}

// edit adds what the flags say to an edit. A chain takes the place of all that was
// said of how the source is read; values alone are added to those that there are.
func (f *recipeFlags) edit(patch client.Patch, s client.Source, in io.Reader) error {
	if !f.given() {
		return nil
	}
	r, err := f.recipe(in)
	if err != nil {
		return err
	}
	parts := []string{"extract"}
	if f.file != "" {
		parts = []string{"read", "extract", "items", "select.css", "select.jsonpath", "select.kind"}
	}
	if err := json.Unmarshal(freshet.Source{Recipe: r}.Part(parts...), &patch); err != nil {
		return err
	}
	if f.file == "" {
		return nil
	}
	if patch["read"] == nil {
		delete(patch, "read")
	}
	for name, old := range map[string]map[string]any{"extract": s.Extract, "items": s.Items} {
		now, _ := patch[name].(map[string]any)
		if replaced := inPlaceOf(old, now); len(replaced) > 0 {
			patch[name] = replaced
		} else {
			delete(patch, name)
		}
	}
	return nil
}

// inPlaceOf returns an edit that puts an object in the place of another: what is not
// in it any more is null.
func inPlaceOf(old, now map[string]any) map[string]any {
	edit := map[string]any{}
	for key := range old {
		edit[key] = nil
	}
	for key, v := range now {
		before, isObject := old[key].(map[string]any)
		after, stays := v.(map[string]any)
		if isObject && stays {
			v = inPlaceOf(before, after)
		}
		edit[key] = v
	}
	return edit
}

// chainFlags are how a response is to be read, as flags say it.
type chainFlags struct {
	file    string
	kind    string
	steps   []reading.Step // in the order in which they were given
	extract reading.Extracts
	items   string
	key     string
}

// register adds a flag for each step, and those for the rest.
func (f *chainFlags) register(set *pflag.FlagSet) {
	f.extract = reading.Extracts{}
	set.StringVar(&f.file, "chain", "", "read the steps from this file, in YAML or JSON; - is standard input")
	set.StringVar(&f.kind, "kind", "", "treat the response as html, json, feed, text, xml, csv, ical, pdf, xlsx or docx (default: detected)")
	set.Var(&extractFlag{f}, "extract", "name a value, such as 'price=css .price | number'; can be repeated")
	set.StringVar(&f.items, "items", "", "items are the elements that match this CSS selector, or the values of a JSONPath or XPath")
	set.StringVar(&f.key, "key", "", "what items are known by, such as a@href")
	for _, k := range extract.Steps() {
		flag := &stepFlag{f, k}
		set.Var(flag, k.Name, "step: "+k.Help)
		if k.Arg == "" || k.Name == "table" || k.Name == "pretty" || k.Name == "xlsx" {
			set.Lookup(k.Name).NoOptDefVal = "true"
		}
	}
}

// given reports whether any flag says how to read.
func (f *chainFlags) given() bool {
	return f.file != "" || len(f.steps) > 0 || len(f.extract) > 0 || f.items != "" || f.key != ""
}

// recipe returns what the flags say.
func (f *chainFlags) recipe(in io.Reader) (r reading.Recipe, err error) {
	if f.file != "" {
		if r, err = readChainFile(f.file, in); err != nil {
			return r, err
		}
	}
	if len(f.steps) > 0 && (r.CSS != "" || r.JSONPath != "") {
		return r, usagef("%s has select; give steps as flags or in the file, not both", f.file)
	}
	r.Read = append(r.Read, f.steps...)
	for name, e := range f.extract {
		if r.Extract == nil {
			r.Extract = reading.Extracts{}
		}
		r.Extract[name] = e
	}
	if f.items != "" {
		r.Items = itemsBy(f.items)
	}
	if f.key != "" {
		r.Items.Key = f.key
	}
	if f.kind != "" {
		r.Kind = kindNamed(f.kind)
	}
	if err := extract.Check(r); err != nil {
		return r, usagef("%w", err)
	}
	return r, nil
}

func readChainFile(name string, in io.Reader) (reading.Recipe, error) {
	if name == "-" {
		text, err := io.ReadAll(in)
		if err != nil {
			return reading.Recipe{}, fmt.Errorf("read the chain from standard input: %w", err)
		}
		return config.ParseRecipe("standard input", text)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return reading.Recipe{}, fmt.Errorf("read the chain: %w", err)
	}
	return config.ParseRecipe(name, text)
}

func itemsBy(how string) reading.Items {
	switch {
	case strings.HasPrefix(how, "$"):
		return reading.Items{JSONPath: how}
	case strings.HasPrefix(how, "/") || strings.HasPrefix(how, "./"):
		return reading.Items{XPath: how}
	}
	return reading.Items{CSS: how}
}

// kindNamed returns a kind by one of the names that people use for it.
func kindNamed(name string) reading.Kind {
	name = strings.ToLower(name)
	for kind, names := range map[reading.Kind]string{
		reading.Auto: "auto", reading.HTML: "htm page", reading.Feed: "rss atom rdf jsonfeed", reading.Text: "txt plain yaml", reading.XML: "sitemap",
		reading.CSV: "tsv", reading.ICal: "ics icalendar calendar", reading.XLSX: "excel", reading.DOCX: "word",
	} {
		for other := range strings.FieldsSeq(names) {
			if name == other {
				return kind
			}
		}
	}
	return reading.Kind(name)
}

// A stepFlag adds a step to the chain.
type stepFlag struct {
	chain *chainFlags
	kind  extract.StepKind
}

// String returns nothing: a flag can stand for several steps.
func (f *stepFlag) String() string { return "" }

// Type returns what the flag takes, for its help.
func (f *stepFlag) Type() string {
	if f.kind.Arg == "" {
		return "bool"
	}
	word, _, _ := strings.Cut(f.kind.Arg, " ")
	word = strings.Trim(word, "{,:")
	if word == "" || strings.ToUpper(word) != word {
		return "ARG"
	}
	return word
}

// Set reads what the step takes: a text for those that take one, and otherwise
// what could stand in a file.
func (f *stepFlag) Set(v string) error {
	s := reading.Step{Name: f.kind.Name}
	var arg any = v
	switch {
	case v == "true" && f.kind.Arg == "" || v == "true" && (s.Name == "table" || s.Name == "pretty" || s.Name == "xlsx"):
		arg = nil
	case s.Name == "css" || s.Name == "xpath" || s.Name == "jsonpath" || s.Name == "jq":
	case s.Name == "regex" || s.Name == "drop":
		if strings.HasPrefix(v, "{") && yaml.Unmarshal([]byte(v), &arg) != nil {
			arg = v
		}
	default:
		if err := yaml.Unmarshal([]byte(v), &arg); err != nil {
			return fmt.Errorf("%q is neither a word nor YAML such as {keep: PATTERN}", v)
		}
	}
	if arg != nil {
		b, err := json.Marshal(map[string]any{s.Name: arg})
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err != nil {
			return err
		}
	}
	f.chain.steps = append(f.chain.steps, s)
	return nil
}

// An extractFlag names a value.
type extractFlag struct{ chain *chainFlags }

// String returns nothing: the flag can be repeated.
func (f *extractFlag) String() string { return "" }

// Type returns what the flag takes, for its help.
func (f *extractFlag) Type() string { return "NAME=HOW" }

// Set reads a name and how the value is found.
func (f *extractFlag) Set(v string) error {
	name, how, ok := strings.Cut(v, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return fmt.Errorf("%q is not NAME=HOW, such as price=css .price | number", v)
	}
	b, err := json.Marshal(strings.TrimSpace(how))
	if err != nil {
		return err
	}
	var e reading.Extract
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	f.chain.extract[name] = e
	return nil
}
