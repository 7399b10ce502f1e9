package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/app/config"
	"freshet/internal/cli"
	"freshet/internal/freshet"
)

// sourceFlags are what can be said of a source with flags.
type sourceFlags struct {
	set    *pflag.FlagSet
	fields []freshet.SourceField // that have a flag
	texts  map[string][]string   // what was given, by the name of the field
}

// register adds the flags of all fields, or of those in a section.
func (f *sourceFlags) register(set *pflag.FlagSet, section string) {
	f.set, f.texts = set, map[string][]string{}
	for _, field := range freshet.SourceFields() {
		if field.Flag != "" && strings.HasPrefix(field.Name, section) {
			f.fields = append(f.fields, field)
			set.Var(&fieldFlag{field, f.texts}, field.Flag, field.Help)
			set.Lookup(field.Flag).NoOptDefVal = field.Bare
		}
	}
}

// A fieldFlag is a flag that says something of a source.
type fieldFlag struct {
	field freshet.SourceField
	texts map[string][]string
}

// String returns what was given.
func (f *fieldFlag) String() string { return strings.Join(f.texts[f.field.Name], ",") }

// Type returns what the flag takes, for its help.
func (f *fieldFlag) Type() string { return f.field.Kind }

// Set reads a value. An empty one is the default, and so is the number 0. Of a
// list it adds the items.
func (f *fieldFlag) Set(v string) error {
	if f.field.List {
		f.texts[f.field.Name] = append(f.texts[f.field.Name], config.SplitList(v)...)
		return nil
	}
	f.texts[f.field.Name] = nil
	if v == "" || v == "0" && f.field.Kind != "string" {
		return nil
	}
	f.texts[f.field.Name] = []string{v}
	if f.field.Kind == "string" {
		return nil // judged with the rest of the source
	}
	return freshet.ReasonOf(f.field.Read(&freshet.Source{}, v))
}

// described returns what the flags say of a source.
func (f *sourceFlags) described() (s freshet.Source, err error) {
	for _, field := range f.fields {
		if texts := f.texts[field.Name]; len(texts) > 0 {
			if err := field.Read(&s, texts...); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// newSource returns what the flags say of a source to be added.
func (f *sourceFlags) newSource() (n client.NewSource, err error) {
	s, err := f.described()
	if err != nil {
		return n, err
	}
	return client.NewSourceOf(s), nil
}

// dial is the name of the field that sets others by a name.
const dial = "dial"

// edit returns what the flags say of a source that is there. Only a flag that
// was given changes something.
func (f *sourceFlags) edit() (patch client.Patch, err error) {
	s, err := f.described()
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, field := range f.fields {
		if f.set.Changed(field.Flag) {
			changed = append(changed, field.Name)
		}
	}
	if err := json.Unmarshal(s.Part(changed...), &patch); err != nil {
		return nil, err
	}
	if delete(patch, dial); len(f.texts[dial]) > 0 { // the API applies it, next to what else is in the patch
		patch[dial] = f.texts[dial][0]
	}
	return patch, nil
}

// A lengthFlag is a length of time as people write it.
type lengthFlag = cli.Length
