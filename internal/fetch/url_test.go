package fetch_test

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/invalid"
)

// TestNormalForm admits URLs and shows what becomes of them.
func TestNormalForm(t *testing.T) {
	home := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}}
	tests := []struct {
		config    fetch.Config
		raw, want string
	}{
		{raw: "https://example.com", want: "https://example.com/"},
		{raw: "HTTPS://EXAMPLE.COM/Path?Q=A#frag", want: "https://example.com/Path?Q=A"},
		{raw: "http://example.com:80/", want: "http://example.com/"},
		{raw: "https://example.com:443?q", want: "https://example.com/?q"},
		{raw: "https://example.com:8443/x", want: "https://example.com:8443/x"},
		{raw: "http://example.com:/", want: "http://example.com/"},
		{raw: "http://example.com:0080/", want: "http://example.com/"},
		{raw: "https://example.com./", want: "https://example.com/"},
		{raw: "https://bücher.example/ü?ü", want: "https://xn--bcher-kva.example/ü?ü"},
		{raw: "https://BÜCHER.example/", want: "https://xn--bcher-kva.example/"},
		{raw: "https://my_host.example/a%2Fb//c/../d", want: "https://my_host.example/a%2Fb//c/../d"},
		{raw: "http://93.184.215.14/", want: "http://93.184.215.14/"},
		{raw: "http://[2606:2800:021F::1]:8080/", want: "http://[2606:2800:21f::1]:8080/"},
		{raw: "http://[2606:2800:21f:0:0::1]/", want: "http://[2606:2800:21f::1]/"},
		{raw: "http://example.com/?a=http://b@c", want: "http://example.com/?a=http://b@c"},
		{raw: "http://example.com#@evil.example/", want: "http://example.com/"},
		{config: home, raw: "http://localhost:9000/", want: "http://localhost:9000/"},
		{config: home, raw: "http://127.0.0.1:9000/", want: "http://127.0.0.1:9000/"},
		{config: home, raw: "http://nas/", want: "http://nas/"},
		{config: home, raw: "http://wiki.lan:3000/", want: "http://wiki.lan:3000/"},
	}
	for _, tt := range tests {
		got, err := tt.config.CheckURL(tt.raw)
		if err != nil {
			t.Errorf("%q is refused: %v", tt.raw, err)
			continue
		}
		if got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.raw, got, tt.want)
		}
		if again, err := tt.config.CheckURL(got); again != got || err != nil {
			t.Errorf("the normal form %q becomes %q (%v), want it to stay", got, again, err)
		}
	}
}

// TestRefusedURLs says why a URL cannot be watched, and what to do about it.
func TestRefusedURLs(t *testing.T) {
	local := fetch.Config{Allow: loopback}
	tests := []struct {
		config          fetch.Config
		raw, says, hint string
	}{
		{raw: "", says: "no URL"},
		{raw: "example.com/page", says: "absolute", hint: "https://"},
		{raw: "localhost:8080/page", says: "absolute", hint: "https://"},
		{raw: "javascript:alert(1)", says: "cannot be watched", hint: "http or https"},
		{raw: "http:example.com", says: "//"},
		{raw: "http://user:pw@example.com/", says: "password", hint: "before the @"},
		{raw: "http://example.com/a b", says: "space"},
		{raw: " http://example.com/", says: "space"},
		{raw: "http://example.com/\x00", says: "control"},
		{raw: `http://example.com/a\b`, says: "backslash"},
		{raw: "http://９３.184.215.14/", says: "IPv4"},
		{raw: "http://example.com/%zz", says: "hexadecimal"},
		{raw: "http://example.com:99999/", says: "port"},
		{raw: "http://example.com:+80/", says: "port"},
		{raw: "http://example.com:22/", says: "port 22", hint: "8443"},
		{raw: "http://a..b/", says: "not a valid name"},
		{raw: "http://-a.example/", says: "not a valid name"},
		{raw: "http://" + strings.Repeat("a", 64) + ".example/", says: "not a valid name"},
		{raw: "http://exa\u200bmple\uff0fx/", says: "not a valid name"},
		{raw: "http://%65xample.com/", says: "escapes"},
		{raw: "http://[::1", says: "brackets"},
		{raw: "http://[1.2.3.4]/", says: "not an IPv6"},
		{raw: "http://127.0.0.1/", says: "loopback", hint: "--allow-cidr 127.0.0.0/8"},
		{raw: "http://[::1]/", says: "loopback", hint: "--allow-cidr ::1/128"},
		{raw: "http://192.168.1.1/", says: "private", hint: "--allow-cidr 192.168.1.1/32"},
		{raw: "http://localhost/", says: "this machine", hint: "--allow-cidr 127.0.0.0/8"},
		{raw: "http://intranet/", says: "not a public name", hint: "--allow-cidr"},
		{raw: "https://example.com/" + strings.Repeat("a", 8<<10), says: "longer than 8192"},
		{raw: "http://\xff.example/", says: "UTF-8"},
		{config: local, raw: "http://intranet/", says: "not a public name"},
		{config: local, raw: "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", says: "another name for localhost"},
		{config: local, raw: "http://127.1/", says: "IPv4"},
		{config: local, raw: "http://metadata.google.internal/", says: "metadata"},
		{config: local, raw: "http://169.254.169.254/", says: "metadata", hint: "never"},
	}
	for _, tt := range tests {
		got, err := tt.config.CheckURL(tt.raw)
		invalid, ok := errors.AsType[*invalid.Error](err)
		if !ok {
			t.Errorf("%.80q becomes %q with error %v, want an InvalidError", tt.raw, got, err)
			continue
		}
		if invalid.Field != "url" || !strings.Contains(invalid.Reason, tt.says) {
			t.Errorf("%.80q is refused with %q, want it to say %q of the field url", tt.raw, err, tt.says)
		}
		if hint := freshet.HintOf(err); tt.hint != "" && !strings.Contains(hint, tt.hint) {
			t.Errorf("%.80q is refused with the hint %q, want it to say %q", tt.raw, hint, tt.hint)
		}
	}
}

// TestSentAsWritten looks at the request line that a server gets.
func TestSentAsWritten(t *testing.T) {
	base := web(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
	client := newClient(t, fetch.Config{})
	for rest, want := range map[string]string{
		"":                   "/",
		"a%2Fb%2fc":          "/a%2Fb%2fc",
		"a//b/../c":          "/a//b/../c",
		"ü?ü=ü":              "/%C3%BC?%C3%BC=%C3%BC",
		"{a}%2F|b":           "/%7Ba%7D%2F%7Cb",
		"?":                  "/?",
		"?a=%zz&b=[1]&c=d e": "",
		"?a=%zz&b=[1]":       "/?a=%zz&b=[1]",
		"a;b=c,d@e:f!$&'()*": "/a;b=c,d@e:f!$&'()*",
	} {
		res, err := client.Fetch(t.Context(), freshet.Request{URL: base + rest})
		if want == "" {
			wantClass(t, err, failure.BlockedURL)
			continue
		}
		if err != nil || string(res.Body) != want {
			t.Errorf("%q is asked for as %q (%v), want %q", rest, res.Body, err, want)
		}
	}
}

// FuzzCheckURL: what is admitted means one host, to us and to net/url, and its
// normal form is stable.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/", "http://127.0.0.1.:80/", "http://a@b/", `http:\\a\b`, "http://[::ffff:1.2.3.4]:80/x?y#z",
		"http://bücher.example/%20", "http://0x7f.1/", "http://xn--bcher-kva.example", "http://example.com:80:80/", "//a", "http://１２７.0.0.1/",
	} {
		f.Add(s)
	}
	config := fetch.Config{}
	open := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	f.Fuzz(func(t *testing.T, raw string) {
		normal, err := config.CheckURL(raw)
		if err != nil {
			if _, ok := errors.AsType[*invalid.Error](err); !ok {
				t.Fatalf("%q is refused with %v, which is no InvalidError", raw, err)
			}
			if normal, err = open.CheckURL(raw); err != nil {
				return
			}
		} else if _, err := open.CheckURL(raw); err != nil {
			t.Fatalf("%q is admitted, but not where more is allowed: %v", raw, err)
		}
		again, err := open.CheckURL(normal)
		if err != nil || again != normal {
			t.Fatalf("%q becomes %q and that becomes %q (%v)", raw, normal, again, err)
		}
		u, err := url.Parse(normal)
		if err != nil {
			t.Fatalf("%q becomes %q, which net/url cannot parse: %v", raw, normal, err)
		}
		authority, _, _ := strings.Cut(strings.SplitN(normal, "://", 2)[1], "/")
		if u.Host != authority || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q becomes %q, whose host is %q to net/url", raw, normal, u.Host)
		}
		if v, err := url.Parse(raw); err == nil && v.Port() == "" && u.Port() != "" {
			t.Fatalf("%q has no port, but its normal form %q has", raw, normal)
		}
		if strings.ContainsAny(u.Host, "@%\\ /?#") || u.Host != strings.ToLower(u.Host) {
			t.Fatalf("%q becomes %q, with a host that parsers disagree about", raw, normal)
		}
	})
}
