package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
	"pgregory.net/rapid"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// An ssrfCase is a URL and whether it may be fetched from.
type ssrfCase struct {
	ID               string
	URL              string
	Expect           string
	Class            string `json:"cls"`
	Reason           string
	Stage            string
	Resolves         []string
	ResolvesSequence [][]string `json:"resolves_sequence"`
	Chain            []string
	Policy           string
}

// loadCases returns the cases of a file.
func loadCases[T any](t *testing.T, file string) []T {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Cases []T }
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list.Cases
}

// beyondAURL says which cases are about more than one URL and what it resolves to,
// and where they are tested instead.
func beyondAURL(c ssrfCase) string {
	switch {
	case c.Stage == "entry":
		return "about a way in, not about a URL: TestHouse holds all of them to this guard"
	case c.ID == "redir-12":
		return "a webhook follows no redirect: package deliver"
	case c.ID == "policy-06":
		return "there are no tenants"
	}
	return ""
}

// config returns the configuration that a case speaks of.
func (c ssrfCase) config(t *testing.T) (config fetch.Config) {
	t.Helper()
	key, value, _ := strings.Cut(c.Policy, "=")
	switch key {
	case "":
	case "allow_cidrs":
		config.Allow = []netip.Prefix{netip.MustParsePrefix(value)}
	case "self":
		config.Self = []netip.AddrPort{netip.MustParseAddrPort(value)}
	default:
		t.Fatalf("policy %q is not known here", c.Policy)
	}
	return config
}

// url returns the URL that a case is about. The one about this program is to be on
// its port, as its reason says.
func (c ssrfCase) url() string {
	if c.Class == "self" {
		return strings.TrimSuffix(c.URL, "/") + ":8080/"
	}
	return c.URL
}

// answers returns the addresses that the case's name resolves to, one list for
// each time it is asked.
func (c ssrfCase) answers() (lists [][]netip.Addr) {
	for _, names := range append(c.ResolvesSequence, c.Resolves) {
		var list []netip.Addr
		for _, name := range names {
			switch {
			case name == "SELF":
				list = append(list, netip.MustParseAddr("198.51.101.7"))
			case strings.HasPrefix(name, "x2000"):
				list = slices.Repeat([]netip.Addr{netip.MustParseAddr("93.184.215.14")}, 1999)
				list = append(list, netip.MustParseAddr("10.0.0.1"))
			default:
				list = append(list, netip.MustParseAddr(name))
			}
		}
		if list != nil {
			lists = append(lists, list)
		}
	}
	return lists
}

// admitted reports whether a URL passes all checks that come before a packet.
func admitted(config fetch.Config, raw string, addrs []netip.Addr) error {
	normal, err := config.CheckURL(raw)
	if err != nil {
		return err
	}
	u, err := url.Parse(normal)
	if err != nil {
		return err
	}
	port := 80
	if u.Scheme == "https" {
		port = 443
	}
	if u.Port() != "" {
		port, _ = strconv.Atoi(u.Port())
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		addrs = []netip.Addr{a}
	}
	for _, a := range addrs {
		if err := config.CheckAddr(netip.AddrPortFrom(a, uint16(port))); err != nil {
			return err
		}
	}
	return nil
}

// TestForbiddenAddresses judges URLs without sending anything.
func TestForbiddenAddresses(t *testing.T) {
	for _, c := range loadCases[ssrfCase](t, "testdata/ssrf_cases.json") {
		if c.Stage == "redirect" || c.ID == "dns-17" || beyondAURL(c) != "" {
			continue // these need a server, and have tests of their own
		}
		t.Run(c.ID, func(t *testing.T) {
			lists := c.answers()
			if lists == nil {
				lists = [][]netip.Addr{nil}
			}
			var err error
			for _, addrs := range lists {
				err = errors.Join(err, admitted(c.config(t), c.url(), addrs))
			}
			if got := err == nil; got != (c.Expect == "allow") {
				t.Errorf("%s under policy %q is to be %s (%s), but the checks say: %v", c.URL, c.Policy, c.Expect, c.Reason, err)
			}
		})
	}
}

// TestForbiddenBeforeAPacket fetches what must be refused, with a server
// standing where the connection would arrive.
func TestForbiddenBeforeAPacket(t *testing.T) {
	arrived := tripwire(t)
	_, port, _ := net.SplitHostPort(arrived.addr)
	for _, c := range loadCases[ssrfCase](t, "testdata/ssrf_cases.json") {
		if c.Stage == "redirect" || c.Expect != "deny" || c.Policy != "" || beyondAURL(c) != "" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			lists, asked := c.answers(), 0
			lookup := func(context.Context, string) ([]netip.Addr, error) {
				if len(lists) == 0 {
					return nil, nil
				}
				asked++
				return lists[min(asked, len(lists))-1], nil
			}
			client := fetch.New(fetch.Config{Resolver: lookup, Ports: []uint16{80, 443, 8080, atoi(port)}})
			defer client.CloseIdle()
			if len(lists) > 1 {
				lists = lists[1:] // the first answer is public; what comes after it must be refused
			}
			_, err := client.Fetch(t.Context(), freshet.Request{URL: strings.Replace(c.URL, ":8080/", ":"+port+"/", 1)})
			failed, ok := errors.AsType[*freshet.FetchError](err)
			if !ok {
				t.Fatalf("fetching %s (%s) is not refused: %v", c.URL, c.Reason, err)
			}
			if !failed.Class.Is(failure.Blocked) && failed.Class != failure.DNS {
				t.Errorf("fetching %s (%s) fails as %s, not as blocked: %v", c.URL, c.Reason, failed.Class, err)
			}
		})
	}
	if n := arrived.count(); n > 0 {
		t.Errorf("%d connections arrived at loopback", n)
	}
}

func atoi(s string) uint16 {
	n, _ := strconv.ParseUint(s, 10, 16)
	return uint16(n)
}

// TestRedirectsAreGuarded plays the redirect cases with public names that lead
// to one loopback address, the only one that is open.
func TestRedirectsAreGuarded(t *testing.T) {
	for _, c := range loadCases[ssrfCase](t, "testdata/ssrf_cases.json") {
		if c.Stage != "redirect" || beyondAURL(c) != "" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			hop := 0
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if hop++; hop < len(c.Chain) {
					w.Header()["Location"] = []string{c.Chain[hop]}
					w.WriteHeader(http.StatusFound)
					return
				}
				w.Write([]byte("arrived"))
			})
			client := clientOf(t, "127.0.0.2", handler)
			res, err := client.Fetch(t.Context(), freshet.Request{URL: c.Chain[0]})
			if got := err == nil; got != (c.Expect == "allow") {
				t.Errorf("the chain %q is to be %s (%s), but ends with status %d and: %v", c.Chain, c.Expect, c.Reason, res.Status, err)
			}
			if want := len(c.Chain) - 1; c.Expect == "deny" && res.Requests != want {
				t.Errorf("the chain %q took %d requests, want %d", c.Chain, res.Requests, want)
			}
		})
	}
}

// clientOf returns a client to whom every name is addr, where handler answers
// for both http and https on the ports 80 and 443 as the client sees them.
func clientOf(t *testing.T, addr string, handler http.Handler) *fetch.Client {
	t.Helper()
	plain, secure := listen(t, addr), listen(t, addr)
	s1 := &httptest.Server{Listener: plain, Config: &http.Server{Handler: handler}}
	s1.Start()
	t.Cleanup(s1.Close)
	s2 := &httptest.Server{Listener: secure, Config: &http.Server{Handler: handler}}
	s2.StartTLS()
	t.Cleanup(s2.Close)
	config := fetch.Config{
		Allow: []netip.Prefix{netip.MustParsePrefix(addr + "/32")},
		Resolver: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(addr)}, nil
		},
	}
	client := fetch.NewVia(config, plain.Addr().String(), secure.Addr().String())
	t.Cleanup(client.CloseIdle)
	return client
}

// TestNamesThatTurn resolves a name to a public address when it is admitted
// and to loopback when it is dialled.
func TestNamesThatTurn(t *testing.T) {
	arrived := tripwire(t)
	_, port, _ := net.SplitHostPort(arrived.addr)
	config := fetch.Config{
		Ports: []uint16{atoi(port)},
		Resolver: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	}
	raw := "http://rebind.example:" + port + "/"
	if _, err := config.CheckURL(raw); err != nil {
		t.Fatalf("%s is not admitted: %v", raw, err)
	}
	_, err := fetch.New(config).Fetch(t.Context(), freshet.Request{URL: raw})
	wantClass(t, err, failure.BlockedEgress)
	if hint := freshet.HintOf(err); !strings.Contains(hint, "--allow-cidr 127.0.0.0/8") {
		t.Errorf("the hint does not say how to allow it: %q", hint)
	}
	if arrived.count() > 0 {
		t.Error("a connection arrived at loopback")
	}
}

// TestOwnListener is refused even though its range is open.
func TestOwnListener(t *testing.T) {
	arrived := tripwire(t)
	own := netip.MustParseAddrPort(arrived.addr)
	for _, self := range []netip.AddrPort{own, netip.AddrPortFrom(netip.IPv4Unspecified(), own.Port()), netip.AddrPortFrom(netip.IPv6Unspecified(), own.Port())} {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			client := fetch.New(fetch.Config{Allow: loopback, Self: []netip.AddrPort{self}})
			_, err := client.Fetch(t.Context(), freshet.Request{URL: "http://" + net.JoinHostPort(host, strconv.Itoa(int(own.Port()))) + "/"})
			wantClass(t, err, failure.BlockedEgress)
		}
	}
	if arrived.count() > 0 {
		t.Error("a connection arrived at the program's own listener")
	}
}

// TestOwnAddresses are all refused when the listener is on all of them.
func TestOwnAddresses(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	config := fetch.Config{
		Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
		Self:  []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:8080")},
	}
	for _, local := range addrs {
		a := netip.MustParsePrefix(local.String()).Addr()
		if config.CheckAddr(netip.AddrPortFrom(a, 8080)) == nil {
			t.Errorf("this machine's own %s may be connected to on the port of the listener", a)
		}
		if err := config.CheckAddr(netip.AddrPortFrom(a, 8081)); err != nil {
			t.Errorf("another port of %s is refused: %v", a, err)
		}
	}
	if err := config.CheckAddr(netip.MustParseAddrPort("93.184.215.14:8080")); err != nil {
		t.Errorf("the same port of another machine is refused: %v", err)
	}
}

// TestProxyOfTheEnvironment is not used: the guard would see only its address.
func TestProxyOfTheEnvironment(t *testing.T) {
	arrived := tripwire(t)
	t.Setenv("HTTP_PROXY", "http://"+arrived.addr)
	t.Setenv("http_proxy", "http://"+arrived.addr)
	client := fetch.New(fetch.Config{Resolver: func(context.Context, string) ([]netip.Addr, error) { return nil, nil }})
	_, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
	wantClass(t, err, failure.DNS)
	if arrived.count() > 0 {
		t.Error("the request went to the proxy")
	}
}

// TestMetadataStaysClosed whatever is allowed and however it is wrapped.
func TestMetadataStaysClosed(t *testing.T) {
	open := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for _, a := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
		"::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::ffff:0:169.254.169.254",
		"2001:0:a9fe:a9fe::1", "2001::5601:5601",
	} {
		if err := open.CheckAddr(netip.AddrPortFrom(netip.MustParseAddr(a), 80)); err == nil {
			t.Errorf("%s may be connected to", a)
		}
	}
	if err := open.CheckAddr(netip.MustParseAddrPort("10.0.0.1:22")); err != nil {
		t.Errorf("an open range is refused: %v", err)
	}
}

// TestWrappedAddresses opens a translator's range: what is behind it is still
// judged for itself.
func TestWrappedAddresses(t *testing.T) {
	config := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96")}}
	for a, open := range map[string]bool{"64:ff9b::5db8:d70e": true, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:5db8:d70e::1": false} {
		if err := config.CheckAddr(netip.AddrPortFrom(netip.MustParseAddr(a), 80)); (err == nil) != open {
			t.Errorf("%s is judged %v, want it open: %v", a, err, open)
		}
	}
	mapped := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")}}
	if err := mapped.CheckAddr(netip.MustParseAddrPort("10.1.2.3:80")); err != nil {
		t.Errorf("a range written as IPv6 does not open its IPv4 addresses: %v", err)
	}
}

// TestNoMoreThanTheOracle compares the judgement of addresses with a filter
// written by others: what it denies is denied here too.
func TestNoMoreThanTheOracle(t *testing.T) {
	oracle := ssrf.New(ssrf.WithAnyPort())
	edges := []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("::/96"), netip.MustParsePrefix("2000::/3")}
	edges = append(append(edges, ssrf.IPv4DeniedPrefixes...), ssrf.IPv6DeniedPrefixes...)
	rapid.Check(t, func(t *rapid.T) {
		var a netip.Addr
		switch rapid.IntRange(0, 2).Draw(t, "form") {
		case 0:
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
		case 1:
			a = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6")))
		default: // within a range, or a step beside it
			p := rapid.SampledFrom(edges).Draw(t, "range")
			b := p.Addr().AsSlice()
			for i := p.Bits() / 8; i < len(b); i++ {
				b[i] |= rapid.Byte().Draw(t, "byte") & byte(0xff>>max(0, p.Bits()-8*i))
			}
			a, _ = netip.AddrFromSlice(b)
			switch rapid.IntRange(0, 4).Draw(t, "beside") {
			case 0:
				a = p.Addr().Prev()
			case 1:
				a = p.Addr()
			}
			if !a.IsValid() {
				return
			}
		}
		to := netip.AddrPortFrom(a, 80)
		ours := fetch.Config{}.CheckAddr(to)
		network := "tcp6"
		if a.Is4() {
			network = "tcp4"
		}
		if theirs := oracle.Safe(network, to.String(), nil); theirs != nil && ours == nil {
			t.Fatalf("%s is let through, but the oracle says: %v", a, theirs)
		}
		if a.Is4() {
			mapped := netip.AddrPortFrom(netip.AddrFrom16(a.As16()), 80)
			if again := (fetch.Config{}).CheckAddr(mapped); (again == nil) != (ours == nil) {
				t.Fatalf("%s and %s are judged differently: %v and %v", a, mapped, ours, again)
			}
		}
	})
}
