package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/mask"
	"freshet/internal/units"
)

// A visit is all that one page asks for while it is shown. The document is there
// already; everything else is sent on, one request at a time as far as counting goes.
type visit struct {
	cfg      Config
	cache    *pageCache
	document freshet.Response
	pictures bool // images and fonts are wanted, for the screenshot
	leave    func(context.Context, freshet.Hop) error

	ctx  context.Context
	stop context.CancelCauseFunc // ends the rendering with a reason

	mu       sync.Mutex
	served   bool // the document has been
	sent     int
	bytes    int64
	open     int       // requests under way
	busy     time.Time // when the last one began or ended
	refused  int
	away     map[string]time.Duration
	statuses map[string]answered // of what may be a document, by URL
	led      answered            // of the last document that the page led to
	failed   map[string]error    // errors of requests without a response, by URL
	sentTo   map[string]bool     // URLs that redirects of others lead to
}

// An answered is what is kept of an answer that may have become the page.
type answered struct {
	url    string
	status int
}

// begin counts a request as under way, and end as over.
func (v *visit) begin() { v.mark(1) }
func (v *visit) end()   { v.mark(-1) }

func (v *visit) mark(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open += n
	v.busy = time.Now()
}

// quietFor returns for how long nothing has been under way; zero if something is.
func (v *visit) quietFor() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open > 0 {
		return 0
	}
	return time.Since(v.busy)
}

// ServeHTTP answers a request of the page for an absolute URL.
func (v *visit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := r.URL.String()
	document := v.isDocument(r, url)
	if !document && (ofBrowser(r) || unwanted(r)) {
		v.refuse(w, url, "not sent", fail(failure.BlockedURL, "", "such requests are not sent"))
		return
	}
	v.begin()
	defer v.end()
	switch {
	case document:
		v.serveDocument(w)
	case !v.pictures && isPicture(r):
		serveBlank(w)
	case v.cache.serve(w, r, url):
	default:
		v.send(w, r, url)
	}
}

// isDocument reports whether a request is the browser's own for the page, which has
// been fetched. The page can ask for itself again, and that is a request as any other.
func (v *visit) isDocument(r *http.Request, url string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.served || r.Method != http.MethodGet || url != v.document.URL {
		return false
	}
	v.served = true
	return true
}

func (v *visit) serveDocument(w http.ResponseWriter) {
	for _, name := range []string{"Content-Type", "Content-Language", "Last-Modified", "Link"} {
		if values := v.document.Header.Values(name); len(values) > 0 {
			w.Header()[name] = values
		}
	}
	if cookies := v.document.Cookies; len(cookies) > 0 {
		w.Header()["Set-Cookie"] = cookies
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	w.Write(v.document.Body)
}

// ofBrowser reports whether a request is one that the browser makes by itself and not
// for the page. Browsers say for which site they ask, unless neither side of the
// request is secure; what they want for themselves comes from their makers.
func ofBrowser(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "same-site", "cross-site":
		return r.URL.Path == "/favicon.ico"
	}
	if r.URL.Scheme == "https" || r.URL.Path == "/favicon.ico" {
		return true
	}
	host := r.URL.Hostname()
	return host == "browser.invalid" || r.Header.Get("Referer") == "" && (strings.HasSuffix(host, ".google.com") || strings.HasSuffix(host, ".gvt1.com"))
}

// unwanted reports whether a request is one that a page needs only when it is visited again or
// shown for long: what it fetches ahead, workers that
// outlive it, and connections that stay open.
func unwanted(r *http.Request) bool {
	h := r.Header
	return h.Get("Upgrade") != "" || h.Get("Service-Worker") != "" ||
		strings.HasPrefix(h.Get("Sec-Purpose"), "prefetch") || h.Get("Purpose") == "prefetch"
}

// isPicture reports whether a request is for something that only eyes need.
func isPicture(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "image", "font", "audio", "video", "track":
		return true
	case "":
	default:
		return false
	}
	if strings.HasPrefix(r.Header.Get("Accept"), "image/") {
		return true
	}
	path := strings.ToLower(r.URL.Path)
	for _, ending := range []string{".woff2", ".woff", ".ttf", ".otf", ".mp4", ".webm", ".mp3"} {
		if strings.HasSuffix(path, ending) {
			return true
		}
	}
	return false
}

// blank is a picture of one pixel, which nobody sees.
const blank = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

func serveBlank(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "image/gif")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	io.WriteString(w, blank)
}

// mostKept is the largest number of URLs whose result is kept.
const mostKept = 100

// refuse rejects a request without sending it. If it is a navigation, the page has failed.
func (v *visit) refuse(w http.ResponseWriter, url, why string, err error) {
	v.noAnswer(url, err)
	http.Error(w, why, http.StatusForbidden)
}

// noAnswer records why a request got no response.
func (v *visit) noAnswer(url string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refused++; len(v.failed) < mostKept {
		v.failed[url] = err
	}
}

// send sends a request on, if it has leave, and passes back the answer.
func (v *visit) send(w http.ResponseWriter, r *http.Request, url string) {
	if v.cfg.Check != nil {
		if err := v.cfg.Check(url); err != nil {
			v.cfg.Log.Debug("a request of a page was refused", "page", mask.URL(v.document.URL), "url", mask.URL(url), "err", err)
			v.refuse(w, url, "not allowed", err)
			return
		}
	}
	if err := v.mayLeave(url); err != nil {
		v.stop(err)
		v.refuse(w, url, "no leave", err)
		return
	}
	out := r.Clone(r.Context()) // ends with the connection to the browser
	out.RequestURI = ""
	dropHopByHop(out.Header)
	v.sendAlong(out)
	if r.ContentLength == 0 {
		out.Body = nil
	}
	answer, err := v.cfg.Do(out)
	if err != nil {
		v.cfg.Log.Debug("a request of a page failed", "page", mask.URL(v.document.URL), "url", mask.URL(url), "err", err)
		v.noAnswer(url, err)
		http.Error(w, "no answer", http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	v.note(r, url, answer)
	v.noteRedirect(r, answer)
	v.pass(w, r, url, answer)
}

// mayLeave counts a request and waits for leave to send it.
func (v *visit) mayLeave(url string) error {
	v.mu.Lock()
	v.sent++
	over := v.sent > v.cfg.Requests
	if over {
		v.sent--
	}
	v.mu.Unlock()
	if over {
		return fail(failure.RenderRequests, "raise render.requests if the page is worth it",
			"the page makes more than %d requests", v.cfg.Requests)
	}
	if v.leave == nil {
		return nil
	}
	err := v.leave(v.ctx, freshet.Hop{URL: url, Part: true})
	if err != nil {
		v.mu.Lock()
		v.sent--
		v.mu.Unlock()
	}
	return err
}

// note keeps what an answer says to more than the page.
func (v *visit) note(r *http.Request, url string, a *http.Response) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Header.Get("Sec-Fetch-Dest") == "document" {
		v.led = answered{url, a.StatusCode}
	}
	if strings.Contains(a.Header.Get("Content-Type"), "html") && len(v.statuses) < mostKept {
		v.statuses[url] = answered{url, a.StatusCode}
	}
	if a.StatusCode == http.StatusTooManyRequests || a.StatusCode == http.StatusServiceUnavailable {
		if wait := retryAfter(a.Header.Get("Retry-After")); wait > 0 {
			host := freshet.HostOf(url)
			v.away[host] = max(v.away[host], wait)
		}
	}
}

// longestAway is how long a host can ask to be left alone.
const longestAway = 24 * time.Hour

// retryAfter reads a Retry-After.
func retryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	if d, err := time.ParseDuration(value + "s"); err == nil && d > 0 {
		return min(d, longestAway)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), longestAway)
	}
	return 0
}

// pass gives an answer to the page, and to the cache if it may be kept.
func (v *visit) pass(w http.ResponseWriter, r *http.Request, url string, a *http.Response) {
	header := a.Header.Clone()
	dropHopByHop(header)
	maps.Copy(w.Header(), header)
	var body io.Reader = countedBody{a.Body, v}
	keep := v.cache.keeper(r, a)
	if keep != nil {
		body = io.TeeReader(body, keep)
	}
	w.WriteHeader(a.StatusCode)
	n, err := io.Copy(flushing{w}, body)
	if err == nil && (a.ContentLength < 0 || n == a.ContentLength) {
		keep.store(url, a.StatusCode, header)
		return
	}
	if err != nil && v.ctx.Err() == nil {
		panic(http.ErrAbortHandler) // or half an answer would pass for a whole one
	}
}

// A countedBody counts what answers bring, and ends the rendering when that is too
// much.
type countedBody struct {
	io.Reader
	visit *visit
}

// Read reads from the body.
func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	v := b.visit
	v.mu.Lock()
	v.bytes += int64(n)
	v.busy = time.Now()
	over := v.bytes > v.cfg.Bytes
	v.mu.Unlock()
	if over {
		v.stop(fail(failure.RenderRequests, "raise render.bytes if the page is worth it",
			"what the page loads is larger than %s", units.FormatSize(v.cfg.Bytes)))
		return n, errors.New("too much")
	}
	return n, err
}

// A flushing writer passes on what it gets at once: some answers never end.
type flushing struct{ http.ResponseWriter }

// Write writes and flushes.
func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

// dropHopByHop drops the headers that are between the browser and the proxy, or the
// proxy and a server.
func dropHopByHop(h http.Header) {
	for _, listed := range h.Values("Connection") {
		for name := range strings.SplitSeq(listed, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Alt-Svc",
	} {
		h.Del(name)
	}
}

// summary says in words what the page made of its visit, for the log.
func (v *visit) summary() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return fmt.Sprintf("%d requests, %d refused, %s", v.sent, v.refused, units.FormatSize(v.bytes))
}
