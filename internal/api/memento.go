package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/freshet"
)

// The beginnings of the paths of Memento (RFC 7089). The URL of a page follows as it is.
const (
	timegatePath = "/timegate/"
	timemapPath  = "/timemap/link/"
	mementoPath  = "/memento/"
)

// mementoTime is the form of a time in the path of a memento.
const mementoTime = "20060102150405"

// mementosAtOnce is how many mementos a TimeMap lists. Older ones are in others.
const mementosAtOnce = 1000

// mementoPolicy keeps a stored page from running scripts and loading anything.
const mementoPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// A mementoAPI serves versions by the URL of the page and a time, as archives of the Web do. It knows only the
// sources that the caller may see, and says of all others that there is nothing.
type mementoAPI struct {
	*versionAPI
	sources interface {
		SourcesAt(ctx context.Context, urls []string) ([]freshet.SourceWithStatus, error)
	}
	normalize func(rawURL string) (string, error)
	base      string
}

func (a *mementoAPI) routes() {
	a.HandleFunc("GET "+timegatePath+"{url...}", a.answer(a.timegate))
	a.HandleFunc("GET "+timemapPath+"{url...}", a.answer(a.timemap))
	a.HandleFunc("GET "+mementoPath+"{time}/{url...}", a.answer(a.memento))
}

// plainURLs has the URL in a path of Memento taken as it is: without this, the slashes in it would be cleaned, and its
// query taken for that of the request. The secret of a share link is not part of it.
func plainURLs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		for _, prefix := range []string{timegatePath, timemapPath, mementoPath} {
			rest, ok := strings.CutPrefix(path, prefix)
			if !ok {
				continue
			}
			if prefix == mementoPath {
				at, page, _ := strings.Cut(rest, "/")
				prefix, rest = prefix+at+"/", page
			}
			to := *r.URL
			secret := ""
			if to.RawQuery != "" {
				rest, secret = splitShare(rest, to.RawQuery)
			}
			to.Path, to.RawPath, to.RawQuery = prefix+rest, prefix+url.PathEscape(rest), secret
			asked := *r
			asked.URL = &to
			r = &asked
			break
		}
		next.ServeHTTP(w, r)
	})
}

// splitShare returns the URL of a page with its query, and apart the parameter with the secret of a share link.
func splitShare(page, query string) (whole, secret string) {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		if strings.HasPrefix(part, auth.ShareParam+"=") {
			secret = part
		} else {
			kept = append(kept, part)
		}
	}
	if len(kept) > 0 {
		page += "?" + strings.Join(kept, "&")
	}
	return page, secret
}

// A mementoCall is a request about a page.
type mementoCall struct {
	http.ResponseWriter
	*http.Request
	page    string    // its URL, as the caller has written it
	until   time.Time // before which versions a TimeMap lists; zero means all
	root    string    // where the API is
	sources []freshet.SourceID
}

// answer finds the sources of the page that a request is about.
func (a *mementoAPI) answer(with func(*mementoCall) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &mementoCall{ResponseWriter: w, Request: r, page: r.PathValue("url"), root: a.base}
		if c.root == "" {
			c.root = "http://" + r.Host
			if r.TLS != nil {
				c.root = "https://" + r.Host
			}
		}
		err := a.find(c)
		if err == nil {
			err = with(c)
		}
		if err != nil {
			a.Problem(err).Write(w)
		}
	}
}

// find finds the sources that watch the page and that the caller may see.
func (a *mementoAPI) find(c *mementoCall) error {
	if text, page, ok := strings.Cut(c.page, "/"); ok && len(text) == len(mementoTime) {
		if until, err := time.Parse(mementoTime, text); err == nil {
			c.until, c.page = until, page
		}
	}
	if !strings.Contains(c.page, "://") {
		c.page = "http://" + c.page
	}
	urls := []string{c.page}
	if normal, err := a.normalize(c.page); err == nil {
		urls = append(urls, normal)
	}
	if u, err := url.Parse(c.page); err == nil && u.Path == "" {
		u.Path = "/"
		urls = append(urls, u.String())
	}
	found, err := a.sources.SourcesAt(c.Context(), slices.Compact(urls))
	if err != nil {
		return err
	}
	limit := auth.Of(c.Context()).Limit
	for _, w := range found {
		if (limit.Source == "" || limit.Source == w.ID) && (limit.Tag == "" || slices.Contains(w.Tags, limit.Tag)) && limit.Query == "" {
			c.sources = append(c.sources, w.ID)
		}
	}
	if len(c.sources) == 0 {
		return rest.NewProblem(http.StatusNotFound, "no versions of this page are stored, or you may not see them")
	}
	return nil
}

// at returns the version that was current at a time, or the oldest if none was.
func (a *mementoAPI) at(c *mementoCall, at time.Time) (best freshet.Version, err error) {
	for _, id := range c.sources {
		v, err := freshet.VersionAt(c.Context(), a.store, id, at)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return best, err
		}
		if err == nil && (best.Number == 0 || v.SeenAt.After(best.SeenAt)) {
			best = v
		}
	}
	if best.Number != 0 {
		return best, nil
	}
	for _, id := range c.sources {
		v, err := a.oldest(c.Context(), id)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return best, err
		}
		if err == nil && v.Number != 0 && (best.Number == 0 || v.SeenAt.Before(best.SeenAt)) {
			best = v
		}
	}
	if best.Number == 0 {
		return best, rest.NewProblem(http.StatusNotFound, "no versions of this page are stored, or you may not see them")
	}
	return best, nil
}

// timegate leads to the version that was current at the time of Accept-Datetime, or to the newest.
func (a *mementoAPI) timegate(c *mementoCall) error {
	at := time.Now().AddDate(100, 0, 0)
	c.ResponseWriter.Header().Set("Vary", "accept-datetime")
	if said := c.Request.Header.Get("Accept-Datetime"); said != "" {
		var err error
		if at, err = http.ParseTime(said); err != nil {
			return rest.NewProblem(http.StatusBadRequest, "Accept-Datetime is not a time such as Sun, 01 Mar 2026 12:00:00 GMT")
		}
		at = at.Add(time.Second - 1) // a memento is named by its second
	}
	v, err := a.at(c, at)
	if err != nil {
		return err
	}
	c.links(link(c.page, "original"), c.mapLink(), c.mementoLink(v, "memento"))
	http.Redirect(c.ResponseWriter, c.Request, c.mementoURL(v), http.StatusFound)
	return nil
}

// memento serves the version of a time, or leads to it.
func (a *mementoAPI) memento(c *mementoCall) error {
	at, err := time.Parse(mementoTime, c.PathValue("time"))
	if err != nil {
		return rest.Invalid("path.time", "is not a time such as 20260301120000", c.PathValue("time"))
	}
	v, err := a.at(c, at.Add(time.Second-1))
	if err != nil {
		return err
	}
	if !v.SeenAt.UTC().Truncate(time.Second).Equal(at) {
		http.Redirect(c.ResponseWriter, c.Request, c.mementoURL(v), http.StatusFound)
		return nil
	}
	if err := rest.Hold(c.Context(), v.RawBytes); err != nil {
		return err
	}
	raw, err := a.store.Raw(c.Context(), v.Source, v.Number)
	if err != nil {
		return err
	}
	h := c.ResponseWriter.Header()
	h.Set("Memento-Datetime", v.SeenAt.UTC().Format(http.TimeFormat))
	h.Set("Content-Type", cmp.Or(raw.Header.Get("Content-Type"), "application/octet-stream"))
	h.Set("Content-Security-Policy", mementoPolicy)
	c.links(link(c.page, "original"), link(c.root+timegatePath+c.page, "timegate"), c.mapLink(), c.mementoLink(v, "memento"))
	_, err = c.ResponseWriter.Write(raw.Body)
	return err
}

// timemap lists the versions of a page, the oldest first.
func (a *mementoAPI) timemap(c *mementoCall) error {
	var all []freshet.Version
	for _, id := range c.sources {
		some, err := a.store.Versions(c.Context(), id, freshet.Between{Until: c.until}, 0, mementosAtOnce+1)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return err
		}
		all = append(all, slices.DeleteFunc(some, func(v freshet.Version) bool { return v.Quiet == freshet.QuietSuspect })...)
	}
	if len(all) == 0 {
		return rest.NewProblem(http.StatusNotFound, "no versions of this page are stored, or you may not see them")
	}
	slices.SortFunc(all, func(a, b freshet.Version) int {
		return cmp.Or(a.SeenAt.Compare(b.SeenAt), cmp.Compare(a.Number, b.Number))
	})
	all = slices.CompactFunc(all, func(a, b freshet.Version) bool { return a.SeenAt.Unix() == b.SeenAt.Unix() }) // each has its second
	older := len(all) - mementosAtOnce
	all = all[max(0, older):]
	c.ResponseWriter.Header().Set("Content-Type", "application/link-format")
	list := []string{
		link(c.page, "original"), link(c.root+timegatePath+c.page, "timegate"),
		link(c.mapURL(c.until), "self", "type", "application/link-format", "from", httpTime(all[0].SeenAt), "until", httpTime(all[len(all)-1].SeenAt)),
	}
	if older > 0 {
		list = append(list, link(c.mapURL(all[0].SeenAt.Truncate(time.Second)), "timemap", "type", "application/link-format", "until", httpTime(all[0].SeenAt)))
	}
	for i, v := range all {
		rel := "memento"
		if i == len(all)-1 && c.until.IsZero() {
			rel = "last " + rel
		}
		if i == 0 && older <= 0 {
			rel = "first " + rel
		}
		list = append(list, c.mementoLink(v, rel))
	}
	_, err := c.ResponseWriter.Write([]byte(strings.Join(list, ",\n") + "\n"))
	return err
}

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

func (c *mementoCall) mementoURL(v freshet.Version) string {
	return c.root + mementoPath + v.SeenAt.UTC().Format(mementoTime) + "/" + c.page
}

func (c *mementoCall) mementoLink(v freshet.Version, rel string) string {
	return link(c.mementoURL(v), rel, "datetime", httpTime(v.SeenAt))
}

// mapURL returns the URL of the TimeMap of the versions before a time; the zero time means all.
func (c *mementoCall) mapURL(until time.Time) string {
	if until.IsZero() {
		return c.root + timemapPath + c.page
	}
	return c.root + timemapPath + until.UTC().Format(mementoTime) + "/" + c.page
}

func (c *mementoCall) mapLink() string {
	return link(c.mapURL(time.Time{}), "timemap", "type", "application/link-format")
}

func (c *mementoCall) links(list ...string) {
	c.ResponseWriter.Header().Set("Link", strings.Join(list, ", "))
}

// link returns a link as RFC 8288 has it, with attributes by name and value.
func link(to, rel string, attributes ...string) string {
	text := fmt.Sprintf("<%s>; rel=%q", strings.NewReplacer("<", "%3C", ">", "%3E", "\r", "", "\n", "").Replace(to), rel)
	for i := 0; i < len(attributes); i += 2 {
		text += fmt.Sprintf("; %s=%q", attributes[i], attributes[i+1])
	}
	return text
}
