package main

import (
	"time"

	"freshet/client"

	"github.com/spf13/pflag"

	"freshet"
)

// recipeFlags say which part of a page counts.
func recipeFlags(flags *pflag.FlagSet, css, jsonpath *string, kind *freshet.Kind) {
	flags.StringVar(css, "css", "", "compare only what this CSS selector selects")
	flags.StringVar(jsonpath, "jsonpath", "", "compare only what this JSONPath selects, such as $.items[*].price")
	flags.StringVar((*string)(kind), "kind", "", "read the response as html, json, feed or text, whatever it says it is")
}

// sourceFlags are what add and edit can say of a source.
type sourceFlags struct {
	set    *pflag.FlagSet
	source client.NewSource
}

func (f *sourceFlags) register(set *pflag.FlagSet) {
	f.set = set
	s := &f.source
	set.StringVar(&s.Name, "name", "", "name for people")
	set.StringArrayVar(&s.Tags, "tag", nil, "tag; can be repeated")
	recipeFlags(set, &s.Select.CSS, &s.Select.JSONPath, &s.Select.Kind)
	set.Float64Var(&s.Weight, "weight", 0, "importance next to other sources; 1 is normal")
	set.StringVar(&s.Life, "life", "", "how long a change can be captured: overwrite, append, window:10m or last:5")
	set.StringVar(&s.Urgency, "urgency", "", "how its worth falls with the delay: uniform, exp:0.9/1m, half-life:1h, window:10m, ...")
	set.Float64Var(&s.Cost, "cost", 0, "of a poll, next to other sources; 1 is normal")
	set.Var((*lengthFlag)(&s.MinGap), "min-gap", "never poll sooner than this after the last poll")
	set.Var((*lengthFlag)(&s.MaxGap), "max-gap", "poll at least this often, as far as budget and host allow")
	set.StringVar(&s.Level, "level", "", "how soon changes are wanted, such as '90% within 10m'; freshet budget shows its cost")
	set.Var((*lengthFlag)(&s.Keep.Age), "keep-age", "drop versions superseded longer ago than this")
	set.IntVar(&s.Keep.Versions, "keep-versions", 0, "keep at most so many versions")
	set.Var((*sizeFlag)(&s.Keep.Bytes), "keep-bytes", "keep at most so many stored bytes")
}

// described returns what the flags say of a source to be added.
func (f *sourceFlags) described() client.NewSource {
	s := f.source
	s.Tags = f.tags()
	if s.Select.Kind == "auto" {
		s.Select.Kind = ""
	}
	return s
}

// edit returns what the flags say of a source that is there. Only a flag that
// was given changes something.
func (f *sourceFlags) edit() client.SourceEdit {
	s := f.described()
	e := client.SourceEdit{
		Name: given(f.set, "name", s.Name), Tags: given(f.set, "tag", s.Tags),
		Weight: given(f.set, "weight", s.Weight), Life: given(f.set, "life", s.Life), Urgency: given(f.set, "urgency", s.Urgency), Cost: given(f.set, "cost", s.Cost),
		MinGap: given(f.set, "min-gap", s.MinGap), MaxGap: given(f.set, "max-gap", s.MaxGap), Level: given(f.set, "level", s.Level),
	}
	sel := client.SelectEdit{CSS: given(f.set, "css", s.Select.CSS), JSONPath: given(f.set, "jsonpath", s.Select.JSONPath), Kind: given(f.set, "kind", s.Select.Kind)}
	if sel != (client.SelectEdit{}) {
		e.Select = &sel
	}
	keep := client.KeepEdit{Age: given(f.set, "keep-age", s.Keep.Age), Versions: given(f.set, "keep-versions", s.Keep.Versions), Bytes: given(f.set, "keep-bytes", s.Keep.Bytes)}
	if keep != (client.KeepEdit{}) {
		e.Keep = &keep
	}
	return e
}

// given returns the value of a flag that was given; nil if it was not.
func given[T any](set *pflag.FlagSet, flag string, value T) *T {
	if !set.Changed(flag) {
		return nil
	}
	return &value
}

// tags returns the tags given; a lone empty one means none.
func (f *sourceFlags) tags() []string {
	tags := []string{}
	for _, t := range f.source.Tags {
		tags = append(tags, splitList(t)...)
	}
	return tidyTags(tags)
}

// A lengthFlag is a length of time as people write it.
type lengthFlag time.Duration

// String returns the length as it would be written.
func (f *lengthFlag) String() string { return freshet.FormatDuration(time.Duration(*f)) }

// Type returns what the flag takes, for its help.
func (f *lengthFlag) Type() string { return "TIME" }

// Set reads a length of time.
func (f *lengthFlag) Set(v string) error {
	d, err := freshet.ParseDuration(v)
	*f = lengthFlag(d)
	return err
}

// A sizeFlag is a number of bytes as people write it.
type sizeFlag int64

// String returns the size as it would be written.
func (f *sizeFlag) String() string { return freshet.FormatSize(int64(*f)) }

// Type returns what the flag takes, for its help.
func (f *sizeFlag) Type() string { return "SIZE" }

// Set reads a size.
func (f *sizeFlag) Set(v string) error {
	n, err := freshet.ParseSize(v)
	*f = sizeFlag(n)
	return err
}
