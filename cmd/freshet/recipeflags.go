package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/freshet"
)

// recipeFlags are how a source is read, from a file and by names of values.
type recipeFlags struct{ chainFlags }

func (f *recipeFlags) register(set *pflag.FlagSet) {
	f.extract = freshet.Extracts{}
	set.StringVar(&f.file, "chain", "", "read the page as this file says: steps, values and items in YAML or JSON (freshet test tries it); - is standard input")
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
func (f *recipeFlags) edit(e *client.SourceEdit, s client.Source, in io.Reader) error {
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
	if err := json.Unmarshal(freshet.Source{Recipe: r}.Part(parts...), e); err != nil {
		return err
	}
	if f.file != "" {
		e.Extract, e.Items = replacing(s.Extract, e.Extract), replacing(s.Items, e.Items)
	}
	return nil
}

// replacing returns an edit that puts what is given, if anything is, in the place of an
// object; nil if there is nothing to edit.
func replacing(old map[string]any, given *map[string]any) *map[string]any {
	var now map[string]any
	if given != nil {
		now = *given
	}
	edit := inPlaceOf(old, now)
	if len(edit) == 0 {
		return nil
	}
	return &edit
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
