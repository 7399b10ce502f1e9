package fetch

import (
	"errors"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A Rule names the rule that decided whether a URL may be fetched from, as dotted
// words from the general to the particular, such as "ip.loopback". It is finer than
// the class of a failure: it answers an operator who asks why. Rules are added but
// never renamed.
type Rule string

// The rules. Those on top allow, the others refuse; RuleOpening does either.
const (
	RuleOK         Rule = "ok"                // a public address, an allowed port
	RuleRedirectOK Rule = "redirect.ok"       // and every redirect leads to such a one
	RuleOpening    Rule = "policy.allow_cidr" // decided by what allow_cidr opens: within, or outside of it
	RuleNever      Rule = "policy.never"      // what no setting opens, though allow_cidr covers it

	RuleControl   Rule = "url.control"     // a control character
	RuleBackslash Rule = "url.backslash"   // a backslash, which some read as a slash
	RuleMalformed Rule = "url.malformed"   // not a URL, or not one that everybody reads alike
	RuleTooLong   Rule = "url.too_long"    // longer than a URL may be
	RuleRelative  Rule = "url.relative"    // without a scheme
	RuleScheme    Rule = "url.scheme"      // neither http nor https
	RuleOpaque    Rule = "url.opaque"      // http: without //
	RuleNoHost    Rule = "url.no_host"     // no host
	RuleUserinfo  Rule = "url.userinfo"    // a user name or password
	RuleEscape    Rule = "url.host_escape" // a host with % escapes
	RuleURLPort   Rule = "url.port"        // no number from 1 to 65535

	RuleNumber    Rule = "host.noncanonical_ipv4"      // an IPv4 address in an unusual notation
	RuleZone      Rule = "host.zone_id"                // an address with a zone
	RuleIDNA      Rule = "host.idna_invalid"           // no valid international name
	RuleIDNAIP    Rule = "host.idna_maps_to_ip"        // an address in disguise
	RuleIDNALocal Rule = "host.idna_maps_to_localhost" // localhost in disguise

	RuleMetadata    Rule = "metadata"         // a cloud's metadata service
	RuleSelf        Rule = "self"             // this program itself
	RulePort        Rule = "port"             // a port that is not allowed
	RuleLoopback    Rule = "ip.loopback"      // this machine
	RuleUnspecified Rule = "ip.unspecified"   // no address, which is this machine as well
	RuleThisNetwork Rule = "ip.this_network"  // 0.0.0.0/8
	RulePrivate     Rule = "ip.private"       // a private network
	RuleLinkLocal   Rule = "ip.link_local"    // the same wire
	RuleSiteLocal   Rule = "ip.site_local"    // what private networks were once
	RuleCGNAT       Rule = "ip.cgnat"         // a carrier's shared network
	RuleIETF        Rule = "ip.ietf"          // protocol assignments
	RuleDocument    Rule = "ip.documentation" // for examples
	RuleBenchmark   Rule = "ip.benchmark"     // for measurements
	RuleDeprecated  Rule = "ip.deprecated"    // no longer in use
	RuleDiscard     Rule = "ip.discard"       // thrown away on the way
	RuleMulticast   Rule = "ip.multicast"     // a group
	RuleBroadcast   Rule = "ip.broadcast"     // everybody on the wire
	RuleReserved    Rule = "ip.reserved"      // not handed out to the public
	RuleMapped      Rule = "ip.mapped"        // a refused IPv4 address written as ::ffff:a.b.c.d
	RuleCompat      Rule = "ip.compat"        // an IPv4 address written as ::a.b.c.d
	RuleTranslated  Rule = "ip.translated"    // an IPv4 address in ::ffff:0:0:0/96
	RuleNAT64       Rule = "ip.nat64"         // an IPv4 address behind a translator
	Rule6to4        Rule = "ip.6to4"          // an IPv4 address behind a relay
	RuleTeredo      Rule = "ip.teredo"        // an IPv4 address behind a tunnel
	RuleISATAP      Rule = "ip.isatap"        // a refused IPv4 address behind a tunnel within a site

	RuleAnswer    Rule = "dns.forbidden_answer" // a name for a refused address, or of private networks
	RuleAnswers   Rule = "dns.limits"           // such a name with more addresses than are used
	RuleRebinding Rule = "dns.rebinding"        // a name that turned to a refused address
	RuleNoName    Rule = "dns.nxdomain"         // a name without an address
	RuleNoAnswer  Rule = "dns.failed"           // no answer in time, or a broken one

	RuleRedirectTo     Rule = "redirect.forbidden" // a redirect to a host that is refused
	RuleRedirectScheme Rule = "redirect.scheme"    // a redirect to neither http nor https
	RuleRedirectURL    Rule = "redirect.malformed" // a redirect to something that is not a URL
	RuleDowngrade      Rule = "redirect.downgrade" // a redirect from https to http
	RuleRedirectLimit  Rule = "redirect.limit"     // one redirect too many
	RuleNoLocation     Rule = "redirect.missing"   // a redirect to nowhere
)

// A ruled error carries the rule that it comes from.
type ruled struct {
	error
	rule Rule
}

// Unwrap returns the error alone.
func (r ruled) Unwrap() error { return r.error }

// refuse is fail for a refusal by a rule. Of several rules the outermost counts.
func refuse(rule Rule, class failure.Class, format string, args ...any) *freshet.FetchError {
	e := fail(class, format, args...)
	e.Err = ruled{e.Err, rule}
	return e
}

// ruleOf returns the rule that an error comes from; "" if from none.
func ruleOf(err error) Rule {
	r, _ := errors.AsType[ruled](err)
	return r.rule
}

// redirectRule returns the rule by which a redirect is refused to a URL for which err
// was returned.
func redirectRule(err error) Rule {
	switch rule := ruleOf(err); {
	case rule == RuleScheme:
		return RuleRedirectScheme
	case strings.HasPrefix(string(rule), "url."), rule == RuleIDNA:
		return RuleRedirectURL
	case rule == RuleNoName, rule == RuleNoAnswer:
		return rule
	}
	return RuleRedirectTo
}
