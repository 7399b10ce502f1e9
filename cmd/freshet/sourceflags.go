package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet"
)

// recipeFlags say which part of a page counts. The kind goes to a string,
// because it is checked together with the rest.
func recipeFlags(flags *pflag.FlagSet, r *freshet.Recipe, kind *string) {
	flags.StringVar(&r.CSS, "css", "", "compare only what this CSS selector selects")
	flags.StringVar(&r.JSONPath, "jsonpath", "", "compare only what this JSONPath selects, such as $.items[*].price")
	flags.StringVar(kind, "kind", "", "read the response as html, json, feed or text, whatever it says it is")
}

// sourceFlags are what add and edit can say of a source.
type sourceFlags struct {
	set           *pflag.FlagSet
	name          string
	tags          []string
	recipe        freshet.Recipe
	kind          string
	weight        float64
	life, urgency string
	cost          float64
	level         string

	minGap, maxGap, keepAge lengthFlag
	keepVersions            int
	keepBytes               sizeFlag
}

func (f *sourceFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.name, "name", "", "name for people")
	set.StringArrayVar(&f.tags, "tag", nil, "tag; can be repeated")
	recipeFlags(set, &f.recipe, &f.kind)
	set.Float64Var(&f.weight, "weight", 0, "importance next to other sources; 1 is normal")
	set.StringVar(&f.life, "life", "", "how long a change can be captured: overwrite, append, window:W or last:Z")
	set.StringVar(&f.urgency, "urgency", "", "how its worth falls with the delay: uniform, exp:R, window:W, ...")
	set.Float64Var(&f.cost, "cost", 0, "of a poll, next to other sources; 1 is normal")
	set.Var(&f.minGap, "min-gap", "never poll sooner than this after the last poll")
	set.Var(&f.maxGap, "max-gap", "poll at least this often, as far as budget and host allow")
	set.StringVar(&f.level, "level", "", "how soon changes are wanted, such as '90% within 10m'; freshet budget shows its cost")
	set.Var(&f.keepAge, "keep-age", "drop versions superseded longer ago than this")
	set.IntVar(&f.keepVersions, "keep-versions", 0, "keep at most so many versions")
	set.Var(&f.keepBytes, "keep-bytes", "keep at most so many stored bytes")
}

// fields returns what the flags say, in the words of the API.
func (f *sourceFlags) fields() map[string]any {
	fields, sel, keep := map[string]any{}, map[string]any{}, map[string]any{}
	put := func(into map[string]any, flag string, value any) {
		if f.set.Changed(flag) {
			name := strings.ReplaceAll(strings.TrimPrefix(flag, "keep-"), "-", "_")
			into[name] = value
		}
	}
	put(fields, "name", f.name)
	put(fields, "weight", f.weight)
	put(fields, "life", f.life)
	put(fields, "urgency", f.urgency)
	put(fields, "cost", f.cost)
	put(fields, "min-gap", f.minGap.String())
	put(fields, "max-gap", f.maxGap.String())
	put(fields, "level", f.level)
	put(sel, "css", f.recipe.CSS)
	put(sel, "jsonpath", f.recipe.JSONPath)
	put(sel, "kind", strings.TrimPrefix(f.kind, "auto"))
	put(keep, "keep-age", f.keepAge.String())
	put(keep, "keep-versions", f.keepVersions)
	put(keep, "keep-bytes", int64(f.keepBytes))
	if f.set.Changed("tag") {
		fields["tags"] = f.tidyTags()
	}
	if len(sel) > 0 {
		fields["select"] = sel
	}
	if len(keep) > 0 {
		fields["keep"] = keep
	}
	return fields
}

// tidyTags returns the tags given; a lone empty one means none.
func (f *sourceFlags) tidyTags() []string {
	tags := []string{}
	for _, t := range f.tags {
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
