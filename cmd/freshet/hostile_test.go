//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"freshet/client"
	"freshet/internal/test/hostile"
)

// TestAmongHostileServers has a daemon with few workers watch one hostile server of each
// kind and a few good pages. It checks what must hold, and not how long it takes: the
// good pages are polled and never fail, no hostile server gets a version, each of them
// fails for a reason that can be shown, and the daemon stays small and stops in time.
func TestAmongHostileServers(t *testing.T) {
	t.Parallel()
	beasts := hostile.Beasts()
	cage, err := hostile.Open(t.Context(), beasts, len(beasts))
	if err != nil {
		t.Fatal(err)
	}
	defer cage.Close()
	const pages = 20
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "<p>The page %s", r.URL.Path) }))
	defer good.Close()
	var config strings.Builder
	config.WriteString("memory: 256MB\nbudget: 1000/s\nworkers: 16\npolicy: uniform\nsource_gap: 500ms\nhosts: {delay: 0s, concurrency: 8}\n" +
		"fetch: {total: 15s, header_timeout: 3s, tls_timeout: 3s, body_idle: 3s}\nsources:\n")
	for i := range pages {
		fmt.Fprintf(&config, "  - {id: good%d, url: %q}\n", i, fmt.Sprintf("%s/%d", good.URL, i))
	}
	for i := range cage.Size() {
		fmt.Fprintf(&config, "  - {id: bad%d, url: %q}\n", i, cage.URL(i))
	}
	d := load(t, 0, config.String())
	var list []client.Source
	d.until(t, "a poll of each hostile server, and three of each good page", func(client.Status) bool {
		list = d.sources(t)
		for _, s := range list {
			if polls := s.Standing.Polls; polls == 0 || polls < 3 && strings.HasPrefix(string(s.ID), "good") {
				return false
			}
		}
		return len(list) == pages+cage.Size()
	})
	_, most := d.memory(t)
	took := d.stop(t)
	t.Logf("peak %s, SIGTERM to exit %v", mb(most), took.Round(time.Millisecond))
	for _, s := range list {
		bad := strings.HasPrefix(string(s.ID), "bad")
		switch failed := s.Standing.Failures > 0; {
		case failed != bad, bad == (s.Standing.Version > 0):
			t.Errorf("%s (%s) stands at %+v", s.ID, s.URL, s.Standing)
		case bad && strings.ContainsFunc(s.Standing.LastError.Message, unicode.IsControl):
			t.Errorf("%s fails with a message that cannot be shown: %q", s.ID, s.Standing.LastError.Message)
		}
	}
	if most > 400*megabyte*raceMemory {
		t.Errorf("the daemon took %s, want less than 400 MB", mb(most))
	}
	d.inTime(t, took)
	if said := d.log.String(); strings.ContainsFunc(said, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) || strings.Contains(said, "panic") {
		t.Error("the log has control characters or a panic")
	}
}

// sources returns the sources of the daemon.
func (d *loaded) sources(t *testing.T) []client.Source {
	t.Helper()
	resp, err := http.Get(d.url + "/api/v1/sources?limit=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page client.SourcePage
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		t.Fatalf("sources: %v", err)
	}
	return page.Items
}
