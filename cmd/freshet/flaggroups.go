package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is some of the flags of a command.
type flagGroup struct {
	title string
	names []string
}

// flagGroups are the groups in which help lists the flags that describe a source, in its order.
var flagGroups = []flagGroup{
	{"The source", []string{"id", "name", "tag", "paused", "poll", "url"}},
	{"Alerts", []string{"when", "notify"}},
	{"What is watched", []string{"css", "jsonpath", "kind", "chain", "extract", "items", "render", "noise", "suspect", "expect-status", "expect-match", "expect-no-match"}},
	{"When it is polled", []string{"active", "strategy", "min-gap", "max-gap", "level", "aim", "next-change", "weight", "cost", "dial", "life", "urgency", "from", "robots"}},
	{"Request", []string{"header", "method", "body", "form", "cookie", "jar", "language", "user", "bearer", "digest", "profile", "proxy", "timeout", "request"}},
	{"A whole site", []string{"site", "match", "exclude", "find", "limit", "depth", "subdomains", "share"}},
	{"History", []string{"keep-age", "keep-versions", "keep-bytes"}},
}

// manyFlags is how many flags a command has that help lists in groups.
const manyFlags = 25

// groupedFlags returns the flags of a command as help shows them in groups; "" if it has only a few.
func groupedFlags(flags *pflag.FlagSet, width int) string {
	all := 0
	flags.VisitAll(func(*pflag.Flag) { all++ })
	if all < manyFlags {
		return ""
	}
	var b strings.Builder
	left := pflag.NewFlagSet("", pflag.ContinueOnError)
	left.SortFlags = true
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.ContainsFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.names, f.Name) }) {
			left.AddFlag(f)
		}
	})
	for _, g := range flagGroups {
		of := pflag.NewFlagSet("", pflag.ContinueOnError)
		of.SortFlags = false
		for _, name := range g.names {
			if f := flags.Lookup(name); f != nil {
				of.AddFlag(f)
			}
		}
		if of.HasAvailableFlags() {
			fmt.Fprintf(&b, "%s:\n%s\n", g.title, of.FlagUsagesWrapped(width))
		}
	}
	fmt.Fprintf(&b, "Other flags:\n%s", left.FlagUsagesWrapped(width))
	return b.String()
}

// fitFlags fits the flags in the usage of a command to a width, in groups where there are many.
func fitFlags(usage string, cmd *cobra.Command, width int) string {
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		plain := strings.TrimRight(flags.FlagUsages(), " \n")
		if groups := groupedFlags(flags, width); groups != "" {
			usage = strings.Replace(usage, "Flags:\n"+plain, strings.TrimRight(groups, " \n"), 1)
			continue
		}
		usage = strings.Replace(usage, strings.TrimSpace(plain), strings.TrimSpace(flags.FlagUsagesWrapped(width)), 1)
	}
	return usage
}
