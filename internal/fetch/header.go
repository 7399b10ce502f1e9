package fetch

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

const (
	maxETag       = 1 * kib
	maxKept       = 8 * kib // of one header value that is kept with a version
	mostKept      = 32 * kib
	maxRetryAfter = 24 * time.Hour
	maxFresh      = 7 * 24 * time.Hour
	clockSlack    = 5 * time.Minute // by which a server's dates may contradict each other
)

// KeptHeader returns what is kept of a response header with a version: without secrets and without values that
// could not be shown or sent on, and so many bytes at most.
func KeptHeader(h http.Header) http.Header {
	kept := make(http.Header, len(h))
	left := mostKept
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if slices.Contains(telemetry, name) {
			continue
		}
		values := masked(name, h[name])
		size := 0
		for _, v := range values {
			size += len(name) + len(v)
		}
		if size <= left && !slices.ContainsFunc(values, unfit) {
			kept[name] = values
			left -= size
		}
	}
	return kept
}

// unfit reports whether a value is too long to keep, or not one that a header can have.
func unfit(v string) bool { return len(v) > maxKept || !httpguts.ValidHeaderFieldValue(v) }

// telemetry are headers that ask browsers to report errors, with a token that is another in each response.
var telemetry = []string{"Nel", "Report-To", "Reporting-Endpoints"}

// masked returns the values of a header without what only this client may know. Cookies are left without the date at
// which they expire, which is another in each response.
func masked(name string, values []string) []string {
	if name == "Set-Cookie" {
		values = slices.Clone(values)
		for i, v := range values {
			cookie, attributes, _ := strings.Cut(v, ";")
			cookie, _, _ = strings.Cut(cookie, "=")
			values[i] = cookie + "=" + mask.Placeholder
			for part := range strings.SplitSeq(attributes, ";") {
				if part = strings.TrimSpace(part); part != "" && !strings.EqualFold(part[:min(len(part), len("expires="))], "expires=") {
					values[i] += "; " + part
				}
			}
		}
	} else if slices.Contains(secretHeaders, name) || mask.SecretName(name) {
		return []string{mask.Placeholder}
	}
	return values
}

// secretHeaders are headers whose names do not say that their values are secret.
var secretHeaders = []string{"Authentication-Info", "Cookie", "Proxy-Authentication-Info", "Set-Cookie2"}

// dateOf returns when a response says it was made, or now.
func dateOf(h http.Header, now time.Time) time.Time {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		return t
	}
	return now
}

// retryAfter returns how long a response asks to stay away. A date counts from
// the response's own Date, so that no clock but the server's matters.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		seconds, err := strconv.ParseInt(v, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(t.Sub(dateOf(h, now)), 0), maxRetryAfter)
}

// freshFor returns for how long a response says that it stays as it is: its max-age
// or, without one, until it expires. A response that must not be used again without
// asking says nothing.
func freshFor(h http.Header, now time.Time) time.Duration {
	age := time.Duration(-1)
	for _, value := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(value, ",") {
			name, arg, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
			switch strings.TrimSpace(name) {
			case "no-cache", "no-store":
				return 0
			case "max-age":
				if d := secondsOf(strings.Trim(arg, ` "`)); age < 0 || d < age {
					age = d
				}
			}
		}
	}
	if age < 0 && h["Expires"] != nil {
		if expires, err := http.ParseTime(h.Get("Expires")); err == nil {
			age = expires.Sub(dateOf(h, now))
		}
	}
	return min(max(age-secondsOf(h.Get("Age")), 0), maxFresh)
}

// secondsOf reads a whole number of seconds; what is none is 0.
func secondsOf(v string) time.Duration {
	if v == "" || len(v) > 18 || strings.Trim(v, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.ParseInt(v, 10, 64) // it is made of digits that fit
	return time.Duration(min(n, int64(maxFresh/time.Second))) * time.Second
}

// validatorsOf returns what a response gives to ask "has it changed?" with.
//
// A Last-Modified in the very second of the response says nothing about the
// rest of that second: to send it back would be to miss a change within it.
func validatorsOf(h http.Header, now time.Time) freshet.Validators {
	var v freshet.Validators
	if tag := h.Get("Etag"); validETag(tag) {
		v.ETag = tag
	}
	if t := lastModified(h); !t.IsZero() && t.Before(dateOf(h, now).Truncate(time.Second)) {
		v.LastModified = h.Get("Last-Modified")
	}
	return v
}

// lastModified returns the date of a Last-Modified header, or zero.
func lastModified(h http.Header) (t time.Time) {
	if v := h.Get("Last-Modified"); v != "" {
		t, _ = http.ParseTime(v) // zero if it is no date
	}
	return t
}

// validETag reports whether tag is an entity tag of a size worth keeping.
func validETag(tag string) bool {
	if len(tag) > maxETag {
		return false
	}
	opaque := strings.TrimPrefix(tag, "W/")
	if len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' {
		return false
	}
	for _, c := range []byte(opaque[1 : len(opaque)-1]) {
		if c <= ' ' || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}

// validDate reports whether s can be sent as If-Modified-Since.
func validDate(s string) bool {
	if s == "" {
		return false
	}
	_, err := http.ParseTime(s)
	return err == nil
}

// modified returns when a response says its content last changed, or zero if
// it does not say or cannot be believed.
func modified(h http.Header, now time.Time) time.Time {
	t := lastModified(h)
	if t.Year() < 1990 || t.After(dateOf(h, now).Add(clockSlack)) {
		return time.Time{}
	}
	return t
}
