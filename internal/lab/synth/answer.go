package synth

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// An answer is what the web says to one request.
type answer struct {
	page       *page // nil if there is none
	status     int
	at         time.Time
	version    int
	retryAfter time.Duration
}

// ask decides the answer to a request for a path on a host (-1 if any will
// do) and writes it into the log.
func (w *Web) ask(host int, path string, v freshet.Validators) answer {
	var a answer
	w.log.arrive(w.now, func(at time.Time) entry {
		p := w.byPath[path]
		if p != nil && host >= 0 && p.host != host {
			p = nil
		}
		a = w.answer(p, at, v)
		e := entry{page: -1, host: int32(host), version: int32(a.version), status: int16(a.status), retryAfter: a.retryAfter}
		if p != nil {
			e.page, e.host = int32(p.index), int32(p.host)
		}
		if v.ETag != "" {
			e.asked |= byETag
		}
		if v.LastModified != "" {
			e.asked |= byDate
		}
		return e
	})
	return a
}

func (w *Web) answer(p *page, at time.Time, v freshet.Validators) answer {
	a := answer{page: p, at: at}
	switch {
	case p == nil:
		a.status = http.StatusNotFound
	case p.Trouble.at(at.Sub(w.start)):
		a.status = p.Trouble.Status
		a.retryAfter = p.Trouble.RetryAfter.Truncate(time.Second)
	default:
		a.status, a.version = http.StatusOK, p.versionAt(at)
		if w.unmodified(p, a.version, v) {
			a.status = http.StatusNotModified
		}
	}
	return a
}

// unmodified reports whether the validators are those of the version.
// If-None-Match has the word if both are there.
func (w *Web) unmodified(p *page, version int, v freshet.Validators) bool {
	if p.ETag && v.ETag != "" {
		return matches(v.ETag, p.etag(version))
	}
	if !p.LastModified || v.LastModified == "" {
		return false
	}
	since, err := http.ParseTime(v.LastModified)
	if err != nil {
		return false
	}
	now, _ := w.born(p, version)
	before, ok := w.born(p, version-1)
	// A date has whole seconds. Where two versions share one, the date does
	// not tell them apart and the page is sent again.
	if ok && before.Truncate(time.Second).Equal(now.Truncate(time.Second)) {
		return false
	}
	return !now.Truncate(time.Second).After(since)
}

// etag returns the entity tag of a version: weak where the page comes in more
// than one coding.
func (p *page) etag(version int) string {
	tag := fmt.Sprintf("%q", string(p.ID)+"."+strconv.Itoa(version))
	if p.Gzip {
		return "W/" + tag
	}
	return tag
}

// matches compares the value of If-None-Match with a tag, weakly.
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// header returns the header of an answer.
func (w *Web) header(a answer) http.Header {
	h := http.Header{}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(a.retryAfter/time.Second)))
	}
	if a.version == 0 {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		return h
	}
	h.Set("Content-Type", a.page.Form.mediaType())
	if a.page.Gzip {
		h.Set("Vary", "Accept-Encoding")
	}
	if a.page.ETag {
		h.Set("Etag", a.page.etag(a.version))
	}
	if a.page.LastModified {
		born, _ := w.born(a.page, a.version)
		h.Set("Last-Modified", born.UTC().Format(http.TimeFormat))
	}
	return h
}

// content returns the body of an answer, before any coding.
func (w *Web) content(a answer) []byte {
	switch a.status {
	case http.StatusOK:
		return w.body(a.page, a.version, a.at)
	case http.StatusNotModified:
		return nil
	default:
		return []byte(http.StatusText(a.status) + "\n")
	}
}
