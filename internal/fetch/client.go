package fetch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/urlenc"
)

// A Client fetches the present state of sources. It is a [freshet.Fetcher],
// and may be used by many goroutines at once.
type Client struct {
	egress *Egress
	bodies bodyReader
	agent  []string // header values that all requests share
}

// accept says what can be read best; a server may send anything all the same.
const accept = "text/html,application/xhtml+xml,application/json;q=0.9,application/xml;q=0.9,*/*;q=0.8"

// These header values are shared by all requests, which do not change them.
var (
	acceptValue   = []string{accept}
	encodingValue = []string{acceptEncoding}
)

// New returns a Client.
func New(c Config) *Client {
	e := NewEgress(c)
	return &Client{egress: e, bodies: bodyReader{limits: &e.config}, agent: []string{e.config.Agent}}
}

// CloseIdle closes the connections that are not in use.
func (c *Client) CloseIdle() { c.egress.CloseIdle() }

// Fetch brings the present state of a source, as [freshet.Fetcher] says.
func (c *Client) Fetch(ctx context.Context, req freshet.Request) (freshet.Response, error) {
	return c.Send(ctx, req, Sending{})
}

// Send is Fetch with requests that are made otherwise than by a plain GET.
func (c *Client) Send(ctx context.Context, req freshet.Request, how Sending) (freshet.Response, error) {
	limits := &c.egress.config
	if how.Within > 0 && how.Within < limits.Total {
		short := *limits
		short.Total, limits = how.Within, &short
	}
	ctx, w := watchOver(ctx, limits)
	defer w.end()
	w.room, w.permit, w.enough = req.Room, req.Leave, req.Enough
	w.watchSlow(req.Slow)
	res, e := c.follow(ctx, w, req, how)
	res.Requests = int(min(w.sent.Load(), w.granted.Load())) // one that was denied may count as sent, and was not
	if e == nil {
		return res, nil
	}
	if res.URL != req.URL {
		e = hinted(fail(e.Class, "redirected to %s: %w", res.URL, e.Err), "%s", e.Hint)
	}
	return res, e
}

// follow goes where redirects lead and returns what came from there.
func (c *Client) follow(ctx context.Context, w *watch, req freshet.Request, how Sending) (res freshet.Response, e *freshet.FetchError) {
	guard := c.egress.guard
	res.URL = req.URL
	asked := req.Validators
	at, e := guard.parse(req.URL)
	way := how.from(at)
	if !way.conditional() {
		asked = freshet.Validators{}
	}
	var wait time.Duration
	forGood := true           // all redirects so far are permanent
	been := map[string]bool{} // pages that were asked for
	for hops := 0; e == nil; hops++ {
		w.hop, been[at.String()] = freshet.Hop{URL: res.URL, Wait: wait}, true
		if e = w.leave(); e != nil {
			break
		}
		var hr *http.Response
		if hr, e = c.send(ctx, w, &way, at, asked); e != nil {
			break
		}
		if way.proves(hr) {
			c.discard(hr, w)
			hops, wait = hops-1, 0
			continue
		}
		most, status, header := c.egress.config.Redirects, hr.StatusCode, hr.Header
		if isRedirect(status) {
			res.Status, wait = status, retryAfter(header, w.date)
			c.discard(hr, w)
			if hops >= most {
				return res, fail(failure.RedirectLimit, "more than %d redirects", max(most, 0))
			}
		} else {
			url, moved, before := res.URL, res.Moved, res.WireBytes
			res, e = c.take(ctx, w, hr, &way, asked)
			res.URL, res.Moved, res.WireBytes = url, moved, res.WireBytes+before
			if hops > 0 {
				res.LastModified = ""
			}
			to := refreshOf(res)
			if e != nil || to == "" || hops >= most || !way.conditional() {
				break
			}
			status, header, wait = http.StatusFound, http.Header{"Location": {to}}, 0
		}
		next, e2 := guard.next(at, header)
		if refreshed := status != hr.StatusCode; refreshed && (e2 != nil || been[next.String()]) { // it is the page that there is
			break
		}
		if at, e = next, e2; e != nil {
			break
		}
		res.URL = at.String()
		if e = way.follow(status, at); e != nil {
			break
		}
		if forGood = forGood && isPermanent(status); forGood {
			res.Moved = res.URL
		}
		// A redirect may lead elsewhere than last time, to an older page: not
		// modified since a date would be true of it, and miss the change.
		asked.LastModified = ""
	}
	return res, e
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

func isPermanent(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect
}

// header returns the request header, with the validators that can be sent.
func (c *Client) header(v freshet.Validators) http.Header {
	h := http.Header{"User-Agent": c.agent, "Accept": acceptValue, "Accept-Encoding": encodingValue}
	if validETag(v.ETag) {
		h["If-None-Match"] = []string{v.ETag}
	}
	if validDate(v.LastModified) {
		h["If-Modified-Since"] = []string{v.LastModified}
	}
	return h
}

// conditional reports whether the header asks for changes only.
func conditional(h http.Header) bool {
	return h["If-None-Match"] != nil || h["If-Modified-Since"] != nil
}

// send makes one request.
func (c *Client) send(ctx context.Context, w *watch, way *course, to target, asked freshet.Validators) (*http.Response, *freshet.FetchError) {
	by, e := c.egress.way(way.Proxy, way.Cert)
	if e != nil {
		return nil, e
	}
	hr, e := c.egress.roundTrip(ctx, w, by, way.request(ctx, c.header(asked), to))
	if e == nil {
		way.heard(hr)
	}
	return hr, e
}

// next returns where a redirect leads, if it may be followed.
func (g guard) next(from target, h http.Header) (target, *freshet.FetchError) {
	// Spaces and stray bytes are common in the wild, and meant as browsers
	// read them.
	location := strings.ReplaceAll(strings.TrimSpace(h.Get("Location")), " ", "%20")
	if !utf8.ValidString(location) {
		location = urlenc.Escape(location, queryOctets)
	}
	switch {
	case location == "":
		return from, refuse(RuleNoLocation, failure.NoLocation, "a redirect without a location")
	case len(location) > g.urlBytes:
		return from, refuse(RuleRedirectURL, failure.BadLocation, "a redirect to a URL longer than %d bytes", g.urlBytes)
	case strings.Contains(location, `\`):
		return from, refuse(RuleRedirectURL, failure.BadLocation, "a redirect to %.200q: a URL must not contain a backslash", location)
	}
	u, err := from.url().Parse(location)
	if err != nil {
		return from, refuse(RuleRedirectURL, failure.BadLocation, "a redirect to %.200q, which is not a URL", location)
	}
	to, e := g.parse(u.String())
	switch {
	case e != nil && e.Class == failure.BlockedURL:
		return from, hinted(refuse(redirectRule(e), failure.BadLocation, "a redirect to %.200q: %w", location, e), "%s", e.Hint)
	case e != nil:
		return from, hinted(refuse(redirectRule(e), e.Class, "a redirect to %.200q: %w", location, e), "%s", e.Hint)
	case from.scheme == "https" && to.scheme == "http":
		return from, refuse(RuleDowngrade, failure.Downgrade, "a redirect from https to %s", to)
	}
	return to, nil
}

// take returns what came with a response that is not a redirect, to a request
// that carried the validators asked.
func (c *Client) take(ctx context.Context, w *watch, hr *http.Response, way *course, asked freshet.Validators) (res freshet.Response, e *freshet.FetchError) {
	res.Method, res.Status = hr.Request.Method, hr.StatusCode
	if !way.wants(hr.StatusCode) {
		res.RetryAfter, e = refusal(hr, w.date)
	}
	if e == nil && hr.StatusCode != http.StatusNotModified || e != nil && e.Class.Is(failure.HTTP) {
		e = cmp.Or(way.unexpected(hr.StatusCode), e)
	}
	received, when := validatorsOf(hr.Header, w.date), modified(hr.Header, w.date)
	switch {
	case e != nil:
		c.discard(hr, w)
	case hr.Request.Method == http.MethodHead && hr.StatusCode != http.StatusNotModified:
		hr.Body.Close()
		res.Body, res.Validators, res.Modified = headLines(hr.Header), received, when
		hr.Header.Set("Content-Type", "text/plain; charset=utf-8") // of what is compared
	case hr.StatusCode == http.StatusNotModified:
		hr.Body.Close()
		res.NotModified, res.Modified = true, when
		res.ETag = cmp.Or(received.ETag, asked.ETag)
		res.LastModified = cmp.Or(received.LastModified, asked.LastModified)
	default:
		res.Body, res.WireBytes, e = c.bodies.read(hr, w)
		hr.Body.Close()
		if f := givenUp(ctx); e != nil && f != nil {
			e = f // a broken read is only how our giving up shows
			if strings.HasPrefix(hr.Header.Get("Content-Type"), "text/event-stream") {
				e = hinted(e, "the page is an endless stream of events, which cannot be watched")
			}
		}
		e = w.blame(e)
		if e == nil {
			res.Validators, res.Modified = received, when
		}
	}
	if e == nil {
		res.FreshFor = freshFor(hr.Header, w.date)
	}
	res.Cookies, res.Along = hr.Header["Set-Cookie"], way.along(hr.Request.URL)
	res.Header = hr.Header
	res.MediaType = hr.Header.Get("Content-Type")
	return res, e
}

// refusal returns why a response brings nothing to compare, judged by its
// status, and for how long the server wants to be left alone.
func refusal(hr *http.Response, now time.Time) (retry time.Duration, e *freshet.FetchError) {
	status := hr.StatusCode
	if status == http.StatusOK || status == http.StatusNotModified && conditional(hr.Request.Header) {
		return 0, nil // nearly always
	}
	if status >= 300 {
		retry = retryAfter(hr.Header, now)
	}
	return retry, statusFailure(status, retry)
}

// statusFailure returns what a status other than 200 and an expected 304
// stands for; nil if it brings a page.
func statusFailure(status int, retry time.Duration) *freshet.FetchError {
	said := fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusNotModified:
		return fail(failure.Unasked304, "%s to a request without a condition", said)
	case status == http.StatusNoContent, status == http.StatusResetContent:
		return fail(failure.NoContent, "%s: there is no page", said)
	case status == http.StatusPartialContent:
		return fail(failure.Partial, "%s: only a part of the page was sent", said)
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusGone:
		return hinted(fail(failure.Gone, "%s", said), "the page is gone for good; consider removing the source")
	case (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && retry > 0:
		return fail(failure.RetryAfter, "%s: it asks to wait %v", said, retry)
	case status == http.StatusTooManyRequests, status >= 500 && status < 600:
		return fail(failure.ServerError.WithStatus(status), "%s", said)
	case status < 200 || status >= 600:
		return fail(failure.Protocol, "%s, which is not a final status", said)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return hinted(fail(failure.HTTP.WithStatus(status), "%s", said), "the page is not public, or the server refuses programs; open it in a private browser window to see which")
	}
	return fail(failure.HTTP.WithStatus(status), "%s", said)
}

// discard closes a body that is of no interest. A small one is read first, so
// that the connection can be used again.
func (c *Client) discard(hr *http.Response, w *watch) {
	const worthwhile = 16 * kib
	if hr.ContentLength > 0 && hr.ContentLength <= worthwhile {
		w.reading(hr.Body)
		// Whether it works out or not, the response has been judged already.
		_, _ = io.Copy(io.Discard, &wireReader{body: hr.Body, watch: w, limit: worthwhile})
	}
	hr.Body.Close()
}
