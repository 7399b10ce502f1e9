package fetch

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"freshet/internal/freshet"
	"freshet/internal/lazyregexp"
)

// A page that sends browsers elsewhere at once is short, and does so within seconds. Longer ones are
// pages that show themselves or others in turn.
const (
	maxRefreshPage  = 16 << 10 // bytes
	maxRefreshDelay = 5        // seconds
)

// refreshContent matches the delay and the URL of a refresh.
var refreshContent = lazyregexp.New(`(?i)^\s*(\d+)[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?(.*)$`)

// inHead are the elements that stand before the content of a page.
var inHead = map[string]bool{
	"html": true, "head": true, "title": true, "meta": true, "link": true, "base": true, "script": true, "style": true, "noscript": true,
}

// refreshOf returns where a page sends browsers by <meta http-equiv="refresh">; "" if it does not.
func refreshOf(res freshet.Response) string {
	if res.Status != http.StatusOK || len(res.Body) > maxRefreshPage || !strings.Contains(strings.ToLower(res.MediaType), "html") {
		return ""
	}
	z := html.NewTokenizer(bytes.NewReader(res.Body))
	for hidden := false; ; { // from browsers that run scripts
		kind := z.Next()
		if kind == html.ErrorToken {
			return ""
		}
		t := z.Token()
		switch {
		case t.Data == "noscript":
			hidden = kind == html.StartTagToken
		case kind == html.StartTagToken && !inHead[t.Data]: // the content begins, with or without a tag for it
			return ""
		case t.Data == "meta" && !hidden && kind != html.EndTagToken:
			if to := refreshIn(t); to != "" {
				return to
			}
		}
	}
}

// refreshIn returns where a tag sends browsers.
func refreshIn(t html.Token) string {
	at := map[string]string{}
	for _, a := range t.Attr {
		at[a.Key] = a.Val
	}
	m := refreshContent.FindStringSubmatch(at["content"])
	if m == nil || !strings.EqualFold(strings.TrimSpace(at["http-equiv"]), "refresh") {
		return ""
	}
	if seconds, err := strconv.Atoi(m[1]); err != nil || seconds > maxRefreshDelay {
		return ""
	}
	return strings.Trim(m[2], " \t\r\n'\"")
}
