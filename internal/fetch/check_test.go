package fetch_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// stub returns a lookup that knows one answer for all names.
func stub(addrs []netip.Addr) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) { return addrs, nil }
}

// verdict checks the URL of a case. A name that is asked for again and then turns is
// what rebinding is.
func (c ssrfCase) verdict(t *testing.T) (v fetch.Verdict) {
	t.Helper()
	config := c.config(t)
	config.Connect = func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		t.Errorf("%s: a check connects to %s", c.ID, to)
		return nil, net.ErrClosed
	}
	lists := c.answers()
	if lists == nil {
		lists = [][]netip.Addr{nil}
	}
	if c.Stage == "redirect" {
		lists[0] = []netip.Addr{netip.MustParseAddr("93.184.215.14")}
	}
	var chain []string
	if len(c.Chain) > 0 {
		chain = c.Chain[1:]
	}
	for turn, addrs := range lists {
		config.Resolver = stub(addrs)
		v = config.Check(t.Context(), c.url(), chain...)
		if turn > 0 && v.Rule == fetch.RuleAnswer {
			v.Rule = fetch.RuleRebinding
		}
		if !v.Allow {
			break
		}
	}
	return v
}

// TestEveryCaseHasItsVerdict checks the URLs of the list: the answer and the rule must
// be the ones that are wanted.
func TestEveryCaseHasItsVerdict(t *testing.T) {
	checked := 0
	for _, c := range loadCases[ssrfCase](t, "testdata/ssrf_cases.json") {
		if beyondAURL(c) != "" {
			continue
		}
		checked++
		t.Run(c.ID, func(t *testing.T) {
			v := c.verdict(t)
			if v.Allow != (c.Expect == "allow") || string(v.Rule) != c.Class {
				t.Errorf("%q (%s) is judged allow=%t by %s (%s), want %s by %s", c.URL, c.Reason, v.Allow, v.Rule, v.Reason, c.Expect, c.Class)
			}
			if v.Reason == "" {
				t.Errorf("%q has no reason", c.URL)
			}
		})
	}
	if checked < 150 {
		t.Errorf("only %d cases were checked", checked)
	}
}

// TestMoreVerdicts has cases beside those of the list.
func TestMoreVerdicts(t *testing.T) {
	public := []string{"93.184.215.14"}
	for _, c := range []struct {
		url       string
		rule      fetch.Rule
		resolves  []string
		allow     string
		redirects []string
	}{
		// Addresses at the edges of their ranges.
		{url: "http://10.255.255.255/", rule: "ip.private"},
		{url: "http://192.168.0.1/", rule: "ip.private"},
		{url: "http://172.32.0.1/", rule: "ok"},
		{url: "http://100.128.0.1/", rule: "ok"},
		{url: "http://9.255.255.255/", rule: "ok"},
		{url: "http://126.255.255.255/", rule: "ok"},
		{url: "http://198.51.100.1/", rule: "ip.documentation"},
		{url: "http://198.18.0.1/", rule: "ip.benchmark"},
		{url: "http://255.255.255.254/", rule: "ip.reserved"},
		{url: "http://169.254.170.2/", rule: "metadata"},
		{url: "http://[fd00:a9fe:a9fe::1]/", rule: "metadata"},
		{url: "http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", rule: "ok"},
		{url: "http://[::]/", rule: "ip.unspecified"},
		{url: "http://[::ffff:0.0.0.0]/", rule: "ip.mapped"},
		{url: "http://[::ffff:93.184.215.14]/", rule: "ok"},
		{url: "http://[::5db8:d70e]/", rule: "ip.compat"},
		{url: "http://[64:ff9b:1::7f00:1]/", rule: "ip.nat64"},
		{url: "http://[64:ff9b::5db8:d70e]/", rule: "ip.nat64"},
		{url: "http://[2002:5db8:d70e::1]/", rule: "ip.6to4"},
		{url: "http://[2001:0:a9fe:a9fe::1]/", rule: "ip.teredo"},
		{url: "http://[2001:470::5efe:127.0.0.1]/", rule: "ip.isatap"},
		{url: "http://[2001:470::200:5efe:10.0.0.1]/", rule: "ip.isatap"},
		{url: "http://[2001:470::5efe:93.184.215.14]/", rule: "ok"},
		{url: "http://[fe80::5efe:10.0.0.1]/", rule: "ip.link_local"},
		{url: "http://[febf::1]/", rule: "ip.link_local"},
		{url: "http://[ff02::1]/", rule: "ip.multicast"},
		{url: "http://[2001:db8::1]/", rule: "ip.documentation"},
		{url: "http://[2001:20::1]/", rule: "ip.ietf"},
		{url: "http://[2001:10::1]/", rule: "ip.deprecated"},
		{url: "http://[5f00::1]/", rule: "ip.reserved"},
		{url: "http://[4000::1]/", rule: "ip.reserved"},
		{url: "http://[FC00::1]/", rule: "ip.private"},

		// Spellings of addresses.
		{url: "http://0177.0.0.1/", rule: "host.noncanonical_ipv4"},
		{url: "http://2852039166/", rule: "host.noncanonical_ipv4"},
		{url: "http://127.0.0.1./", rule: "host.noncanonical_ipv4"},
		{url: "http://0X7F.1/", rule: "host.noncanonical_ipv4"},
		{url: "http://1.2.3.4.5/", rule: "host.noncanonical_ipv4"},
		{url: "http://256.1.1.1/", rule: "host.noncanonical_ipv4"},
		{url: "http://page.example.0x/", rule: "host.noncanonical_ipv4"},
		{url: "http://127。0。0。1/", rule: "host.idna_maps_to_ip"},
		{url: "http://169．254｡169。254/", rule: "host.idna_maps_to_ip"},
		{url: "http://０x7f.1/", rule: "host.idna_maps_to_ip"},
		{url: "http://ｌｏｃａｌｈｏｓｔ/", rule: "host.idna_maps_to_localhost"},
		{url: "http://loc\u00adalhost/", rule: "host.idna_maps_to_localhost"},
		{url: "http://ⓜetadata.google.internal/", rule: "metadata"},
		{url: "http://xn--/", rule: "host.idna_invalid"},
		{url: "http://xn--a/", rule: "host.idna_invalid"},
		{url: "http://[fe80::1%eth0]/", rule: "host.zone_id"},
		{url: "http://[::ffff:127.0.0.1%25lo]/", rule: "host.zone_id"},
		{url: "http://[%3a%3a1]/", rule: "url.host_escape"},
		{url: "http://127%2e0%2e0%2e1/", rule: "url.host_escape"},
		{url: "http://127.0.0.1%00.example.com/", rule: "url.host_escape"},
		{url: "http://[127.0.0.1]/", rule: "url.malformed"},
		{url: "http://[::1/", rule: "url.malformed"},
		{url: "http://::1/", rule: "url.malformed"},

		// URLs.
		{url: "", rule: "url.relative"},
		{url: "/etc/passwd", rule: "url.relative"},
		{url: "?u=http://127.0.0.1/", rule: "url.relative"},
		{url: "example.com/x", rule: "url.relative"},
		{url: "localhost:8080/", rule: "url.relative"},
		{url: "http:/127.0.0.1/", rule: "url.no_host"},
		{url: "http:", rule: "url.no_host"},
		{url: "http:////127.0.0.1/", rule: "url.no_host"},
		{url: "http://:80/", rule: "url.no_host"},
		{url: "http://?x", rule: "url.no_host"},
		{url: "http://user:pass@example.com/", rule: "url.userinfo"},
		{url: "http://@example.com/", rule: "url.userinfo"},
		{url: "http://example.com\\@127.0.0.1/", rule: "url.backslash"},
		{url: "http://exa\tmple.com/", rule: "url.control"},
		{url: "http://example.com/\x00", rule: "url.control"},
		{url: " http://example.com/", rule: "url.malformed"},
		{url: "http://example..com/", rule: "url.malformed"},
		{url: "http://\xff/", rule: "url.malformed"},
		{url: "http://example.com:65536/", rule: "url.port"},
		{url: "http://example.com:http/", rule: "url.port"},
		{url: "http://example.com:+80/", rule: "url.port"},
		{url: "http://example.com:８０/", rule: "url.port"},
		{url: "file:/etc/passwd", rule: "url.scheme"},
		{url: "javascript:alert(1)", rule: "url.scheme"},
		{url: "data:text/html,x", rule: "url.scheme"},
		{url: "unix:///var/run/docker.sock", rule: "url.scheme"},
		{url: "wss://example.com/", rule: "url.scheme"},
		{url: "http://example.com:25/", rule: "port", resolves: public},
		{url: "http://93.184.215.14:9200/", rule: "port"},
		{url: "http://127.0.0.1:22/", rule: "ip.loopback"},
		{url: "http://example.com:8080/", rule: "ok", resolves: public},
		{url: "http://example.com:/", rule: "ok", resolves: public},
		{url: "http://example.com?@127.0.0.1/", rule: "ok", resolves: public},

		// Names.
		{url: "http://localhost/", rule: "dns.forbidden_answer"},
		{url: "http://mixed.example/", rule: "dns.forbidden_answer", resolves: []string{"93.184.215.14", "10.0.0.1"}},
		{url: "http://dns64.example/", rule: "dns.forbidden_answer", resolves: []string{"64:ff9b::a00:1"}},
		{url: "http://meta.example/", rule: "dns.forbidden_answer", resolves: []string{"169.254.169.254"}},
		{url: "http://zero.example/", rule: "dns.forbidden_answer", resolves: []string{"0.0.0.0"}},
		{url: "http://zone.example/", rule: "dns.forbidden_answer", resolves: []string{"fe80::1%eth0"}},
		{url: "http://intranet/", rule: "dns.forbidden_answer", resolves: public},
		{url: "http://ip6-localhost/", rule: "dns.forbidden_answer", resolves: []string{"::1"}},
		{url: "http://metadata.google.internal./", rule: "metadata"},
		{url: "http://METADATA/", rule: "metadata"},
		{url: "http://expyuzz4wqqyqhjn.onion/", rule: "dns.nxdomain"},
		{url: "http://nothing.example/", rule: "dns.nxdomain", resolves: []string{}},

		// What was opened.
		{url: "http://intra.example/", rule: "policy.allow_cidr", resolves: []string{"10.1.2.3"}, allow: "10.1.2.0/24"},
		{url: "http://intra.example:22/", rule: "policy.allow_cidr", resolves: []string{"10.1.2.3"}, allow: "10.1.2.0/24"},
		{url: "http://localhost/", rule: "policy.allow_cidr", allow: "127.0.0.0/8"},
		{url: "http://93.184.215.14/", rule: "ok", allow: "10.0.0.0/8"},
		{url: "http://[::ffff:169.254.169.254]/", rule: "policy.never", allow: "0.0.0.0/0"},
		{url: "http://[64:ff9b::a9fe:a9fe]/", rule: "policy.never", allow: "::/0"},

		// Redirects.
		{url: "https://pub.example/", rule: "redirect.ok", resolves: public, redirects: []string{"/next", "?page=2"}},
		{url: "https://pub.example/", rule: "redirect.malformed", resolves: public, redirects: []string{"https://user@b.example/"}},
		{url: "https://pub.example/", rule: "redirect.forbidden", resolves: public, redirects: []string{"https://b.example:22/"}},
		{url: "https://pub.example/", rule: "redirect.missing", resolves: public, redirects: []string{""}},
		{url: "https://pub.example/", rule: "redirect.limit", resolves: public, redirects: []string{"/1", "/2", "/3", "/4", "/5", "/6"}},
		{url: "http://10.0.0.1/", rule: "ip.private", redirects: []string{"https://pub.example/"}},
	} {
		list := ssrfCase{ID: c.url, URL: c.url, Resolves: c.resolves, Chain: append([]string{c.url}, c.redirects...)}
		if c.allow != "" {
			list.Policy = "allow_cidrs=" + c.allow
		}
		v := list.verdict(t)
		allow := c.rule == fetch.RuleOK || c.rule == fetch.RuleRedirectOK || c.rule == fetch.RuleOpening
		if v.Rule != c.rule || v.Allow != allow {
			t.Errorf("%q is judged allow=%t by %s (%s), want %t by %s", c.url, v.Allow, v.Rule, v.Reason, allow, c.rule)
		}
	}
}

// TestVerdictIsWhatAFetchDoes fetches what was checked: it gets as far as a connection
// if and only if it was allowed, and otherwise fails for the reason that was given.
func TestVerdictIsWhatAFetchDoes(t *testing.T) {
	for _, c := range loadCases[ssrfCase](t, "testdata/ssrf_cases.json") {
		if beyondAURL(c) != "" || c.Stage == "redirect" || c.Class == "dns.rebinding" {
			continue
		}
		config := c.config(t)
		for _, addrs := range c.answers() {
			config.Resolver = stub(addrs)
		}
		if config.Resolver == nil {
			config.Resolver = stub(nil)
		}
		connected := false
		config.Connect = func(context.Context, netip.AddrPort) (net.Conn, error) {
			connected = true
			return nil, net.ErrClosed
		}
		v := config.Check(t.Context(), c.url())
		if connected {
			t.Errorf("%s: the check of %q connects", c.ID, c.URL)
		}
		_, err := fetch.New(config).Fetch(t.Context(), freshet.Request{URL: c.url()})
		if connected != v.Allow {
			t.Errorf("%s: %q is allowed: %t; a fetch connects: %t (%v)", c.ID, c.URL, v.Allow, connected, err)
		}
		if !v.Allow && err.Error() != v.Reason {
			t.Errorf("%s: %q is refused because %q, but a fetch because %q", c.ID, c.URL, v.Reason, err)
		}
	}
}
