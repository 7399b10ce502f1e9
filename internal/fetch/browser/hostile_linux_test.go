package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"freshet/internal/fetch/browser"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
)

// TestPrivateAddresses has a page try every way to reach an address that is not open,
// with the network that the kernel gives the browser and with the proxy alone.
func TestPrivateAddresses(t *testing.T) {
	for _, confined := range []bool{true, false} {
		t.Run(fmt.Sprintf("confined=%v", confined), func(t *testing.T) {
			var reached atomic.Int32
			l, err := net.Listen("tcp", "127.0.0.2:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					reached.Add(1)
					conn.Close()
				}
			}()
			g := newRig(t, func(c *browser.Config) {
				if !confined {
					c.Launch = nil
				}
			})
			port := netip.MustParseAddrPort(l.Addr().String()).Port()
			g.fetch.Resolver = func(_ context.Context, host string) ([]netip.Addr, error) {
				return []netip.Addr{inside}, nil // a name that says nothing of where it leads
			}
			g.reach()
			direct, named := "http://"+l.Addr().String(), fmt.Sprintf("http://inside.example:%d", port)
			g.Mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, direct+"/redirect", http.StatusFound)
			})
			g.PutHTML("/", strings.NewReplacer("DIRECT", direct, "NAMED", named, "HOST", l.Addr().String(), "PORT", fmt.Sprint(port)).Replace(attack))
			v := g.mustRender("/", rendering.Settings{On: true, Screenshot: true, WaitFor: "#done", Wait: 2 * time.Minute})
			g.wantBody(v, "the page itself")
			if g.renderer.Confined() != confined {
				t.Errorf("the browser has a network of its own: %v", g.renderer.Confined())
			}
			if n := reached.Load(); n > 0 {
				t.Errorf("%d connections reached the address", n)
			}
			if strings.Contains(string(v.Body), "root:") || strings.Contains(string(v.Body), "answered") {
				t.Errorf("the page read what it must not:\n%s", v.Body)
			}
			if !slices.Contains(g.Paths(), "/redirect") || !slices.Contains(g.Paths(), "/last") {
				t.Errorf("the page did not try: %q", g.Paths())
			}
			if slices.Contains(g.Paths(), "/ahead") {
				t.Error("the page fetched ahead")
			}
		})
	}
}

// attack is a page that wants to get inside.
const attack = `<!doctype html><link rel=stylesheet href="DIRECT/style"><link rel=prefetch href="DIRECT/prefetch"><link rel=prefetch href="/ahead">
<link rel=prerender href="DIRECT/prerender"><link rel=preconnect href="DIRECT"><link rel=dns-prefetch href="NAMED"><link rel=icon href="DIRECT/icon">
<script type=speculationrules>{"prerender": [{"source": "list", "urls": ["/ahead"]}], "prefetch": [{"source": "list", "urls": ["/ahead"]}]}</script>
<body style="background:url(DIRECT/background)"><p>the page itself</p><img src="DIRECT/image"><img src="/redirect"><img src="NAMED/image">
<iframe src="DIRECT/frame"></iframe><iframe src="/redirect"></iframe><iframe src="file:///etc/passwd"></iframe><object data="DIRECT/object"></object>
<video src="DIRECT/video" autoplay></video><script src="DIRECT/script"></script>
<form id=f method=post action="DIRECT/form" target=frame><input name=a value=b></form><iframe name=frame></iframe>
<script>
const note = text => document.body.append(text)
async function attack() {
  const tries = []
  for (const url of ["DIRECT/fetch", "NAMED/fetch", "/redirect", "file:///etc/passwd", "http://localhost:PORT/", "http://[::1]:PORT/", "http://0.0.0.0:PORT/", "https://HOST/"]) {
    tries.push(fetch(url, {mode: "no-cors"}).then(r => r.text()).then(s => s && note("ans" + "wered " + s)).catch(() => 0))
    tries.push(new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = done; try { x.open("GET", url); x.send() } catch { done() } }))
  }
  navigator.sendBeacon("DIRECT/beacon", "x")
  document.getElementById("f").submit()
  tries.push(new Promise(done => { const s = new WebSocket("ws://HOST/socket"); s.onclose = done }))
  tries.push(new Promise(done => { const s = new WebSocket("ws://inside.example:PORT/socket"); s.onclose = done }))
  tries.push(new Promise(done => { const e = new EventSource("DIRECT/events"); e.onerror = () => { e.close(); done() } }))
  try { new Worker(URL.createObjectURL(new Blob(['fetch("DIRECT/worker").catch(() => 0)'])) ) } catch {}
  try { await navigator.serviceWorker?.register("/sw.js") } catch {}
  try {
    const p = new RTCPeerConnection({iceServers: [{urls: "stun:HOST"}, {urls: "turn:HOST?transport=tcp", username: "a", credential: "b"}]})
    p.createDataChannel("x"); await p.setLocalDescription()
  } catch {}
  await Promise.all(tries)
  window.open("DIRECT/open"); location.href = "file:///etc/passwd"
  await fetch("/last").catch(() => 0)
  setTimeout(() => { const d = document.createElement("i"); d.id = "done"; document.body.append(d) }, 300)
}
attack()
</script>`

func TestPagesThatTakeTooMuch(t *testing.T) {
	tests := []struct {
		name, html string
		alter      func(*browser.Config)
		how        rendering.Settings
		class      failure.Class
	}{
		{"never stops", `<p>here</p><script>setTimeout(() => { for (;;); }, 50)</script>`,
			func(c *browser.Config) { c.Total = 10 * time.Second }, rendering.Settings{}, failure.RenderTimeout},
		{"eats memory", `<p>here</p><script>const all = []; setInterval(() => { for (let i = 0; i < 4; i++) all.push(new Uint8Array(8 << 20).fill(7)) }, 5)</script>`,
			func(c *browser.Config) { c.Memory = 400 << 20 }, rendering.Settings{WaitFor: "#never", Wait: time.Minute}, failure.RenderMemory},
		{"asks for ever", `<p>here</p><script>let n = 0; setInterval(() => fetch("/more?" + n++), 5)</script>`,
			func(c *browser.Config) { c.Requests = 20 }, rendering.Settings{WaitFor: "#never", Wait: time.Minute}, failure.RenderRequests},
		{"loads for ever", `<p>here</p><script>fetch("/flood").then(r => r.text())</script>`,
			func(c *browser.Config) { c.Bytes = 1 << 20 }, rendering.Settings{WaitFor: "#never", Wait: time.Minute}, failure.RenderRequests},
		{"grows for ever", `<p>here</p><script>document.write("<p>" + "x".repeat(1 << 20))</script>`,
			func(c *browser.Config) { c.DOMBytes = 1 << 20 }, rendering.Settings{}, failure.LargeDecoded},
		{"is never quiet", `<p>here</p><script>let n = 0; setInterval(() => fetch("/more?" + n++), 200)</script>`,
			nil, rendering.Settings{Wait: time.Second}, ""},
		{"goes elsewhere", `<p>here</p><script>location = "/nowhere"</script>`, nil, rendering.Settings{}, failure.HTTP},
		{"leads to no page", `<p>here</p><script>location = "about:blank"</script>`, nil, rendering.Settings{}, failure.BlockedScheme},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, func(c *browser.Config) {
				if tt.alter != nil {
					tt.alter(c)
				}
			})
			g.PutHTML("/", tt.html)
			g.Mux.HandleFunc("/more", func(http.ResponseWriter, *http.Request) {})
			g.Mux.HandleFunc("/flood", func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			})
			g.Mux.HandleFunc("/nowhere", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusNotFound)
			})
			v, err := g.render("/", tt.how)
			if tt.class == "" {
				if err != nil {
					t.Fatal(err)
				}
				g.wantBody(v, "here")
				return
			}
			wantClass(t, err, tt.class)
			if v.Body != nil {
				t.Error("there is a page all the same")
			}
			if v.Requests == 0 {
				t.Error("it is not said what the page took")
			}
		})
	}
}

// TestCrash kills the browser while it shows a page.
func TestCrash(t *testing.T) {
	var dir string
	g := newRig(t, func(c *browser.Config) { dir = c.Dir })
	there := make(chan struct{}, 10)
	g.PutHTML("/", `<p>here</p><script>fetch("/there")</script>`)
	g.Mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) {
		there <- struct{}{}
		<-r.Context().Done()
	})
	g.PutHTML("/well", `<p>all is well</p>`)
	failed := make(chan error, 1)
	// On a starved machine a browser may fail before it shows the page: it gets another try.
	for tries := 1; ; tries++ {
		go func() {
			_, err := g.render("/", rendering.Settings{On: true, Wait: 3 * time.Minute})
			failed <- err
		}()
		select {
		case <-there:
		case err := <-failed:
			if tries == 3 {
				t.Fatalf("the page was not shown: %v", err)
			}
			continue
		}
		break
	}
	unix.Kill(browserIn(t, dir), unix.SIGKILL) // its helpers end with it
	wantClass(t, <-failed, failure.RenderCrashed)
	g.wantBody(g.mustRender("/well", rendering.Settings{On: true}), "all is well")
	if left := processesIn(t, dir); len(left) > 0 {
		t.Errorf("processes are left behind: %v", left)
	}
}

// browserIn returns the process that the others in a directory serve. Process ids start again
// from low numbers, so that it need not be the lowest.
func browserIn(t *testing.T, dir string) int {
	t.Helper()
	for _, pid := range processesIn(t, dir) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && !bytes.Contains(text, []byte("--type=")) {
			return pid
		}
	}
	t.Fatal("no browser shows the page")
	return 0
}

// processesIn returns the processes whose command line names a directory.
func processesIn(t *testing.T, dir string) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("--user-data-dir="+dir+"/")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// exitOf returns a function that waits for the end of a process.
func exitOf(t *testing.T, pid int) func() {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		defer unix.Close(fd)
		const patience = 300_000 // milliseconds
		n, err := 0, error(unix.EINTR)
		for err == unix.EINTR {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience)
		}
		if n != 1 {
			t.Errorf("the browser goes on without the process that started it: %v", err)
		}
	}
}

// TestDiesWithItsProcess kills a process that renders: its browser must not go on, and
// the next process clears away what it left. A browser whose pipes somebody else keeps
// open cannot notice that nobody talks to it any more, and has to go all the same.
func TestDiesWithItsProcess(t *testing.T) {
	for _, how := range []string{"confined", "bare"} {
		for _, unaware := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, unaware %t", how, unaware), func(t *testing.T) { diesWithItsProcess(t, how, unaware) })
		}
	}
}

func diesWithItsProcess(t *testing.T, how string, unaware bool) {
	var dir string
	g := newRig(t, func(c *browser.Config) { dir = c.Dir })
	there := make(chan struct{}, 10)
	g.PutHTML("/", `<p>here</p><script>fetch("/there")</script>`)
	g.PutHTML("/well", `<p>all is well</p>`)
	g.Mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) {
		there <- struct{}{}
		<-r.Context().Done()
	})
	cmd := exec.Command(os.Args[0], "render-here", g.URL+"/", dir, how)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-there:
	case err := <-ended:
		t.Fatalf("the page was not shown: %v", err)
	}
	browser := browserIn(t, dir)
	gone := exitOf(t, browser)
	for fd := 1; unaware && fd <= 4; fd++ { // what it prints, is told and answers
		end, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", browser, fd), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
	}
	cmd.Process.Kill()
	<-ended
	gone()
	if t.Failed() {
		unix.Kill(browser, unix.SIGKILL)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("there are %d profiles, not the one that was in use", len(left))
	}
	g.wantBody(g.mustRender("/well", rendering.Settings{On: true}), "all is well")
	if left := processesIn(t, dir); len(left) > 0 {
		t.Errorf("processes are left behind: %v", left)
	}
}

// A page that goes to an address that may not be reached, or to one that does not answer, has
// failed: what the browser then shows is no version of it.
func TestPagesThatLeadInside(t *testing.T) {
	g := newRig(t)
	g.fetch.Resolver = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{inside}, nil }
	g.reach()
	g.Mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.2/metadata", http.StatusFound)
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, c := range []struct {
		to    string
		class failure.Class
	}{
		{"http://127.0.0.2/metadata", failure.BlockedEgress},
		{"http://169.254.169.254/latest/meta-data/", failure.BlockedEgress},
		{"http://inside.example/", failure.BlockedEgress},
		{"/redirect", failure.BlockedEgress},
		{"http://" + closed.Addr().String() + "/", failure.Connect},
	} {
		g.PutHTML("/", `<p>the page itself</p><script>location = "`+c.to+`"</script>`)
		v, err := g.render("/", rendering.Settings{On: true})
		if wantClass(t, err, c.class); len(v.Body) > 0 {
			t.Errorf("a page that goes to %s is %q", c.to, v.Body)
		}
	}
}
