package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/app/config"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// formerEgressVerb is egressVerb as it was called before: egress check.
func formerEgressVerb(p *program) *cobra.Command {
	cmd := egressVerb(p)
	cmd.Use, cmd.Annotations = "check URL", map[string]string{nowNamed: "freshet check egress"}
	return grouped(&cobra.Command{Use: "egress", Short: cmd.Short}, cmd)
}

// errDenied ends a verb with its own exit code after it has said why.
var errDenied = errors.New("denied")

// An egressAnswer is what check egress prints as JSON.
type egressAnswer struct {
	URL       string       `json:"url"`
	Verdict   string       `json:"verdict"` // allow or deny
	Class     fetch.Rule   `json:"class"`
	Reason    string       `json:"reason"`
	Hint      string       `json:"hint,omitempty"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

const egressHelp = `Check whether Freshet may fetch a URL, and which rule decides, without connecting to
anything. The answer comes from the code that guards every connection, with the
settings that serve would use.

A host name is looked up, unless --resolve says what it resolves to. Give --resolve
more than once for a name to say what it resolves to the first time, the second time
and so on: a name that turns to a private address is denied when it does. With
--redirect, the URL answers with a redirect to that location; repeat it for a chain.

The class names the rule: ok, ip.private, metadata, url.userinfo and so on;
docs/reference/egress.md lists all of them. The exit code is 0 if the URL is allowed and 7 if it
is denied.`

func egressVerb(p *program) *cobra.Command {
	var asJSON bool
	var resolve, redirects []string
	cmd := &cobra.Command{
		Use:   "egress URL",
		Short: "Check whether a URL may be fetched, and which rule decides",
		Long:  egressHelp,
		Example: "  freshet check egress https://example.com/\n" +
			"  freshet check egress http://intranet.example/ --resolve intranet.example=10.1.2.3 --allow-cidr 10.1.2.0/24\n" +
			"  freshet check egress https://example.com/ --redirect http://169.254.169.254/ --json",
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.settings(cmd)
			if err != nil {
				return err
			}
			names, err := parseStubs(resolve)
			if err != nil {
				return err
			}
			v := egressVerdict(cmd.Context(), egressConfig(s), names, args[0], redirects)
			if err := printVerdict(p, args[0], v, asJSON); err != nil {
				return err
			}
			if !v.Allow {
				return errDenied
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&resolve, "resolve", nil, "take `NAME=IP[,IP...]` for what a name resolves to; no IP means that there is no such name (repeatable)")
	cmd.Flags().StringArrayVar(&redirects, "redirect", nil, "a `LOCATION` that the URL, or the redirect before, leads to (repeatable)")
	jsonFlag(cmd, &asJSON)
	optionFlags(cmd.Flags(), "allow-cidr", "listen")
	return cmd
}

// egressConfig returns the rules by which a daemon with these settings fetches.
func egressConfig(s config.Settings) fetch.Config {
	c := s.Fetch
	if own, err := netip.ParseAddrPort(s.API.Listen); err == nil && own.Port() != 0 {
		c.Self = []netip.AddrPort{own}
	}
	return c
}

// egressVerdict checks a URL as often as names can have turned meanwhile.
func egressVerdict(ctx context.Context, c fetch.Config, names stubs, url string, redirects []string) (v fetch.Verdict) {
	for turn := range names.turns() {
		c.Resolver = names.lookup(turn)
		if v = c.Check(ctx, url, redirects...); v.Allow {
			continue
		}
		if turn > 0 && v.Rule == fetch.RuleAnswer {
			v.Rule = fetch.RuleRebinding
			v.Reason = fmt.Sprintf("when asked again, %s", v.Reason)
		}
		break
	}
	return v
}

// printVerdict prints the result of a check.
func printVerdict(p *program, url string, v fetch.Verdict, asJSON bool) error {
	answer := egressAnswer{URL: url, Verdict: "deny", Class: v.Rule, Reason: v.Reason, Hint: v.Hint, Addresses: v.Addrs}
	if v.Allow {
		answer.Verdict = "allow"
	}
	if asJSON {
		return p.printJSON(answer)
	}
	s := p.screen()
	head := s.Red("denied")
	if v.Allow {
		head = s.Green("allowed")
	}
	fmt.Fprintln(p.out, s.Prose(fmt.Sprintf("%s (%s): %s", head, v.Rule, harmless(v.Reason)), "  "))
	if v.Hint != "" {
		fmt.Fprintln(p.out, s.Message("hint: "+harmless(v.Hint)))
	}
	return nil
}

// stubs are what names resolve to for a check: for each name the answers to the first
// lookup, to the second and so on. The last one stays.
type stubs map[string][][]netip.Addr

// parseStubs reads what --resolve says.
func parseStubs(flags []string) (stubs, error) {
	s := stubs{}
	for _, flag := range flags {
		name, list, ok := strings.Cut(flag, "=")
		if !ok || name == "" || strings.ContainsAny(name, "/:") {
			return nil, freshet.WithHint(usagef("--resolve: %q is not NAME=IP", flag), "write it as in --resolve example.com=93.184.215.14")
		}
		host, err := fetch.NormalHost(name)
		if err != nil {
			host = name // no URL can have it either, so the check says what is wrong
		}
		addrs := []netip.Addr{}
		for text := range strings.SplitSeq(list, ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, usagef("--resolve: %q is not an IP address", text)
			}
			addrs = append(addrs, a)
		}
		s[host] = append(s[host], addrs)
	}
	return s, nil
}

// turns returns how many lookups of a name have answers of their own.
func (s stubs) turns() int {
	n := 1
	for _, answers := range s {
		n = max(n, len(answers))
	}
	return n
}

// lookup returns the lookups of a turn. A name that has no answers here is asked for.
func (s stubs) lookup(turn int) func(context.Context, string) ([]netip.Addr, error) {
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		if answers := s[host]; len(answers) > 0 {
			return answers[min(turn, len(answers)-1)], nil
		}
		return fetch.SystemLookup(ctx, host)
	}
}
