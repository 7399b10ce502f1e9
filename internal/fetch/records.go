package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/freshet/failure"
)

// RecordTypes are the types of DNS records that can be looked up.
var RecordTypes = []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SRV"}

// maxRecords bounds how many records of a name are taken.
const maxRecords = 1000

// Limits returns the configuration with its defaults filled in.
func (c *Client) Limits() Config { return c.egress.config }

// Records returns the DNS records of a name, sorted. A name that has none of a type
// fails: a caller that expects records sees that they are gone.
func (c *Client) Records(ctx context.Context, name, kind string) ([]string, error) {
	if _, e := c.egress.guard.parse("https://" + name + "/"); e != nil {
		return nil, e
	}
	lookup := c.egress.config.Lookup
	if lookup == nil {
		lookup = systemRecords
	}
	within, cancel := context.WithTimeout(ctx, c.egress.config.DNSTimeout)
	defer cancel()
	found, err := lookup(within, name, kind)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return nil, fail(failure.DNS, "looking up %s: no answer within %v", name, c.egress.config.DNSTimeout)
	case err != nil:
		return nil, lookupFailure(name, err)
	case len(found) == 0:
		return nil, fail(failure.DNS, "%s has no records of type %s", name, kind)
	}
	if kind == "A" || kind == "AAAA" {
		for _, record := range found { // an address that may not be reached is not shown either
			addr, err := netip.ParseAddr(record)
			if err != nil {
				return nil, fail(failure.DNS, "looking up %s: %.80q is not an address", name, record)
			}
			if e := c.egress.guard.judgeAddr(addr); e != nil {
				return nil, fail(failure.BlockedEgress, "%s has an address in a network that may not be reached", name)
			}
		}
	}
	slices.Sort(found)
	return found[:min(len(found), maxRecords)], nil
}

// systemRecords asks the resolvers of this machine.
func systemRecords(ctx context.Context, name, kind string) (found []string, err error) {
	r, rooted := net.DefaultResolver, name+"."
	switch kind {
	case "A", "AAAA":
		addrs, err := r.LookupNetIP(ctx, map[string]string{"A": "ip4", "AAAA": "ip6"}[kind], rooted)
		for _, a := range addrs {
			found = append(found, a.Unmap().String())
		}
		return found, err
	case "CNAME":
		to, err := r.LookupCNAME(ctx, rooted)
		return []string{to}, err
	case "MX":
		list, err := r.LookupMX(ctx, rooted)
		for _, mx := range list {
			found = append(found, fmt.Sprintf("%d %s", mx.Pref, mx.Host))
		}
		return found, err
	case "NS":
		list, err := r.LookupNS(ctx, rooted)
		for _, ns := range list {
			found = append(found, ns.Host)
		}
		return found, err
	case "TXT":
		list, err := r.LookupTXT(ctx, rooted)
		for _, text := range list {
			found = append(found, strconv.Quote(text))
		}
		return found, err
	case "SRV":
		_, list, err := r.LookupSRV(ctx, "", "", rooted)
		for _, s := range list {
			found = append(found, fmt.Sprintf("%d %d %d %s", s.Priority, s.Weight, s.Port, s.Target))
		}
		return found, err
	}
	return nil, fmt.Errorf("records of type %s cannot be looked up; use %s", kind, strings.Join(RecordTypes, ", "))
}
