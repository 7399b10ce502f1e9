package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
)

// A Site is what is known of a site, as the API tells it.
type Site struct {
	Source  Source     `json:"source" doc:"The source that stands for the site"`
	Begun   time.Time  `json:"begun_at,omitzero" doc:"When Freshet began to look for its pages"`
	Settled time.Time  `json:"settled_at,omitzero" doc:"When all known pages had been fetched once. Pages that are found later are reported as new"`
	Pages   SitePages  `json:"pages"`
	Indexes []Index    `json:"indexes" nullable:"false" doc:"Sitemaps, feeds and the robots.txt that list its pages"`
	Share   float64    `json:"share" doc:"Most of the budget that it uses"`
	Changed Estimate   `json:"changed" doc:"Share of the downloads of known pages that brought a change, of late"`
	Sampled float64    `json:"sampled" doc:"Downloads that this share is based on; older ones count less"`
	Copy    *Copy      `json:"copy,omitempty" doc:"How fresh the copy is; only from a running daemon"`
	LeftOut int        `json:"left_out,omitempty" doc:"Pages that were found beyond the limit"`
	Traps   []Trap     `json:"traps,omitempty" doc:"Endless parts of the site that are not followed"`
	Faults  []SiteFlaw `json:"problems,omitempty"`
}

// SitePages count the pages of a site.
type SitePages struct {
	Known    int `json:"known"`
	Waiting  int `json:"waiting" doc:"Never fetched"`
	Watched  int `json:"watched" doc:"Fetched, or about to be"`
	Gone     int `json:"gone" doc:"Not there any more"`
	Refused  int `json:"refused" doc:"Not wanted by robots.txt, by the page itself, or by you"`
	Covered  int `json:"covered" doc:"The same as another page or source"`
	Sitemaps int `json:"by_sitemaps" doc:"Found by sitemaps"`
	Feeds    int `json:"by_feeds" doc:"Found by feeds"`
	Links    int `json:"by_links" doc:"Found by links"`
}

// An Index is something that lists pages of a site.
type Index struct {
	ID     freshet.SourceID `json:"id"`
	URL    string           `json:"url"`
	Seen   time.Time        `json:"seen_at,omitzero" doc:"When it was last read"`
	Polls  int64            `json:"polls"`
	Errors string           `json:"error,omitempty" doc:"Why it cannot be read, if it cannot"`
	Trust  *IndexTrust      `json:"trust,omitempty" doc:"How reliable its announcements are; missing if there were none yet"`
}

// A Copy says how fresh our copy of a site is, as estimated.
type Copy struct {
	Fresh     Estimate `json:"fresh" doc:"Share of the fetched pages whose copy is up to date now"`
	Freshness float64  `json:"freshness" doc:"Expected share of time in which copies were up to date"`
	Age       Duration `json:"age" doc:"For which copies had been out of date, on average over time"`
}

// An IndexTrust says how far an index can be believed.
type IndexTrust struct {
	Kind     string  `json:"kind" enum:"sitemap,feed,hub" doc:"What the index is; hub: a page with links"`
	Told     float64 `json:"told" doc:"Estimated share of the changes of its pages that it announces"`
	BorneOut float64 `json:"borne_out" doc:"Estimated share of its announcements that are real"`
	Right    float64 `json:"right" doc:"How often it was right when a poll could check; older observations count less"`
	Times    float64 `json:"times" doc:"How often a poll could check; likewise"`
}

// A Trap is an endless part of a site.
type Trap struct {
	Where   string `json:"where"`
	Reason  string `json:"reason"`
	Example string `json:"example"`
	Cut     int    `json:"cut" doc:"Links that were not followed"`
}

// A SiteFlaw is something that is wrong with a site.
type SiteFlaw struct {
	At   time.Time `json:"at" doc:"When it was last seen"`
	URL  string    `json:"url"`
	Text string    `json:"problem"`
}

// A SitePage is one page of a site.
type SitePage struct {
	URL     string           `json:"url"`
	State   crawl.PageState  `json:"state" enum:"waiting,watched,gone,refused,covered"`
	Source  freshet.SourceID `json:"source,omitempty" doc:"ID of the source that watches it, or did"`
	Found   crawl.FoundBy    `json:"found_by" enum:"sitemaps,feeds,links"`
	Depth   int              `json:"depth,omitempty" doc:"Links away from the first page"`
	At      time.Time        `json:"found_at,omitzero"`
	LastMod time.Time        `json:"lastmod,omitzero" doc:"When it last changed, as an index says"`
	Listed  time.Time        `json:"listed_since,omitzero" doc:"Since when an index lists it"`
	Gone    time.Time        `json:"unlisted_since,omitzero" doc:"Since when no index lists it any more"`
	Seen    time.Time        `json:"seen_at,omitzero" doc:"When it was last fetched"`
	Changed time.Time        `json:"changed_at,omitzero" doc:"When its newest change was captured"`
	Version int              `json:"version,omitempty" doc:"Number of its newest version"`
}

// A PageOfPages is part of the list of the pages of a site.
type PageOfPages struct {
	Items []SitePage `json:"items" nullable:"false"`
	Next  *string    `json:"next" doc:"Pass this as after to get the next page; null on the last page"`
}

// Sites are the sources that stand for whole sites.
type Sites struct {
	endpoint
	lister[Site]
	getter[freshet.SourceID, Site]
}

// A SitePageQuery selects pages of a site. Its zero value selects all.
type SitePageQuery struct {
	State        crawl.PageState // only pages in this state
	ChangedSince time.Time       // only pages that changed since then
	Limit        int             // maximum number; zero means all
}

// Pages calls each with the pages of a site that a query selects.
func (r Sites) Pages(ctx context.Context, id freshet.SourceID, q SitePageQuery, each func(SitePage) error) error {
	asked := query{}
	asked.text("state", string(q.State))
	if !q.ChangedSince.IsZero() {
		asked.text("changed_since", q.ChangedSince.Format(time.RFC3339Nano))
	}
	for n := 0; ; {
		limit := 1000
		if q.Limit > 0 {
			limit = min(limit, q.Limit-n)
		}
		asked.number("limit", int64(limit))
		page, err := get[PageOfPages](ctx, r.c, r.at(string(id), "pages"), asked)
		if err != nil {
			return err
		}
		for _, p := range page.Items {
			if err := each(p); err != nil {
				return err
			}
		}
		if n += len(page.Items); page.Next == nil || q.Limit > 0 && n >= q.Limit {
			return nil
		}
		asked["after"] = []string{*page.Next}
	}
}
