//go:build unix

package torture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
)

// check holds all that the daemon says against all that is known. Edits wait
// meanwhile.
func (e *episode) check(ctx context.Context) {
	e.editor.mu.Lock()
	defer e.editor.mu.Unlock()
	e.checkHealth(ctx) // sources may still be taken on
	e.checkTraffic()
	e.checkSources(ctx)
	e.checkVersions(ctx)
	e.checkChanges(ctx)
	e.checkPastTheEnd(ctx)
	e.checkGone()
	e.checkLog(e.now)
	e.gather()
}

// gather takes what witnesses found wrong.
func (e *episode) gather() {
	for _, p := range e.chronicle.take() {
		e.violate("what was told stays so", "%s", p)
	}
	for _, p := range e.follower.take() {
		e.violate("stream", "%s", p)
	}
	for _, p := range e.editor.take() {
		e.violate("edits", "%s", p)
	}
	for _, r := range e.receivers {
		for _, p := range r.take() {
			e.violate("webhook", "%s: %s", r.name, p)
		}
	}
	e.report.checked("deliveries", 1)
}

// checkSources wants every edit that was acknowledged to be in force, and every
// other one to be made or not, but nothing between.
func (e *episode) checkSources(ctx context.Context) {
	sources, err := e.now.api.Sources.List(ctx, client.SourceQuery{})
	if err != nil {
		e.unanswered(ctx, "list sources", err)
		return
	}
	found := map[freshet.SourceID]client.Source{}
	for _, s := range sources {
		found[s.ID] = s
	}
	for _, s := range e.settings.sources {
		if f, ok := found[s.id]; !ok {
			e.violate("edits", "the source %s of the file is not watched", s.id)
		} else if !e.sameSite(s, f.URL) {
			e.violate("edits", "the source %s of the file is at %s, want %s", s.id, f.URL, s.url)
		}
	}
	for id, g := range e.editor.guests {
		s, ok := found[id]
		is := standing{watched: ok, name: s.Name, paused: s.Paused}
		if ok {
			is.page = e.pageOf(s.URL)
		}
		e.report.checked("edits", 1)
		switch {
		case is == g.is && g.may == nil:
		case g.may != nil && is == *g.may:
			if g.mayPurge {
				e.chronicle.purge(id)
			}
			g.is, g.may = is, nil
		case g.may != nil && is == g.is:
			g.may = nil
		default:
			e.violate("edits", "%s is %+v, want %+v (or %+v)", id, is, g.is, g.may)
			g.is, g.may = is, nil
		}
	}
}

// sameSite reports whether a source is where the file says. One that has moved
// for good may be where its redirects lead.
func (e *episode) sameSite(s spot, url string) bool {
	return url == s.url || slices.Contains(s.pages, e.pageOf(url))
}

// pageOf returns the page at a URL.
func (e *episode) pageOf(url string) freshet.SourceID {
	_, rest, _ := strings.Cut(url, "//")
	_, path, _ := strings.Cut(rest, "/")
	page, _, _ := strings.Cut(path, "?")
	return freshet.SourceID(page)
}

// checkVersions wants every version ever shown to be there, numbered without a
// gap, and looks at the bytes of some.
func (e *episode) checkVersions(ctx context.Context) {
	reads := 6
	for _, s := range e.settings.sources {
		e.checkHistory(ctx, s, &reads)
	}
	for id, g := range e.editor.guests {
		if g.is.watched {
			e.checkHistory(ctx, spot{id: id, pages: g.pages}, &reads)
		}
	}
}

func (e *episode) checkHistory(ctx context.Context, s spot, reads *int) {
	purges := e.chronicle.purgesOf(s.id)
	known := e.chronicle.known(s.id)
	versions, err := e.now.api.Sources.Versions(ctx, s.id, freshet.Between{}, 0)
	if err != nil {
		e.unanswered(ctx, "list versions of "+string(s.id), err)
		return
	}
	e.report.checked("versions", max(len(known), 1))
	held := e.chronicle.held(s.id, versions)
	versions = slices.DeleteFunc(versions, func(v client.Version) bool { return v.Quiet == freshet.QuietSuspect })
	e.chronicle.show(s.id, purges, versions)
	slices.Reverse(versions)
	there := map[int]bool{}
	for i, v := range versions {
		there[v.Number] = true
		if i > 0 && v.Number != versions[i-1].Number+1 && !held {
			e.violate("numbers", "after version %d of %s comes %d", versions[i-1].Number, s.id, v.Number)
		}
	}
	// A purge can take versions that nobody had seen yet.
	if len(versions) > 0 && s.keep == 0 && purges == 0 && versions[0].Number != 1 && !held {
		e.violate("numbers", "the first version of %s is %d", s.id, versions[0].Number)
	}
	for n, shown := range known {
		if !there[n] && (s.keep == 0 || len(versions) == 0 || n > versions[0].Number) {
			e.violate("versions", "version %d of %s (%s) was shown and is gone; there are %d", n, s.id, shown.hash, len(versions))
		}
	}
	if len(s.pages) == 0 && !s.heavy && len(versions) > 0 {
		e.violate("hostile answers", "%s has a version, and its host never gave a good answer", s.id)
	}
	for _, v := range slices.Backward(versions) {
		if *reads > 0 && known[v.Number].edition == 0 {
			*reads--
			e.compare(ctx, s, v)
		}
	}
}

// compare reads a version back and wants it to be what its page said.
func (e *episode) compare(ctx context.Context, s spot, v client.Version) {
	text, err := e.now.api.Sources.Text(ctx, s.id, v.Number)
	if err == nil && freshet.HashOf(text).String() != v.Hash {
		e.violate("versions", "the text of version %d of %s does not hash to %s", v.Number, s.id, v.Hash)
	}
	raw, err2 := e.now.api.Sources.Raw(ctx, s.id, v.Number)
	if err != nil || err2 != nil {
		if !e.unanswered(ctx, fmt.Sprintf("read version %d of %s", v.Number, s.id), cmpErr(err, err2)) {
			e.violate("versions", "version %d of %s cannot be read: %v, %v", v.Number, s.id, err, err2)
		}
		return
	}
	e.report.checked("bytes", 1)
	if s.heavy {
		e.chronicle.edition(s.id, v.Number, v.Number)
		if len(raw) < heavyBytes {
			e.violate("versions", "version %d of %s has %d bytes, want %d", v.Number, s.id, len(raw), heavyBytes)
		}
		return
	}
	edition, _ := synth.VersionIn(raw)
	if before, ok := e.chronicle.edition(s.id, v.Number, edition); !ok && len(s.pages) == 1 {
		e.violate("versions", "version %d of %s is edition %d, and an older version was %d", v.Number, s.id, edition, before)
	}
	if !slices.ContainsFunc(s.pages, func(p freshet.SourceID) bool {
		return bytes.Equal(raw, e.web.pages.Body(p, edition, time.Time{}))
	}) {
		e.violate("versions", "version %d of %s is not what any of %v said as edition %d:\n%s", v.Number, s.id, s.pages, edition, raw[:min(len(raw), 300)])
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// checkChanges reads the whole log, and wants it to be what was told before and
// something more, numbered without gaps, and the stream to have missed nothing.
func (e *episode) checkChanges(ctx context.Context) {
	changes, err := e.log(ctx)
	if err != nil {
		e.unanswered(ctx, "read the change log", err)
		return
	}
	before := e.chronicle.log()
	seqs, texts := map[freshet.SourceID]int{}, map[freshet.SourceID]string{}
	there := map[freshet.Place]bool{}
	var last freshet.Place
	reached, seen := e.follower.place()
	for _, c := range changes {
		e.report.checked("changes", 1)
		there[c.Cursor] = true
		if c.Cursor.Cursor <= last.Cursor {
			e.violate("changes", "after cursor %v comes %v", last, c.Cursor)
		}
		last = c.Cursor
		if n, ok := seqs[c.Source]; ok && c.Seq != n+1 {
			e.violate("numbers", "after change %d of %s comes %d", n, c.Source, c.Seq)
		}
		if to, ok := texts[c.Source]; ok && c.From != to {
			e.violate("changes", "change %d of %s leads from %s, and the one before led to %s", c.Seq, c.Source, c.From, to)
		}
		seqs[c.Source], texts[c.Source] = c.Seq, c.To
		e.chronicle.change(c)
		e.checkMoment(c)
		if c.Cursor.Cursor < reached.Cursor && !seen(c.Cursor) {
			e.violate("stream", "the stream has reached %v and left out %v, change %d of %s", reached, c.Cursor, c.Seq, c.Source)
		}
	}
	for cursor, c := range before {
		if !there[cursor] && !e.pruned(c.source) {
			e.violate("changes", "change %d of %s at cursor %v was told and is gone", c.seq, c.source, cursor)
		}
	}
}

// checkMoment wants a change to have happened when it is said to have. A daemon
// whose clock was set cannot say that.
func (e *episode) checkMoment(c client.Change) {
	at := slices.IndexFunc(e.settings.sources, func(s spot) bool { return s.id == c.Source && len(s.pages) == 1 })
	if at < 0 || len(e.hidden) > 0 || e.offset != 0 {
		return
	}
	e.report.checked("moments", 1)
	if len(e.web.pages.Changes(e.settings.sources[at].pages[0], c.After, c.Before)) == 0 {
		e.violate("moments", "change %d of %s is said to fall between %v and %v, when the page did not change", c.Seq, c.Source, c.After, c.Before)
	}
}

// pruned reports whether a source keeps only some of its history.
func (e *episode) pruned(id freshet.SourceID) bool {
	return slices.ContainsFunc(e.settings.sources, func(s spot) bool { return s.id == id && s.keep > 0 })
}

// log reads the whole log of changes.
func (e *episode) log(ctx context.Context) (all []client.Change, err error) {
	var after freshet.Place
	for {
		page, err := e.now.api.Changes(ctx, client.ChangeQuery{After: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if len(page.Items) == 0 {
			return all, nil
		}
		after = page.Next
	}
}

// checkPastTheEnd wants a place that the log never had to be refused.
func (e *episode) checkPastTheEnd(ctx context.Context) {
	for _, path := range []string{"/api/v1/changes?after=99999999", "/api/v1/changes/stream?after=99999999"} {
		status, _, err := e.get(ctx, path)
		if err != nil {
			e.unanswered(ctx, "ask for a place past the end", err)
			return
		}
		e.report.checked("cursors", 1)
		if status != http.StatusGone {
			e.violate("cursors", "%s is answered with %d, want 410", path, status)
		}
	}
}

// checkHealth wants the daemon to be alive and, soon after its start, ready.
func (e *episode) checkHealth(ctx context.Context) {
	if status, _, err := e.get(ctx, "/healthz"); (err != nil || status != http.StatusOK) && ctx.Err() == nil {
		e.violate("health", "/healthz: %d, %v", status, err)
	}
	e.report.checked("health", 1)
	if why := e.unready(ctx, 20*time.Second); why != "" {
		e.violate("readiness", "/readyz: %s", why)
	}
}

// unready waits until the daemon is ready, and returns what it says if it is not
// by then.
func (e *episode) unready(ctx context.Context, patience time.Duration) (why string) {
	for end := time.Now().Add(patience); ; {
		status, text, err := e.get(ctx, "/readyz")
		if err == nil && status == http.StatusOK || ctx.Err() != nil {
			return ""
		}
		if time.Now().After(end) {
			return fmt.Sprintf("%d %s (%v)", status, text, err)
		}
		e.dwell(ctx, 100*time.Millisecond)
	}
}

// get asks the API, and reads no more of the answer than a screen.
func (e *episode) get(ctx context.Context, path string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.now.base+path, nil)
	if err != nil {
		return 0, "", err
	}
	c := fetch.Trusted(apiPatience)
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "", nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 2000))
	return resp.StatusCode, string(body), err
}

// apiPatience is how long the API may take to answer, on a machine that may have
// other things to do.
const apiPatience = 10 * time.Second

// unanswered notes that a running daemon did not answer well, and reports whether
// it was the campaign's own end.
func (e *episode) unanswered(ctx context.Context, doing string, err error) (over bool) {
	if ctx.Err() != nil {
		return true
	}
	if e.now.over() {
		return true // and is found to be so
	}
	e.violate("API", "%s: %v", doing, err)
	return false
}
