package main

import (
	"context"
	"net/netip"
	"strings"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

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
