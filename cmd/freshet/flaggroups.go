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

// flagGroups are the groups in which help lists the flags of the commands that have many, in its order: of those
// that describe a source, and of the daemon.
var flagGroups = []flagGroup{
	{"The source", []string{"id", "name", "tag", "paused", "poll", "url"}},
	{"Alerts", []string{"when", "notify"}},
	{"What is watched", []string{"css", "jsonpath", "kind", "chain", "extract", "items", "render", "noise", "suspect", "expect-status", "expect-match", "expect-no-match"}},
	{"When it is polled", []string{"active", "strategy", "min-gap", "max-gap", "level", "aim", "next-change", "weight", "cost", "dial", "life", "urgency", "from", "robots"}},
	{"Request", []string{"header", "method", "body", "form", "cookie", "jar", "language", "user", "bearer", "digest", "profile", "proxy", "timeout", "request"}},
	{"A whole site", []string{"site", "match", "exclude", "find", "limit", "depth", "subdomains", "share"}},
	{"The API", []string{"listen", "tls-cert", "tls-key", "admin-password-file"}},
	{"Budget and politeness", []string{"budget", "source-gap", "source-share", "host-delay", "host-share", "crawl-delay", "hints", "policy", "allow-cidr"}},
	{"Data, memory and log", []string{"secrets", "memory", "reserve", "log-level", "log-format"}},
	{"Cluster", []string{"advertise", "bundle", "ca", "hand-token-file", "own-slots", "lease", "standby", "insecure-cluster"}},
	{"Login at an OpenID provider", []string{"oidc-issuer", "oidc-name", "oidc-client-id", "oidc-client-secret", "oidc-scopes", "oidc-groups-claim",
		"oidc-admins", "oidc-editors", "oidc-viewers", "oidc-default-role", "oidc-session"}},
	{"History", []string{"keep-age", "keep-versions", "keep-bytes"}},
}

// daemonFlags say which daemon or data a command is about. Most commands have them, and help lists them last.
var daemonFlags = flagGroup{"Which daemon or data", []string{"server", "token-file", "ca", "store", "allow-cidr"}}

// manyFlags is how many flags a command has that help lists in groups.
const manyFlags = 25

// groupedFlags returns the flags of a command as help shows them, in groups where there are many.
func groupedFlags(flags *pflag.FlagSet, width int) string {
	left := flagGroup{title: "Flags"}
	flags.VisitAll(func(f *pflag.Flag) { left.names = append(left.names, f.Name) })
	// take returns those flags of a group that no group has taken before.
	take := func(g flagGroup) string {
		of := pflag.NewFlagSet("", pflag.ContinueOnError)
		of.SortFlags = false
		for _, name := range g.names {
			if i := slices.Index(left.names, name); i >= 0 {
				of.AddFlag(flags.Lookup(name))
				left.names = slices.Delete(left.names, i, i+1)
			}
		}
		if !of.HasAvailableFlags() {
			return ""
		}
		return fmt.Sprintf("%s:\n%s\n", g.title, of.FlagUsagesWrapped(width))
	}
	var groups, daemon string
	many := len(left.names) >= manyFlags
	if slices.Contains(left.names, "server") {
		daemon = take(daemonFlags)
	}
	if many {
		left.title = "Other flags"
		for _, g := range flagGroups {
			groups += take(g)
		}
	}
	return groups + take(flagGroup{left.title, slices.Clone(left.names)}) + daemon
}

// fitFlags fits the flags in the usage of a command to a width, in groups where there are many.
func fitFlags(usage string, cmd *cobra.Command, width int) string {
	trimmed := func(text string) string { return strings.TrimRight(text, " \n") }
	local, inherited := cmd.LocalFlags(), cmd.InheritedFlags()
	if local.HasAvailableFlags() {
		usage = strings.Replace(usage, "Flags:\n"+trimmed(local.FlagUsages()), trimmed(groupedFlags(local, width)), 1)
	}
	return strings.Replace(usage, trimmed(inherited.FlagUsages()), trimmed(inherited.FlagUsagesWrapped(width)), 1)
}
