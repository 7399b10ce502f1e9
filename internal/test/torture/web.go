package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
)

// The hosts of the web, by what they are like. Each has an address of its own.
var (
	goodHosts    = []string{"good0", "good1", "good2", "good3", "good4", "good5"}
	hopHosts     = []string{"hop0", "hop1", "hop2"}
	crowdHosts   = []string{"crowd0", "crowd1", "crowd2", "crowd3"} // all of them redirect to one
	awayHosts    = []string{"away0", "away1"}
	hostileHosts = []string{"drip", "hang", "huge", "bomb", "reset", "garbage", "short", "heavy0", "heavy1", "heavy2"}
)

// target is where the crowd redirects to.
const target = "target"

// pagesPerHost is how many pages each good host has.
const pagesPerHost = 4

// A web is a set of servers on loopback: pages whose content is a function of
// page and time, redirects, hosts that ask to be left alone, and hostile ones.
type web struct {
	pages   *synth.Web
	start   time.Time
	visits  visits
	addrs   map[string]string // of hosts
	hosts   map[string]string // by address
	server  *http.Server
	ending  context.CancelFunc
	hostile hostility
}

// newWeb opens a web. It must be closed.
func newWeb(ctx context.Context, seed uint64) (*web, error) {
	w := &web{start: time.Now(), addrs: map[string]string{}, hosts: map[string]string{}}
	w.pages = synth.New(synth.Config{Seed: seed, Start: w.start, Pages: pages()})
	var names []string
	for _, group := range [][]string{goodHosts, hopHosts, crowdHosts, awayHosts, hostileHosts, {target}} {
		names = append(names, group...)
	}
	listeners, err := synth.Loopback(ctx, len(names))
	if err != nil {
		return nil, err
	}
	for i, l := range listeners {
		w.addrs[names[i]] = l.Addr().String()
		w.hosts[l.Addr().String()] = names[i]
	}
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	w.ending = end
	w.server = &http.Server{
		Handler:           w,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	for _, l := range listeners {
		go w.server.Serve(l) // ends with close
	}
	return w, nil
}

// close ends all servers and whatever they are at.
func (w *web) close() error {
	w.ending()
	err := w.server.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// pages are those of the good hosts, of the target and of the hosts that ask to
// be left alone. None has noise, so that every captured byte can be compared.
func pages() (all []synth.Page) {
	forms := []synth.Form{synth.News, synth.Status, synth.Prices, synth.RSS, synth.Atom, synth.API, synth.Bulletin}
	ticks := []time.Duration{1500, 3000, 5000, 8000, 13_000, 21_000}
	var hosts []string
	for _, group := range [][]string{goodHosts, awayHosts, {target}} {
		hosts = append(hosts, group...)
	}
	for i := range len(hosts) * pagesPerHost {
		every := ticks[i%len(ticks)] * time.Millisecond
		all = append(all, synth.Page{
			ID:           pageID(hosts[i/pagesPerHost], i%pagesPerHost),
			Host:         hosts[i/pagesPerHost],
			Form:         forms[i%len(forms)],
			Schedule:     synth.Regular{Every: every, Offset: time.Duration(i)*37*time.Millisecond + every/2},
			ETag:         i%2 == 0,
			LastModified: i%3 == 0,
			Gzip:         i%5 == 0,
		})
	}
	return all
}

// pageID names a page of a host.
func pageID(host string, n int) freshet.SourceID {
	return freshet.SourceID(fmt.Sprintf("%s.%d", host, n))
}

// url returns the address of a path on a host, as a source is given it: the
// query says which source asks.
func (w *web) url(host, path string, source freshet.SourceID) string {
	return "http://" + w.addrs[host] + path + "?s=" + string(source)
}

// pageURL returns the address of a page for a source.
func (w *web) pageURL(page, source freshet.SourceID) string {
	host, _, _ := strings.Cut(string(page), ".")
	return w.url(host, "/"+string(page), source)
}

// ServeHTTP notes the request and answers it as its host and path want.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	v := &visit{host: w.hosts[local.String()], source: r.URL.Query().Get("s"), path: r.URL.Path, first: !r.URL.Query().Has("hop")}
	w.visits.arrive(v)
	defer w.visits.leave(v)
	select {
	case <-r.Context().Done():
		w.visits.misses(v)
		return
	case <-time.After(time.Millisecond):
	}
	if !w.hostile.answers(v.host) {
		if !w.think(r.Context(), v) {
			return
		}
	}
	switch {
	case strings.HasPrefix(v.host, "away") && w.sendAway(rw, v):
	case strings.HasPrefix(v.path, "/hop/"), strings.HasPrefix(v.path, "/loop/"), strings.HasPrefix(v.path, "/turn/"):
		w.redirect(rw, r, v)
	case w.hostile.answers(v.host):
		w.hostile.answer(rw, r, v.host)
	default:
		w.pages.Handler().ServeHTTP(rw, r)
	}
}

// think takes a moment, so that requests made at once meet each other, and
// reports whether the client is still there.
func (w *web) think(ctx context.Context, v *visit) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(len(v.path)%20) * time.Millisecond):
	}
	w.visits.answers(v)
	return true
}

// sendAway reports whether a host asks at this moment to be left alone, and if
// it does answers so: with seconds or a date, as the host likes.
func (w *web) sendAway(rw http.ResponseWriter, v *visit) bool {
	const every, spell = 9 * time.Second, 2 * time.Second
	into := v.at.Sub(w.start) % every
	if v.host == awayHosts[1] {
		into = (v.at.Sub(w.start) + every/2) % every
	}
	if into >= spell {
		return false
	}
	const seconds = 3
	if v.host == awayHosts[0] {
		w.visits.asks(v, seconds*time.Second)
		rw.Header().Set("Retry-After", fmt.Sprint(seconds))
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	// A date counts from the Date of the same answer; both have whole seconds.
	now := time.Now().UTC().Truncate(time.Second)
	w.visits.asks(v, seconds*time.Second)
	rw.Header().Set("Date", now.Format(http.TimeFormat))
	rw.Header().Set("Retry-After", now.Add(seconds*time.Second).Format(http.TimeFormat))
	rw.WriteHeader(http.StatusTooManyRequests)
	return true
}
