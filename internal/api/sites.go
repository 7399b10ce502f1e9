package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/mask"
	"freshet/internal/sites/discovery"
	"freshet/internal/sites/frontier"
)

// siteAPI serves whole sites and their pages.
type siteAPI struct {
	*rest.Server
	store    discovery.Store
	frontier *frontier.Store
	daemon   *daemon.Daemon
}

func (a *siteAPI) routes() {
	a.routeSites()
}

func (a *siteAPI) routeSites() {
	tags := []string{"sites"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-sites", Method: http.MethodGet, Path: "/api/v1/sites", Tags: tags,
		Summary: "List the sites", Description: "A site is a source with the field site; see POST /api/v1/sources.",
	}, a.listSites)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-site", Method: http.MethodGet, Path: "/api/v1/sites/{id}", Tags: tags,
		Summary: "Show a site with its pages by state, indexes, change rates and freshness",
	}, a.getSite)
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-site-pages", Method: http.MethodGet, Path: "/api/v1/sites/{id}/pages", Tags: tags,
		Summary: "List the pages of a site",
	}, a.listSitePages)
}

type sites struct {
	Items []client.Site `json:"items" nullable:"false"`
	Next  string        `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

func (a *siteAPI) listSites(ctx context.Context, in *rest.Paging) (*rest.Body[sites], error) {
	all := sites{Items: []client.Site{}}
	ids, err := a.siteIDs(ctx)
	if err != nil {
		return nil, err
	}
	ids, all.Next = rest.Page(*in, ids, func(id freshet.SourceID) string { return string(id) })
	for _, id := range ids {
		s, err := a.describeSite(ctx, id)
		if errors.Is(err, freshet.ErrNotFound) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, s)
	}
	return rest.Reply(all), nil
}

// siteIDs returns which sites there are. A daemon at work knows without looking.
func (a *siteAPI) siteIDs(ctx context.Context) (ids []freshet.SourceID, err error) {
	for _, s := range a.daemon.Sites() {
		ids = append(ids, s.ID)
	}
	if len(ids) > 0 {
		return ids, nil
	}
	for w, err := range a.store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Site != nil {
			ids = append(ids, w.ID)
		}
	}
	return ids, nil
}

type siteInput struct {
	ID freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source that stands for the site"`
}

func (a *siteAPI) getSite(ctx context.Context, in *siteInput) (*rest.Body[client.Site], error) {
	s, err := a.describeSite(ctx, in.ID)
	if err != nil {
		return nil, a.ofSite(ctx, in.ID, err)
	}
	return rest.Reply(s), nil
}

// ofSite says of a source that is no site that it is none.
func (a *siteAPI) ofSite(ctx context.Context, id freshet.SourceID, err error) error {
	if !errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	if _, known := a.store.Source(ctx, id); known != nil {
		return rest.OfSource(id, err)
	}
	p := rest.NewProblem(http.StatusNotFound, string(id)+" is a single page and not a site")
	p.Hint = "freshet add --site URL adds a site"
	return p
}

// describeSite returns what is known of a site.
func (a *siteAPI) describeSite(ctx context.Context, id freshet.SourceID) (client.Site, error) {
	r, err := discovery.Describe(ctx, a.store, a.frontier, id)
	if err != nil {
		return client.Site{}, err
	}
	c := r.Pages
	s := client.Site{
		Source: sourceOf(r.Site), Begun: r.Begun.UTC(), Settled: r.Settled.UTC(), Indexes: []client.Index{}, Share: r.Site.Site.Portion(),
		Pages: client.SitePages{
			Known: c.Known(), Waiting: c.Waiting, Watched: c.Watched, Gone: c.Gone, Refused: c.Refused, Covered: c.Covered,
			Sitemaps: c.Sitemaps, Feeds: c.Feeds, Links: c.Links,
		},
		Changed: estimateOf(r.Changed), Sampled: r.Downloads, LeftOut: r.Over,
	}
	trusts := a.trustsOf(ctx, id)
	for _, index := range r.Indexes {
		s.Indexes = append(s.Indexes, client.Index{
			ID: index.ID, URL: mask.URL(index.URL), Seen: index.Status.Seen.UTC(), Polls: index.Status.Polls, Errors: index.Status.Err,
			Trust: trusts[index.ID],
		})
	}
	for _, t := range r.Traps {
		s.Traps = append(s.Traps, client.Trap{Where: t.Where, Reason: t.Reason, Example: mask.URL(t.Example), Cut: t.Cut})
	}
	for _, p := range r.Problems {
		s.Faults = append(s.Faults, client.SiteFlaw{At: p.At.UTC(), URL: mask.URL(p.URL), Text: p.Text})
	}
	s.Copy = a.copyOf(ctx, id)
	return s, nil
}

// trustsOf returns how reliable the indexes of a site are; nil if that is not known.
func (a *siteAPI) trustsOf(ctx context.Context, id freshet.SourceID) map[freshet.SourceID]*client.IndexTrust {
	ctx, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	found, err := a.daemon.IndexTrusts(ctx, id)
	if err != nil {
		return nil
	}
	trusts := map[freshet.SourceID]*client.IndexTrust{}
	for id, t := range found {
		trusts[id] = &client.IndexTrust{Kind: t.Kind.String(), Told: t.Told, BorneOut: t.BorneOut, Right: t.Right, Times: t.Times}
	}
	return trusts
}

// copyOf returns how fresh the copy of a site is; nil if that is not known.
func (a *siteAPI) copyOf(ctx context.Context, id freshet.SourceID) *client.Copy {
	ctx, cancel := context.WithTimeout(ctx, loopPatience)
	defer cancel()
	n, err := a.daemon.Numbers(ctx, daemon.NumbersQuery{Site: id})
	seen := float64(n.All.Sources - n.All.Unseen)
	if err != nil || seen <= 0 {
		return nil
	}
	const nineInTen = 1.645 // standard deviations either way
	off := nineInTen * math.Sqrt(n.All.Spread) / seen
	fresh := n.All.Fresh / seen
	return &client.Copy{
		Fresh:     client.Estimate{Mean: fresh, Low: max(0, fresh-off), High: min(1, fresh+off)},
		Freshness: n.All.Freshness(), Age: rounded(n.All.MeanAge()),
	}
}

type listSitePagesInput struct {
	ID           freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source that stands for the site"`
	State        string           `query:"state" enum:"waiting,watched,gone,refused,covered" doc:"Only pages in this state"`
	ChangedSince time.Time        `query:"changed_since" doc:"Only pages whose newest change was captured since then"`
	After        int64            `query:"after" minimum:"0" doc:"Continue after this place: the next of the previous page"`
	Limit        int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
}

func (a *siteAPI) listSitePages(ctx context.Context, in *listSitePagesInput) (*rest.Body[client.PageOfPages], error) {
	w, err := a.store.Source(ctx, in.ID)
	if err == nil && w.Site == nil {
		err = freshet.ErrNotFound
	}
	if err != nil {
		return nil, a.ofSite(ctx, in.ID, err)
	}
	page := client.PageOfPages{Items: []client.SitePage{}}
	limit, last := min(in.Limit, rest.MaxPage), int64(0)
	for p, err := range a.frontier.Pages(ctx, in.ID, frontier.Query{State: crawl.PageState(in.State), After: in.After}) {
		if err != nil {
			return nil, err
		}
		told, err := a.sitePage(ctx, p)
		if err != nil {
			return nil, err
		}
		if !in.ChangedSince.IsZero() && !told.Changed.After(in.ChangedSince) {
			continue
		}
		if len(page.Items) == limit {
			next := strconv.FormatInt(last, 10)
			page.Next = &next
			break
		}
		page.Items, last = append(page.Items, told), p.Place
	}
	return rest.Reply(page), nil
}

// sitePage returns a page of a site as the API tells it.
func (a *siteAPI) sitePage(ctx context.Context, p frontier.Page) (client.SitePage, error) {
	told := client.SitePage{
		URL: mask.URL(p.URL), State: p.State, Source: p.Source, Found: p.Found, Depth: p.Depth, At: p.Seen.UTC(),
		LastMod: p.Date.UTC(), Listed: p.Listed.UTC(), Gone: p.Gone.UTC(),
	}
	if p.Source == "" {
		return told, nil
	}
	w, err := a.store.Source(ctx, p.Source)
	if errors.Is(err, freshet.ErrNotFound) {
		w, err = a.store.RemovedSource(ctx, p.Source)
	}
	if errors.Is(err, freshet.ErrNotFound) { // purged
		return told, nil
	}
	told.Seen, told.Changed, told.Version = w.Status.Seen.UTC(), w.Status.ChangedAt.UTC(), w.Status.Head.Number
	return told, err
}

// mostMeasured is how many sites have metrics of their own.
const mostMeasured = 100

// gauges reports how things stand with each site as metrics.
func (a *siteAPI) gauges(ctx context.Context, set setGauge) {
	all := a.daemon.Sites()
	if len(all) == 0 {
		return
	}
	pages := gauge("freshet_site_pages", "Pages of a site by state.", "site", "state")
	changed := gauge("freshet_site_change_ratio", "Share of the downloads of known pages of a site that brought a change, of late.", "site")
	for _, s := range all[:min(len(all), mostMeasured)] {
		r, err := discovery.Describe(ctx, a.store, a.frontier, s.ID)
		if err != nil {
			continue // it was removed just now
		}
		c := r.Pages
		for state, n := range map[crawl.PageState]int{
			crawl.PageWaiting: c.Waiting, crawl.PageWatched: c.Watched, crawl.PageGone: c.Gone, crawl.PageRefused: c.Refused, crawl.PageCovered: c.Covered,
		} {
			set(pages, float64(n), string(s.ID), string(state))
		}
		if r.Downloads >= 1 {
			set(changed, r.Changed.Mean, string(s.ID))
		}
	}
	n, err := a.daemon.Numbers(ctx, daemon.NumbersQuery{By: daemon.BySite})
	if err != nil {
		return
	}
	fresh := gauge("freshet_site_fresh_ratio", "Expected share of the fetched pages of a site whose copy is up to date now.", "site")
	age := gauge("freshet_site_age_seconds", "For how long copies of pages of a site have been out of date, on average over time.", "site")
	for _, g := range n.Groups[:min(len(n.Groups), mostMeasured)] {
		if seen := float64(g.Sources - g.Unseen); seen > 0 {
			set(fresh, g.Fresh/seen, g.Name)
			set(age, g.MeanAge().Seconds(), g.Name)
		}
	}
}
