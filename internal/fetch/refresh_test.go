package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// A short page that sends browsers elsewhere at once is a redirect, as to limits and permission, too. Other
// pages are what they are.
func TestRefresh(t *testing.T) {
	head := ""
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, head)
		case "/back":
			fmt.Fprint(w, `<meta http-equiv=refresh content="0;url=/">back`)
		case "/loop":
			fmt.Fprintf(w, `<meta http-equiv=refresh content="0;url=/loop?%sx">%s`, r.URL.RawQuery, r.URL.RawQuery)
		default:
			fmt.Fprint(w, "at "+r.RequestURI)
		}
	})
	const refresh = `<head><meta content="%s" http-equiv="Refresh"></head><body>here`
	for _, tt := range []struct{ page, want string }{
		{fmt.Sprintf(refresh, "0; url=/next"), "at /next"},
		{fmt.Sprintf(refresh, "3;URL='/a b?c=d'"), "at /a%20b?c=d"},
		{fmt.Sprintf(refresh, "0,next"), "at /next"},
		{fmt.Sprintf(refresh, "0"), "here"},
		{fmt.Sprintf(refresh, "6; url=/next"), "here"},
		{fmt.Sprintf(refresh, "99999999999999999999; url=/next"), "here"},
		{fmt.Sprintf(refresh, "0; url=/#top"), "here"},
		{fmt.Sprintf(refresh, "0; url=http://intranet/"), "here"},
		{fmt.Sprintf(refresh, "0; url=javascript:x"), "here"},
		{fmt.Sprintf(refresh, "0; url=/back"), "back"},
		{fmt.Sprintf(refresh, "0; url=/loop"), "xxxx"},
		{"<noscript>" + fmt.Sprintf(refresh, "0; url=/next") + "</noscript>", "here"},
		{"<body>" + fmt.Sprintf(refresh, "0; url=/next"), "here"},
		{fmt.Sprintf(refresh, "0; url=/next") + strings.Repeat(" ", 16<<10), "here"},
	} {
		head = tt.page
		asked := 0
		res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url, Leave: func(context.Context, freshet.Hop) error { asked++; return nil }})
		if err != nil || !strings.HasSuffix(strings.TrimSpace(strings.ReplaceAll(string(res.Body), "</noscript>", "")), tt.want) {
			t.Errorf("%.100s is %.80q: %v", tt.page, res.Body, err)
		}
		if asked != res.Requests || (asked > 1) != (res.URL != url) {
			t.Errorf("%.100s: %d of %d requests were permitted, and it landed on %s", tt.page, asked, res.Requests, res.URL)
		}
	}
	head = fmt.Sprintf(refresh, "0; url=/next")
	if res, err := newClient(t, fetch.Config{Redirects: -1}).Fetch(t.Context(), freshet.Request{URL: url}); err != nil || !strings.HasSuffix(string(res.Body), "here") {
		t.Errorf("without redirects it is %q: %v", res.Body, err)
	}
}
