package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/freshet/rendering"
)

// asked is the page of a shop that asks for parts of its own and for those of others.
const asked = `<!doctype html><div id=app></div><iframe src="OTHER/frame"></iframe>
<script src="OTHER/script.js"></script><script>
const get = (url, how) => fetch(url, how).then(r => r.text()).catch(() => "nothing");
Promise.all([get("/data"), get("/own", {headers: {"X-Key": "of the page"}}), get("/away"), get("OTHER/steal"), get("OTHER/back", {mode: "no-cors"})])
	.then(all => { document.querySelector("#app").textContent = all[0]; document.body.id = "done" });
</script>`

// TestPartsAreAskedForAsThePage has a page with credentials ask for parts of its own,
// which get them, and of others, which must not.
func TestPartsAreAskedForAsThePage(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "shop.example"} { // for one of them browsers say which site a request is of
		t.Run(host, func(t *testing.T) { partsOf(t, host) })
	}
}

func partsOf(t *testing.T, host string) {
	g := newRig(t)
	g.fetch.Resolver = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	g.reach()
	var mu sync.Mutex
	got := map[string]string{}
	note := func(w http.ResponseWriter, r *http.Request) {
		text := fmt.Sprintf("%s|%s|%s|%s", r.Header.Get("Authorization"), r.Header.Get("X-Key"), cookiesOf(r), r.Header.Get("Accept-Language"))
		mu.Lock()
		got[r.URL.Path] = text
		mu.Unlock()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprint(w, text)
	}
	named := func(s *httptest.Server, host string) string {
		return "http://" + host + ":" + netip.MustParseAddrPort(s.Listener.Addr().String()).String()[len("127.0.0.1:"):]
	}
	g.URL = named(g.Server, host)
	other := http.NewServeMux()
	stranger := httptest.NewServer(other) // at another port of the same host
	t.Cleanup(stranger.Close)
	away := named(stranger, host)
	g.Mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Set-Cookie", "visit=new; Path=/")
		fmt.Fprint(w, strings.ReplaceAll(asked, "OTHER", away))
	})
	for _, path := range []string{"/data", "/own", "/act"} {
		g.Mux.HandleFunc(path, note)
	}
	g.Mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, away+"/landed", http.StatusFound)
	})
	for _, path := range []string{"/steal", "/landed", "/script.js"} {
		other.HandleFunc(path, note)
	}
	other.HandleFunc("/back", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, g.URL+"/act?redirected", http.StatusFound)
	})
	other.HandleFunc("/frame", func(w http.ResponseWriter, r *http.Request) {
		note(httptest.NewRecorder(), r)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<script>fetch("%s/act", {method: "POST", mode: "no-cors"})</script>`, g.URL)
	})

	v := g.renderAlong()
	g.wantBody(v, "Bearer ***|key|known=1; visit=new|de")
	mu.Lock()
	defer mu.Unlock()
	const own = "Bearer secret|key|known=1; visit=new|de"
	for path, want := range map[string]string{"/data": own, "/own": strings.Replace(own, "key", "of the page", 1)} {
		if got[path] != want {
			t.Errorf("%s was asked for with %q, want %q", path, got[path], want)
		}
	}
	for _, path := range []string{"/steal", "/landed", "/script.js", "/frame", "/act"} {
		with, ok := got[path]
		if !ok {
			t.Errorf("%s was not asked for", path)
		}
		for _, ours := range []string{"secret", "key", "known", "|de"} {
			if strings.Contains(with, ours) {
				t.Errorf("%s was asked for with %q, which is not for it", path, with)
			}
		}
	}
}

// cookiesOf returns the cookies of a request in the order of their names.
func cookiesOf(r *http.Request) string {
	var pairs []string
	for _, c := range r.Cookies() {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "; ")
}

// renderAlong renders the page of a rig that is asked for with credentials.
func (g *rig) renderAlong() browser.View {
	g.Helper()
	b, err := g.renderer.Open(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	defer b.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.Fatal(err)
	}
	u, err := url.Parse(g.URL)
	if err != nil {
		g.Fatal(err)
	}
	jar.SetCookies(u, []*http.Cookie{{Name: "known", Value: "1"}, {Name: "visit", Value: "old"}})
	doc, err := fetch.New(g.fetch).Send(g.Context(), freshet.Request{URL: g.URL + "/"}, fetch.Sending{
		Header:  http.Header{"X-Key": {"key"}, "Accept-Language": {"de"}, "Accept": {"text/html"}},
		Secret:  http.Header{"Authorization": {"Bearer secret"}},
		Cookies: jar,
	})
	if err != nil {
		g.Fatal(err)
	}
	doc.Along.Scrub = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "secret", "***")) }
	v, err := b.Render(g.Context(), browser.Page{Settings: rendering.Settings{On: true, WaitFor: "#done"}, Document: doc})
	if err != nil {
		g.Fatal(err)
	}
	if v.Along != nil {
		g.Error("what the page was asked for with is passed on")
	}
	return v
}
