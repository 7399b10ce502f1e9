package auth_test

import (
	"net/http"
	"testing"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
)

func TestOffered(t *testing.T) {
	tests := []struct{ name, link, body, hub, self string }{
		{"nothing", "", `<feed><entry/></feed>`, "", ""},
		{"an Atom feed", "", `<feed><link rel="hub" href="https://hub.example/"/><link rel="self" href="/f"/></feed>`, "https://hub.example/", "https://a.example/f"},
		{"an RSS feed", "", `<rss><channel><atom:link href="https://hub.example/" rel="hub"/>`, "https://hub.example/", "https://a.example/feed"},
		{"a header", `<https://hub.example/>; rel="hub", <https://a.example/x>; rel=self`, `<feed/>`, "https://hub.example/", "https://a.example/x"},
		{"a link in an item", "", `<feed><entry><link rel="hub" href="https://hub.example/"/></entry></feed>`, "", ""},
		{"a page", "", `<html><link rel="hub" href="https://hub.example/">`, "", ""},
	}
	for _, tt := range tests {
		resp := freshet.Response{URL: "https://a.example/feed", Header: http.Header{}, Body: []byte(tt.body)}
		if tt.link != "" {
			resp.Header.Set("Link", tt.link)
		}
		if hub, self := auth.Offered(resp); hub != tt.hub || self != tt.self {
			t.Errorf("%s: the hub is %q and the feed %q", tt.name, hub, self)
		}
	}
}

func FuzzOffered(f *testing.F) {
	f.Add(`<a>; rel=hub`, `<feed><link rel="hub" href="b"/></feed>`)
	f.Add(`<<<>;;;rel="`, `<rss><link <`)
	f.Fuzz(func(t *testing.T, link, body string) {
		hub, self := auth.Offered(freshet.Response{URL: "https://a.example/", Header: http.Header{"Link": {link}}, Body: []byte(body)})
		if hub != "" && self == "" {
			t.Errorf("%q, %q: a hub %q without a feed", link, body, hub)
		}
	})
}
