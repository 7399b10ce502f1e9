package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/binenc"
)

// methodHeader is the name under which the method of the request is packed.
const methodHeader = ":method"

// headerNames are the names of headers that are packed as their places here, which are for ever.
var headerNames = []string{
	"Content-Type", "Content-Language", "Content-Location", "Content-Disposition",
	"Date", "Etag", "Last-Modified", "Expires", "Cache-Control", "Link", "Location",
	methodHeader, "Accept-Ranges", "Access-Control-Allow-Origin", "Age", "Alt-Svc", "Cf-Cache-Status", "Cf-Ray", "Connection", "Content-Encoding",
	"Content-Length", "Content-Security-Policy", "Nel", "P3p", "Permissions-Policy", "Pragma", "Referrer-Policy", "Report-To", "Retry-After", "Server",
	"Server-Timing", "Set-Cookie", "Strict-Transport-Security", "Transfer-Encoding", "Vary", "Via", "X-Amz-Cf-Id", "X-Amz-Cf-Pop", "X-Cache", "X-Cache-Hits",
	"X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-Id", "X-Served-By", "X-Timer", "X-Ua-Compatible", "X-Xss-Protection",
}

// volatile are the headers that differ from version to version.
var volatile = []string{"Age", "Cf-Ray", "Content-Length", "Date", "Etag", "Expires", "Last-Modified", "X-Request-Id", "X-Timer"}

// How the value of a header is packed.
const (
	packedText   = iota // length and bytes
	packedDate          // seconds since 1970: a date in the form that HTTP prefers
	packedNumber        // a number without leading zeros
	packedNear          // what it shares with the value of the envelope, from the front and from the end, and the bytes between
	packedGone          // the header of the envelope that this one does not have
	packedLater         // a date as seconds after the one before it in the same list
	packedHex           // a text before hexadecimal digits, their bytes, and a text after them
)

// packHeader writes a header small: names as places in headerNames where they are there, dates and
// numbers as numbers. What is volatile of it is written by itself.
func packHeader(h http.Header, method string) (steady, fresh binenc.Writer) {
	if method != "" {
		packName(&steady, methodHeader)
		packValue(&steady, method)
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		b := &steady
		if slices.Contains(volatile, name) {
			b = &fresh
		}
		for _, value := range h[name] {
			packName(b, name)
			if name != "Date" && b == &fresh && packLater(b, h.Get("Date"), value) {
				continue
			}
			packValue(b, value)
		}
	}
	return steady, fresh
}

// packLater adds a date by how much later it is than the header Date, which comes before it.
func packLater(w *binenc.Writer, date, value string) bool {
	first, ok := dateIn(date)
	seconds, both := dateIn(value)
	if !ok || !both {
		return false
	}
	w.Byte(packedLater)
	w.Varint(seconds - first)
	return true
}

// packDifference returns how a header, of which the steady and the volatile part are packed, differs from a
// packed one.
func packDifference(before []byte, n *envelope, fresh []byte) ([]byte, error) {
	if bytes.Equal(before, n.header) {
		return fresh, nil
	}
	was, is := http.Header{}, http.Header{}
	if err := errors.Join(unpackHeader(before, was), unpackHeader(n.header, is)); err != nil {
		return nil, err
	}
	var w binenc.Writer
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if slices.Equal(was[name], is[name]) {
			continue
		}
		for i, value := range is[name] {
			packName(&w, name)
			if i >= len(was[name]) || !packNear(&w, was[name][i], value) {
				packValue(&w, value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name] == nil {
			packName(&w, name)
			w.Byte(packedGone)
		}
	}
	w.Raw(fresh)
	return w, nil
}

// shortestNear is how many bytes a value must share with another to be packed as one near to it.
const shortestNear = 6

// packNear adds a value by what it shares with another, if that is enough.
func packNear(w *binenc.Writer, was, is string) bool {
	front, most := 0, min(len(was), len(is))
	for front < most && was[front] == is[front] {
		front++
	}
	end := 0
	for end < most-front && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	if front+end < shortestNear {
		return false
	}
	w.Byte(packedNear)
	w.Uvarint(uint64(front))
	w.Uvarint(uint64(end))
	w.String(is[front : len(is)-end])
	return true
}

// packValue adds the value of a header.
func packValue(w *binenc.Writer, value string) {
	if seconds, ok := dateIn(value); ok {
		w.Byte(packedDate)
		w.Varint(seconds)
		return
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && strconv.FormatInt(n, 10) == value {
		w.Byte(packedNumber)
		w.Varint(n)
		return
	}
	if from, to := hexIn(value); to-from >= shortestHex {
		w.Byte(packedHex)
		w.String(value[:from])
		digits, _ := hex.DecodeString(value[from:to]) // they are hexadecimal
		w.String(string(digits))
		w.String(value[to:])
		return
	}
	w.Byte(packedText)
	w.String(value)
}

// shortestHex is how many hexadecimal digits are worth to be packed as bytes.
const shortestHex = 10

// hexIn returns the longest even run of lower-case hexadecimal digits in a value. Request IDs and entity tags
// have one.
func hexIn(value string) (from, to int) {
	for i := 0; i < len(value); i++ {
		end := i
		for end < len(value) && (value[end] >= '0' && value[end] <= '9' || value[end] >= 'a' && value[end] <= 'f') {
			end++
		}
		if n := (end - i) &^ 1; n > to-from {
			from, to = i, i+n
		}
		i = end
	}
	return from, to
}

// dateIn returns a date in the form that HTTP prefers as seconds since 1970. Most values
// are none, and are recognized by their length: to parse them would take longer than all
// the rest of the header.
func dateIn(value string) (seconds int64, ok bool) {
	if len(value) != len(http.TimeFormat) {
		return 0, false
	}
	t, err := http.ParseTime(value)
	return t.Unix(), err == nil && t.UTC().Format(http.TimeFormat) == value
}

func httpDate(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(http.TimeFormat) }

func packName(w *binenc.Writer, name string) {
	if i := slices.Index(headerNames, name); i >= 0 {
		w.Byte(byte(i + 1))
		return
	}
	w.Byte(0)
	w.String(name)
}

var errHeader = errors.New("stored header cannot be read")

// unpackHeader adds to h what packHeader wrote.
func unpackHeader(b []byte, h http.Header) error {
	return eachPacked(b, h, func(name, value string, gone bool) {
		if !gone {
			h[name] = append(h[name], value)
		}
	})
}

// applyHeader makes the header of a version out of that of its envelope, h, by how they differ.
func applyHeader(b []byte, h http.Header) error {
	was := maps.Clone(h)
	changed := map[string]bool{}
	return eachPacked(b, was, func(name, value string, gone bool) {
		if !changed[name] {
			delete(h, name)
		}
		changed[name] = true
		if !gone {
			h[name] = append(h[name], value)
		}
	})
}

// eachPacked shows the values of a packed header, which may be near to those of another.
func eachPacked(b []byte, near http.Header, show func(name, value string, gone bool)) error {
	count := map[string]int{}
	var date int64
	for r := binenc.NewReader(b); r.Len() > 0; {
		var name string
		switch at := int(r.Byte()); {
		case at == 0:
			name = r.String(len(b))
		case at <= len(headerNames):
			name = headerNames[at-1]
		default:
			return errHeader
		}
		how := r.Byte()
		var value string
		ok := true
		if how == packedLater {
			value = httpDate(date + r.Varint())
		} else {
			value, ok = unpackValue(r, how, near[name], count[name])
		}
		if name == "Date" {
			date, _ = dateIn(value)
		}
		if r.Err() != nil || !ok {
			return errHeader
		}
		count[name]++
		show(name, value, how == packedGone)
	}
	return nil
}

// unpackValue reads the value of a header. The values of the envelope under its name are given, and
// which of them it may be near to.
func unpackValue(r *binenc.Reader, how byte, near []string, nth int) (value string, ok bool) {
	switch how {
	case packedText:
		return r.String(r.Len()), true
	case packedDate:
		return httpDate(r.Varint()), true
	case packedNumber:
		return strconv.FormatInt(r.Varint(), 10), true
	case packedGone:
		return "", true
	case packedHex:
		return r.String(r.Len()) + hex.EncodeToString([]byte(r.String(r.Len()))) + r.String(r.Len()), true
	case packedNear:
		front, end := r.Uvarint(), r.Uvarint()
		between := r.String(r.Len())
		if nth >= len(near) {
			return "", false
		}
		was := near[nth]
		if all := uint64(len(was)); front > all || end > all-front {
			return "", false
		}
		return was[:front] + between + was[len(was)-int(end):], true
	}
	return "", false
}

// commonHeaders are the headers that many servers send, packed: what the header of an envelope is
// compressed against. Stored headers cannot be read without it, so it never changes.
var commonHeaders = strings.Join([]string{
	"\x0c\x00\x03GET\x0c\x00\x04POST",
	"\x02\x00\x02en\x02\x00\x02de\x09\x00\x23public, max-age=14400, s-maxage=3600, must-revalidate, stale-while-revalidate=60, private, no-store, no-transform\x09\x00\x23no-cache, no-store, max-age=0, must-revalidate",
	"\x01\x00\x10application/json\x01\x00\x1fapplication/json; charset=utf-8\x01\x00\x13application/rss+xml\x01\x00\x14application/atom+xml\x01\x00\x18text/html; charset=UTF-8\x01\x00\x18text/html; charset=utf-8\x01\x00\x09text/xml\x01\x00\x0atext/plain",
	"\x0d\x00\x05bytes\x0e\x00\x01*\x10\x00\x11h3=\":443\"; ma=86400\x10\x00\x2ch3=\":443\"; ma=2592000,h3-29=\":443\"; ma=2592000\x11\x00\x07DYNAMIC\x11\x00\x03HIT\x11\x00\x04MISS\x13\x00\x0akeep-alive\x13\x00\x05close\x14\x00\x04gzip\x14\x00\x02br\x14\x00\x04zstd",
	"\x16\x00default-src 'self' 'none'; base-uri 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' https://; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob: https:; font-src 'self' data:; connect-src 'self'; frame-src 'self'; frame-ancestors 'none'; form-action 'self'; object-src 'none'; media-src *; worker-src 'self'; manifest-src 'self'; upgrade-insecure-requests; block-all-mixed-content; report-uri /csp",
	"\x17\x00{\"success_fraction\":0,\"report_to\":\"cf-nel\",\"max_age\":604800}\x17\x00{\"report_to\":\"cf-nel\",\"success_fraction\":0.0,\"max_age\":604800}",
	"\x19\x00camera=(), microphone=(), geolocation=(), interest-cohort=(), browsing-topics=(), payment=(), usb=(), fullscreen=(self)\x1a\x00\x08no-cache",
	"\x1b\x00\x1fstrict-origin-when-cross-origin\x1b\x00\x0bsame-origin\x1b\x00\x0bno-referrer\x1b\x00\x1ano-referrer-when-downgrade\x1borigin-when-cross-origin",
	"\x1c\x00{\"endpoints\":[{\"url\":\"https:\\/\\/a.nel.cloudflare.com\\/report\\/v4?s=\"}],\"group\":\"cf-nel\",\"max_age\":604800}",
	"\x1e\x00\x0acloudflare\x1e\x00\x05nginx\x1e\x00\x0cnginx/1.24.0 (Ubuntu)\x1e\x00\x06Apache\x1e\x00\x16Apache/2.4.57 (Debian)\x1e\x00\x0dMicrosoft-IIS/10.0\x1e\x00\x0aGitHub.com\x1e\x00\x08AmazonS3\x1e\x00\x03gws\x1e\x00\x0dgunicorn\x1e\x00\x06Vercel\x1e\x00LiteSpeed\x1e\x00openresty\x1e\x00Caddy\x1e\x00envoy",
	"\x20\x00session=***; Path=/; Expires=; Max-Age=; Domain=.; HttpOnly; Secure; SameSite=Lax\x20\x00PHPSESSID=***; path=/; secure; HttpOnly; SameSite=None\x20\x00__cf_bm=***; path=/; expires=; domain=.; HttpOnly; Secure; SameSite=None",
	"\x21\x00\x2cmax-age=31536000; includeSubDomains; preload\x21\x00\x10max-age=63072000\x22\x00\x07chunked\x23\x00\x0fAccept-Encoding\x23\x00\x06Cookie\x23\x00Accept-Encoding, User-Agent, Accept, Origin, X-Requested-With, Authorization",
	"\x24\x001.1 varnish, 1.1 varnish\x24\x001.1 google\x24\x001.1 vegur\x24\x001.1 .cloudfront.net (CloudFront)\x27\x00Hit from cloudfront\x27\x00Miss from cloudfront\x27\x00HIT, MISS\x28\x000, 0",
	"\x29\x00\x07nosniff\x2a\x00\x0aSAMEORIGIN\x2a\x00\x04DENY\x2b\x00PHP/8.2\x2b\x00ASP.NET\x2b\x00Express\x2b\x00Next.js\x2d\x00cache-fra-eddf8230042-FRA, cache-ams\x2f\x00IE=edge\x30\x00\x0d1; mode=block",
	"\x00\x1aCross-Origin-Opener-Policy\x00\x0bsame-origin\x00\x1cCross-Origin-Embedder-Policy\x00\x1cCross-Origin-Resource-Policy\x00\x1dAccess-Control-Expose-Headers\x00\x1cAccess-Control-Allow-Methods\x00GET, POST, OPTIONS, HEAD, PUT, DELETE\x00\x1cAccess-Control-Allow-Headers\x00\x20Access-Control-Allow-Credentials\x00true",
	"\x00\x11X-Ratelimit-Limit\x00\x15X-Ratelimit-Remaining\x00\x11X-Ratelimit-Reset\x00\x09X-Runtime\x00\x0cX-Robots-Tag\x00noindex, nofollow\x00\x11X-Accel-Expires\x00X-Varnish\x00X-Drupal-Cache\x00X-Generator\x00Drupal 10\x00X-Pingback\x00X-Github-Request-Id\x00X-Proxy-Cache\x00X-Fastly-Request-Id\x00X-Amz-Request-Id\x00X-Amz-Id-2\x00X-Amz-Server-Side-Encryption\x00AES256\x00X-Download-Options\x00noopen\x00X-Permitted-Cross-Domain-Policies\x00none\x00X-Dns-Prefetch-Control\x00off\x00Surrogate-Control\x00Surrogate-Key\x00Origin-Trial\x00Accept-Ch\x00Critical-Ch\x00X-Cloud-Trace-Context\x00X-Aspnet-Version\x00X-Vercel-Id\x00X-Vercel-Cache\x00X-Matched-Path\x00X-Nextjs-Cache\x00X-Correlation-Id\x00X-Backend-Server\x00X-Cache-Status\x00X-Litespeed-Cache\x00Keep-Alive\x00timeout=5, max=100",
}, "")
