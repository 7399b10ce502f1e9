package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/config"
)

// settings gathers what was set for cmd. All that is wrong is reported at once.
func (p *program) settings(cmd *cobra.Command) (config.Settings, error) {
	s := config.Defaults(p.env)
	if err := cmd.Context().Err(); err != nil {
		return s, err
	}
	var doc document
	if s.File = p.configFile(cmd); s.File != "" {
		text, err := os.ReadFile(s.File)
		if err != nil {
			return s, freshet.WithHint(fmt.Errorf("read the configuration: %w", err), "name the file with --config or FRESHET_CONFIG")
		}
		doc = readDocument(s.File, text, &s, p.env)
	}
	var faults []error
	for _, o := range options {
		if v := p.env(o.env); v != "" {
			if err := o.set(&s, v); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", o.env, err))
			}
		}
		if f := cmd.Flag(o.flag); f != nil && f.Changed {
			if err := o.set(&s, f.Value.String()); err != nil {
				faults = append(faults, usagef("--%s: %w", o.flag, err))
			}
		}
	}
	doc.admit(&s) // only now is it known which addresses are allowed
	doc.admitHooks(&s)
	if err := doc.err(); err != nil {
		faults = append([]error{err}, faults...)
	}
	return s, errors.Join(faults...)
}

// configFile returns the file that was named, if any.
func (p *program) configFile(cmd *cobra.Command) string {
	if f := cmd.Flag("config"); f != nil && f.Changed {
		return f.Value.String()
	}
	return p.env("FRESHET_CONFIG")
}

// parsePrefixes reads ranges of addresses; a lone address is a range of one.
func parsePrefixes(list string) (found []netip.Prefix, err error) {
	for _, s := range splitList(list) {
		prefix, err := netip.ParsePrefix(s)
		if addr, addrErr := netip.ParseAddr(s); err != nil && addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a range of addresses; write 127.0.0.0/8, 10.1.2.3 or fd00::/8", s)
		}
		found = append(found, prefix.Masked())
	}
	return found, nil
}

// splitList cuts a list at its commas and drops what is empty.
func splitList(list string) (items []string) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
