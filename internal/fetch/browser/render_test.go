package browser_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
)

// scripted is a page that is empty until its script has run.
func (g *rig) scripted() {
	g.Mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Set-Cookie", "session=of the page; Path=/; HttpOnly")
		fmt.Fprint(w, `<!doctype html><title>Prices</title><div id=app>loading</div><script src=/app.js></script>`)
	})
	g.Mux.HandleFunc("/app.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprint(w, `fetch("/data").then(r => r.text()).then(d => setTimeout(() => { document.querySelector("#app").textContent = "Price: " + d; document.body.className = "built" }, 50))`)
	})
	g.Mux.HandleFunc("/data", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprintf(w, "42 for %s with %s", r.UserAgent(), r.Header.Get("Cookie"))
	})
}

func TestPageThatBuildsItself(t *testing.T) {
	g := newRig(t)
	g.scripted()
	var asked []string
	var mu sync.Mutex
	page := browser.Page{
		Settings: rendering.Settings{On: true, Screenshot: true, Viewport: rendering.Viewport{Width: 400, Height: 300}, WaitFor: ".built"}, Source: "a",
		Leave: func(_ context.Context, h freshet.Hop) error {
			mu.Lock()
			defer mu.Unlock()
			if !h.Part {
				t.Errorf("%s is not asked for as a part", h.URL)
			}
			asked = append(asked, strings.TrimPrefix(h.URL, g.URL))
			return nil
		},
	}
	v, err := g.renderPage("/", page)
	if err != nil {
		t.Fatal(err)
	}
	g.wantBody(v, "Price: 42 for Mozilla/5.0", "freshet-test", "session=of the page", "<title>Prices</title>", "<!DOCTYPE html>")
	if want := []string{"/", "/app.js", "/data"}; !slices.Equal(g.Paths(), want) || v.Requests != len(want) {
		t.Errorf("the server saw %q and the view counts %d, not %q", g.Paths(), v.Requests, want)
	}
	if want := []string{"/app.js", "/data"}; !slices.Equal(asked, want) {
		t.Errorf("leave was asked for %q, not %q", asked, want)
	}
	if v.MediaType != "text/html; charset=utf-8" || v.Status != 200 || v.URL != g.URL+"/" {
		t.Errorf("the response is %s, %d, of %s", v.MediaType, v.Status, v.URL)
	}
	picture, err := png.DecodeConfig(bytes.NewReader(v.Picture))
	if err != nil || picture.Width != 400 || picture.Height != 300 {
		t.Errorf("the picture is %dx%d: %v", picture.Width, picture.Height, err)
	}
	// The script may be kept, and what it fetches may not, whatever the server says.
	again, err := g.renderPage("/", page)
	if err != nil {
		t.Fatal(err)
	}
	g.wantBody(again, "Price: 42")
	if want := []string{"/", "/data"}; !slices.Equal(g.Paths()[3:], want) || again.Requests != len(want) {
		t.Errorf("the next time the server saw %q and the view counts %d, not %q", g.Paths()[3:], again.Requests, want)
	}
	t.Logf("%v and %v, %d MiB", v.Took.Round(10*time.Millisecond), again.Took.Round(10*time.Millisecond), v.Memory>>20)
}

func TestSecurePage(t *testing.T) {
	g := newRig(t)
	g.scripted()
	secure := httptest.NewTLSServer(g.Mux)
	t.Cleanup(secure.Close)
	stranger := httptest.NewTLSServer(http.NotFoundHandler()) // nobody vouches for it below
	t.Cleanup(stranger.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	g.fetch.RootCAs = roots
	g.reach()
	g.URL = secure.URL
	v := g.mustRender("/", rendering.Settings{On: true})
	g.wantBody(v, "Price: 42")
	g.fetch.RootCAs = x509.NewCertPool()
	g.reach()
	doc := freshet.Response{URL: secure.URL + "/", Status: 200, Body: []byte(`<body><script>fetch("/data").then(() => document.title = "trusted").catch(() => 0).finally(() => document.body.id = "done")</script>`)}
	b, err := g.renderer.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	v, err = b.Render(t.Context(), browser.Page{Settings: rendering.Settings{On: true, WaitFor: "#done"}, Document: doc})
	if err != nil {
		t.Fatal(err)
	}
	if v.WireBytes != 0 {
		t.Errorf("%d bytes came from a server without a certificate to trust", v.WireBytes)
	}
}

func TestConsentAndSteps(t *testing.T) {
	const wall = `<!doctype html><style>.cookie-wall{position:fixed;inset:0}</style><main id=text>nothing yet</main>
<button onclick="document.title='wrong ' + 'one'">Accept</button>
<div class=cookie-wall><p>We value your privacy</p><button id=n>%s</button><button id=y>%s</button></div>
<script>
for (const [id, said] of [["y", "accepted"], ["n", "rejected"]]) document.getElementById(id).onclick = e => {
  e.currentTarget.parentElement.remove()
  fetch("/answer?" + said).then(r => r.text()).then(s => document.getElementById("text").textContent = s)
}
</script>`
	g := newRig(t, func(c *browser.Config) { c.Browsers = 2 })
	g.PutHTML("/en", fmt.Sprintf(wall, "Reject all", "Accept all cookies"))
	g.PutHTML("/de", fmt.Sprintf(wall, "Nur notwendige", "Alle akzeptieren!"))
	g.PutHTML("/unnamed", strings.ReplaceAll(fmt.Sprintf(wall, "Reject all", "OK"), "cookie-wall", "x7"))
	g.PutHTML("/header", strings.ReplaceAll(strings.ReplaceAll(fmt.Sprintf(wall, "Reject all", "OK"), "cookie-wall", "x7"), "We value your privacy", "Delete the file?"))
	g.PutHTML("/shadow", `<div id=root></div><main id=text>nothing yet</main><script>
const s = document.getElementById("root").attachShadow({mode: "open"})
s.innerHTML = "<p>inside the shadow</p><button data-testid=uc-accept-all-button>ja</button>"
setTimeout(() => s.querySelector("button").onclick = () => document.getElementById("text").textContent = "shadow accepted", 0)
</script>`)
	g.PutHTML("/hidden", `<!doctype html><style>.off{display:none}</style><p>shown</p><p class=off>not displayed</p><table><tr class=off><td id=cell>a cell</table>
<iframe src=/frame></iframe><iframe class=off src=/frame></iframe>`)
	g.PutHTML("/frame", "<p>in the frame<p style='display:none'>hidden in the frame")
	g.PutHTML("/frameset", "<html><frameset cols=50%,50%><frame src=/frame><frame src=/frame></frameset>")
	g.Mux.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "the server heard ", r.URL.RawQuery) })
	g.PutHTML("/steps", `<!doctype html><input id=q><button id=go>go</button><ul id=list></ul><div style="height:3000px"></div><p id=end></p><script>
document.getElementById("go").onclick = () => setTimeout(() => {
  document.getElementById("list").innerHTML = "<li class=hit>" + document.getElementById("q").value + "</li>" }, 300)
new IntersectionObserver(es => { if (es.some(e => e.isIntersecting)) document.getElementById("end").textContent = "the end was seen" }).observe(document.getElementById("end"))
alert("nobody answers"); window.open("/popup"); confirm("sure?")
</script>`)
	steps := func(lines ...string) (all []rendering.Step) {
		for _, line := range lines {
			s, err := rendering.ParseStep(line)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		return all
	}
	var all sync.WaitGroup
	for _, tt := range []struct {
		path string
		how  rendering.Settings
		want []string
	}{
		{"/en", rendering.Settings{Consent: rendering.ConsentAccept}, []string{"the server heard accepted"}},
		{"/de", rendering.Settings{Consent: rendering.ConsentReject}, []string{"the server heard rejected"}},
		{"/unnamed", rendering.Settings{Consent: rendering.ConsentAccept}, []string{"the server heard accepted"}},
		{"/header", rendering.Settings{Consent: rendering.ConsentAccept, Wait: 2 * time.Second}, []string{"nothing yet"}},
		{"/shadow", rendering.Settings{Consent: rendering.ConsentAccept}, []string{"shadow accepted", "inside the shadow"}},
		{"/hidden", rendering.Settings{}, []string{"<p>shown</p>", `<template><p class="off">not displayed</p></template>`, `<template><tr class="off"><td id="cell">a cell</td></tr></template>`, "</iframe><div><p>in the frame</p><template>"}},
		{"/frameset", rendering.Settings{}, []string{`<frame src="/frame"><div><p>in the frame</p><template>`}},
		{"/steps", rendering.Settings{Steps: steps("fill #q = two = 2", "click #go", "wait .hit", "scroll", "wait 10ms"), Wait: time.Minute},
			[]string{`<li class="hit">two = 2</li>`, "the end was seen"}},
	} {
		all.Go(func() {
			v, err := g.render(tt.path, tt.how)
			if err != nil {
				t.Errorf("%s: %v", tt.path, err)
				return
			}
			g.wantBody(v, tt.want...)
			if strings.Contains(string(v.Body), "wrong one") {
				t.Errorf("%s: a button was pressed that is in no banner", tt.path)
			}
		})
	}
	all.Wait()
	if slices.Contains(g.Paths(), "/popup") {
		t.Error("the page opened a window")
	}
	_, err := g.render("/en", rendering.Settings{Steps: steps("click #nowhere"), Wait: 200 * time.Millisecond})
	wantClass(t, err, failure.RenderStep)
	if err == nil || !strings.Contains(err.Error(), "step 1 (click #nowhere)") {
		t.Errorf("the error does not say which step: %v", err)
	}
}

func TestNoBrowser(t *testing.T) {
	g := newRig(t, func(c *browser.Config) { c.Browser = "/nonexistent/chromium" })
	_, _, err := g.renderer.Check()
	wantClass(t, err, failure.RenderMissing)
	if _, err := g.renderer.Open(t.Context()); err == nil || !strings.Contains(freshet.HintOf(err)+hintOf(err), "apt-get install chromium") {
		t.Errorf("the error does not say what to install: %v", err)
	}
}

func hintOf(err error) string {
	if e, ok := err.(*freshet.FetchError); ok {
		return e.Hint
	}
	return ""
}
