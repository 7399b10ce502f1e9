// Package discovery finds the pages of sites.
//
// It is a reader of the log of outcomes, like the brain and the webhooks. When a poll
// captured a page of a site, it reads its links; when it captured a sitemap or a feed, it
// reads what that lists. What is found goes on the shelf of the store. From there pages
// are taken one by one, as the budget has room for them, in an order that is a fair
// sample of the site. So nothing is fetched but by polls, which keep to the budget, the
// politeness and the robots.txt of the host.
//
// A place in the log is kept with what is known of each site. After a crash the outcomes
// since then are gone through again: to put a page on the shelf twice changes nothing.
package discovery
