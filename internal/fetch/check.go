package fetch

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A Verdict is what the egress rules make of a URL.
type Verdict struct {
	Allow  bool
	Rule   Rule   // that decided
	Reason string // in words
	Hint   string // what the operator can do, if anything

	Addrs []netip.Addr // where it would have been fetched from, if that came to be known
}

// Check says what the rules make of a URL, and of redirects from there to one
// location after another. It goes through what a fetch goes through up to the moment
// at which a connection would be made: it looks names up, and connects to nothing.
func (c Config) Check(ctx context.Context, raw string, locations ...string) Verdict {
	c = c.withDefaults()
	d := newDialer(c)
	at, e := d.parse(raw)
	if e != nil {
		return refused(e)
	}
	v := d.check(ctx, at)
	for hops, location := range locations {
		if !v.Allow {
			break
		}
		if hops >= c.Redirects {
			return refused(refuse(RuleRedirectLimit, failure.RedirectLimit, "more than %d redirects", max(c.Redirects, 0)))
		}
		if at, e = d.next(at, http.Header{"Location": {location}}); e != nil {
			return refused(e)
		}
		if v = d.check(ctx, at); !v.Allow {
			v.Reason = fmt.Sprintf("a redirect to %s: %s", at, v.Reason)
			v.Rule = redirectRule(ruled{rule: v.Rule})
		} else if v.Rule == RuleOK {
			v.Rule = RuleRedirectOK
		}
	}
	return v
}

// check goes as far as the connection to a URL that has been parsed.
func (d *dialer) check(ctx context.Context, to target) Verdict {
	host, port := to.hostPort()
	addrs, err := d.addrs(ctx, host)
	if err != nil {
		return refused(err)
	}
	unopened := d.guard
	unopened.allow = nil
	v := Verdict{Allow: true, Rule: RuleOK, Addrs: addrs}
	for _, a := range addrs {
		ap := netip.AddrPortFrom(a, port)
		if e := d.judge(ap); e != nil { // as control does before it connects
			v = refused(e)
			v.Addrs = addrs
			return v
		}
		if unopened.judge(ap) != nil {
			v.Rule = RuleOpening
		}
	}
	v.Reason = "a public address and an allowed port"
	if v.Rule == RuleOpening {
		v.Reason = "allowed by allow_cidr"
	}
	if _, err := netip.ParseAddr(host); err != nil {
		v.Reason = fmt.Sprintf("%s resolves to %s: %s", host, list(addrs), v.Reason)
	} else {
		v.Reason = fmt.Sprintf("%s: %s", host, v.Reason)
	}
	return v
}

// hostPort returns what is dialled.
func (t target) hostPort() (host string, port uint16) {
	host, text, err := net.SplitHostPort(t.host)
	if err != nil { // there is none
		return strings.Trim(t.host, "[]"), defaultPort(t.scheme)
	}
	n, _ := strconv.ParseUint(text, 10, 16) // parse has written it
	return host, uint16(n)
}

// list returns addresses in words.
func list(addrs []netip.Addr) string {
	var words []string
	for _, a := range addrs {
		words = append(words, a.String())
	}
	return strings.Join(words, ", ")
}

// refused returns the verdict that err is. Only a lookup fails without a rule.
func refused(err error) Verdict {
	return Verdict{Rule: cmp.Or(ruleOf(err), RuleNoAnswer), Reason: err.Error(), Hint: freshet.HintOf(err)}
}
