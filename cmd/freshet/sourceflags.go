package main

import (
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

// A lengthFlag is a length of time as people write it.
type lengthFlag time.Duration

// String returns the length as it would be written.
func (f *lengthFlag) String() string { return formatDuration(time.Duration(*f)) }

// Type returns what the flag takes, for its help.
func (f *lengthFlag) Type() string { return "TIME" }

// Set reads a length of time.
func (f *lengthFlag) Set(v string) error {
	d, err := parseDuration(v)
	*f = lengthFlag(d)
	return err
}
