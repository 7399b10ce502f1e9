package ui_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"freshet/client"
)

// A click in the picture of the capture chooses the element that was clicked, in the settings
// of a source. What is captured cannot choose by itself.
func TestPickByClick(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/page", `<body style="margin:0"><script>parent.postMessage({freshet:"choose",number:3},"*")</script><div class=price style="height:1500px" onclick="parent.postMessage('canary','*')">104.00 EUR</div><p>Other</p></body>`)
	r.watch(client.NewSource{ID: "page", URL: r.web.URL + "/page"})
	b := r.tab(1200, 900, "light")
	b.visit("/sources/page/settings", "document.querySelector('.preview pre')")
	eval[bool](b, "(addEventListener('message', e => { if (e.data?.freshet == 'ready') window.ready = true; if (e.data == 'canary') window.ran = true }), true)")
	// Somebody else who speaks like the frame is not heard.
	b.click("Choose an element")
	b.await("window.ready")
	eval[bool](b, "(postMessage({freshet: 'choose', number: Number(document.querySelector('.elements [role=option]').id.slice(8))}, '*'), true)")
	if eval[int](b, "document.querySelectorAll('.steps input').length") != 0 {
		t.Error("an element was chosen though nobody clicked")
	}
	// The browser learns of where a frame of another process is some time after it has drawn it.
	for end := time.Now().Add(time.Minute); !eval[bool](b, "!!document.querySelector('.steps input')") && time.Now().Before(end); {
		spot := eval[[]float64](b, "(r => [r.x + r.width / 2, r.y + r.height / 2])((e => (e.scrollIntoView({block: 'center'}), e.getBoundingClientRect()))(document.querySelector('.picker iframe')))")
		if err := chromedp.Do(b.ctx, chromedp.MouseClickXY(spot[0], spot[1])); err != nil {
			t.Fatal(err)
		}
		eval[bool](b, "new Promise(done => setTimeout(() => done(true), 100))", chromedp.EvalAwaitPromise)
	}
	b.await("document.querySelector('.steps input')?.value == 'div.price'")
	b.await("document.querySelector('.preview pre').textContent.trim() == '104.00 EUR'")
	b.await("document.querySelector('.elements [aria-selected=true]')?.textContent.includes('104.00')")
	if eval[bool](b, "!!window.ran") {
		t.Error("captured script ran")
	}
	b.clean("picked by a click")
	b.accessible("picked by a click")
	b.shot("pick")

	b.visit("/start", "document.querySelector('#address')")
	b.fill("Address", r.web.URL+"/page")
	b.click("Preview")
	b.click("Choose an element")
	b.await("document.querySelectorAll('.elements [role=option]').length > 1")
	eval[bool](b, "([...document.querySelectorAll('.elements [role=option]')].findLast(e => e.textContent.includes('Other')).click(), true)")
	b.click("Compare this")
	b.await("[...document.querySelectorAll('[role=radiogroup] label')].some(l => l.textContent.includes('one element') && l.querySelector('input').checked)")
	b.click("As curl")
	b.await("[...document.querySelectorAll('.as.wide pre')].some(e => e.textContent.includes('body > p'))")
	if got := b.lines(); got[0] != "freshet edit page --css 'body > p'" || !strings.Contains(got[1], `"read":[{"css":"body > p"}]`) {
		t.Errorf("as lines it is %q", got)
	}
	b.click("Save")
	b.await("location.pathname == '/sources/page'")
	if s, err := r.api.Sources.Get(t.Context(), "page"); err != nil || fmt.Sprint(s.Read) != "[map[css:body > p]]" {
		t.Errorf("the source is read by %v, %v", s.Read, err)
	}
}

// Even if cleaning let something through, the policy of the frame runs nothing but the one
// script: the same page is served with canaries in it, and they stay silent.
func TestPolicyOfTheFrame(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.web.PutHTML("/page", `<p>One</p><p>Two</p>`)
	r.watch(client.NewSource{ID: "page", URL: r.web.URL + "/page"})
	resp, err := http.Get(r.url + "/api/v1/sources/page/versions/latest/rendered?pick=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	clean, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	const canaries = `<!doctype html><script>parent.postMessage("canary","*")</script><img src=data:, onerror='parent.postMessage("canary","*")'><svg onload='parent.postMessage("canary","*")'></svg>
<script src="/canary.js"></script><iframe srcdoc='<script>top.postMessage("canary","*")</script>'></iframe><iframe src="javascript:top.postMessage('canary','*')"></iframe><body onload='parent.postMessage("canary","*")'>`
	asked := make(chan string, 100)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/":
			fmt.Fprint(w, `<!doctype html><h1>Host</h1><script>said = []; addEventListener("message", e => said.push(typeof e.data == "string" ? e.data : e.data.freshet + e.origin)); canary = () => said.push("canary")</script><iframe sandbox="allow-scripts" src="/frame"></iframe>`)
		case "/frame":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy", resp.Header.Get("Content-Security-Policy"))
			fmt.Fprint(w, canaries+string(clean)+`<script>parent.postMessage("late","*")</script><script>parent.canary()</script>`)
		default:
			asked <- q.URL.Path
		}
	}))
	t.Cleanup(host.Close)
	b := r.tab(800, 600, "light")
	if err := chromedp.Do(b.ctx, chromedp.Navigate(host.URL+"/")); err != nil {
		t.Fatal(err)
	}
	b.await("window.said?.includes('readynull')") // our own script runs, in an origin without a name
	b.await("document.readyState == 'complete'")
	if said := eval[[]string](b, "said"); len(said) != 1 {
		t.Errorf("the frame said %v", said)
	}
	host.Close() // the last request has ended: none is sent on a closed channel
	close(asked)
	for path := range asked {
		if path != "/favicon.ico" {
			t.Errorf("the frame asked for %s", path)
		}
	}
}
