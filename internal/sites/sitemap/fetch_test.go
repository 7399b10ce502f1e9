package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sites/sitemap"
)

// client returns a client that may reach the servers of tests, and reads lists as large
// as the protocol allows.
func client() *fetch.Client {
	return fetch.New(fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, WireBytes: 64 << 20, DecodedBytes: 64 << 20})
}

// follow fetches a list and reads it.
func follow(t *testing.T, c *fetch.Client, url string) (all []sitemap.Entry, s sitemap.Summary, err error) {
	t.Helper()
	resp, err := c.Fetch(t.Context(), freshet.Request{URL: url})
	if err != nil {
		return nil, s, err
	}
	s, err = sitemap.Read(bytes.NewReader(resp.Body), sitemap.Options{Base: resp.URL}, func(e sitemap.Entry) error {
		all = append(all, e)
		return nil
	})
	return all, s, err
}

// What hostile servers send as a sitemap ends in bounded time: it is read, or refused
// with the reason.
func TestHostileServers(t *testing.T) {
	const entries = 230_000 // 52 MB
	mux := http.NewServeMux()
	mux.HandleFunc("/large.xml", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, large(entries)) })
	mux.HandleFunc("/large.xml.gz", func(w http.ResponseWriter, _ *http.Request) {
		z := gzip.NewWriter(w)
		_, _ = io.Copy(z, large(sitemap.MaxEntries))
		_ = z.Close()
	})
	mux.HandleFunc("/entities.xml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><urlset><url><loc>https://a.example/&b;</loc></url></urlset>`)
	})
	bomb := func(w io.Writer) {
		z := gzip.NewWriter(w)
		_, _ = io.Copy(z, io.MultiReader(strings.NewReader("<urlset"+ns+">"), &pattern{text: "<url><loc>https://a.example/</loc></url>", left: 20 << 20}))
		_ = z.Close()
	}
	mux.HandleFunc("/bomb.xml.gz", func(w http.ResponseWriter, _ *http.Request) { bomb(w) })
	mux.HandleFunc("/bomb.xml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		bomb(w)
	})
	mux.HandleFunc("/endless.xml", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, io.MultiReader(strings.NewReader("<urlset"+ns+">"), &pattern{text: "<url><loc>https://a.example/</loc></url>", left: 1 << 40}))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c := client()
	defer c.CloseIdle()

	tests := []struct {
		path    string
		pages   int
		refused func(error) bool
	}{
		{"/large.xml", entries, nil},
		{"/large.xml.gz", sitemap.MaxEntries, nil},
		{"/entities.xml", 0, func(err error) bool { return errors.Is(err, sitemap.ErrEntities) }},
		{"/bomb.xml.gz", 0, func(err error) bool { return errors.Is(err, sitemap.ErrBomb) }},
		{"/bomb.xml", 0, func(err error) bool { return failureClass(err) == failure.LargeDecoded }},
		{"/endless.xml", 0, func(err error) bool { return failureClass(err) == failure.LargeWire }},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			all, s, err := follow(t, c, server.URL+tt.path)
			if tt.refused != nil {
				if err == nil || !tt.refused(err) {
					t.Errorf("%d entries, %v", len(all), err)
				}
				return
			}
			if err != nil || len(all) != tt.pages || !s.Complete {
				t.Errorf("%d entries, %+v, %v", len(all), s, err)
			}
		})
	}
}

// failureClass returns the class of a failed fetch.
func failureClass(err error) failure.Class {
	var f *freshet.FetchError
	if errors.As(err, &f) {
		return f.Class
	}
	return ""
}

// A list that names private addresses is read; it is the way out that refuses them.
func TestPrivateAddressesAreRefused(t *testing.T) {
	var inside atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/sitemap.xml" {
			inside.Add(1)
			return
		}
		fmt.Fprintf(w, "<sitemapindex%s><sitemap><loc>http://%s/inside.xml</loc></sitemap><sitemap><loc>http://169.254.169.254/latest</loc></sitemap><sitemap><loc>http://[::ffff:10.0.0.1]/x</loc></sitemap><sitemap><loc>file:///etc/passwd</loc></sitemap></sitemapindex>", ns, r.Host)
	}))
	defer server.Close()
	c := client()
	defer c.CloseIdle()
	all, _, err := follow(t, c, server.URL+"/sitemap.xml")
	if err != nil || len(all) != 4 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	guarded := fetch.New(fetch.Config{}) // as a daemon is that nobody has opened anything for
	defer guarded.CloseIdle()
	for _, e := range all {
		if _, err := guarded.Fetch(t.Context(), freshet.Request{URL: e.URL}); err == nil {
			t.Errorf("%s may be fetched", e.URL)
		}
	}
	if inside.Load() > 0 {
		t.Error("a private address was reached")
	}
}

// An index that lists itself, or ten thousand others, costs whoever follows it no more
// than the follower allows: each is one entry, and none is fetched by reading.
func TestNestedSitemaps(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		fmt.Fprintf(w, "<sitemapindex%s><sitemap><loc>http://%s%s</loc></sitemap>", ns, r.Host, r.URL.Path)
		for i := range 10_000 {
			fmt.Fprintf(w, "<sitemap><loc>http://%s/%d%s</loc></sitemap>", r.Host, i, r.URL.Path)
		}
		fmt.Fprint(w, "</sitemapindex>")
	}))
	defer server.Close()
	c := client()
	defer c.CloseIdle()
	all, s, err := follow(t, c, server.URL+"/sitemap.xml")
	if err != nil || s.Sitemaps != 10_001 || !s.Complete || !all[0].Sitemap || all[0].URL != server.URL+"/sitemap.xml" {
		t.Fatalf("%d entries, %+v, %v", len(all), s, err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A server that sends a list a byte at a time and hangs is given up, not waited for.
func TestSlowServer(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<urlset"+ns+"><url><loc>https://a.example/1</loc></url>")
		w.(http.Flusher).Flush()
		<-hang
	}))
	defer server.Close()
	defer close(hang)
	c := fetch.New(fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, BodyIdle: 200 * time.Millisecond})
	defer c.CloseIdle()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if _, err := c.Fetch(ctx, freshet.Request{URL: server.URL}); err == nil || ctx.Err() != nil {
		t.Errorf("%v", err)
	}
}
