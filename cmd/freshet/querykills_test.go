//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/queries"
	"freshet/internal/test/kit"
)

// A killWorld is pages that change, and receivers that sometimes refuse.
type killWorld struct {
	*httptest.Server
	mu      sync.Mutex
	changes bool                  // pages go on to change
	settled map[string]int        // polls of each page since they stopped changing
	refuse  func(key string) bool // an event that comes for the first time
	down    bool                  // the bad receiver takes nothing
	bodies  map[string]string     // of events, by receiver and id
	taken   map[string]bool       // likewise
	wrong   []string
	sends   int
}

// killPages is how many pages a killWorld has.
const killPages = 4

// A heard is what a receiver reads in an event.
type heard struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
}

func newKillWorld(t *testing.T) *killWorld {
	w := &killWorld{changes: true, settled: map[string]int{}, bodies: map[string]string{}, taken: map[string]bool{}, refuse: func(string) bool { return false }}
	began, frozen := time.Now(), time.Duration(0)
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if r.Method == http.MethodGet {
			if w.changes {
				frozen = time.Since(began)
			} else {
				w.settled[r.URL.Path]++
			}
			n := int(frozen / (200 * time.Millisecond))
			fmt.Fprintf(rw, "<p>edition %d of %s</p><b>%d</b>", n, r.URL.Path, 10+n*7%13)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var e heard
		if err := json.Unmarshal(body, &e); err != nil {
			w.wrong = append(w.wrong, fmt.Sprintf("%s cannot be read: %v", body, err))
		}
		key := r.URL.Path + " " + e.ID
		if was, known := w.bodies[key]; known && was != string(body) {
			w.wrong = append(w.wrong, fmt.Sprintf("%s was sent as %s and as %s", key, was, body))
		}
		_, again := w.bodies[key]
		w.bodies[key] = string(body)
		w.sends++
		if r.URL.Path == "/bad" && w.down || !again && w.refuse(key) { // the second retry would come after minutes, unless all fail
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.taken[key] = true
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *killWorld) set(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// settings returns what the daemon is run with. Quiet hours begin in a minute and last for
// one.
func (w *killWorld) settings(data string) string {
	quiet := fmt.Sprintf("%s-%s", time.Now().UTC().Add(time.Minute).Format("15:04"), time.Now().UTC().Add(2*time.Minute).Format("15:04"))
	text := fmt.Sprintf(`data: %s
listen: 127.0.0.1:0
allow_cidr: [127.0.0.0/8]
budget: 40/s
source_gap: 0s
hosts: {delay: 0s}
policy: uniform
queries:
  - {name: any}
  - {name: digest, digest: 5}
  - {name: window, when: 'count("2s") > 2', value: 'count("2s")'}
  - {name: rate, rate: 3/5s}
  - {name: night, when: 'now.n > 15', quiet: "%s UTC", value: now.n}
sinks:
  - {name: good, kind: json, url: URL/good, queries: [any, digest, window, rate, night]}
  - {name: bad, kind: json, url: URL/bad, queries: [any, digest, window, rate, night]}
  - {name: raw, kind: json, url: URL/raw}
sources:
`, data, quiet)
	for n := range killPages {
		text += fmt.Sprintf("  - {id: p%d, url: URL/p%d, extract: {n: css b | number}}\n", n, n)
	}
	return strings.ReplaceAll(text, "URL", w.URL)
}

// start runs a daemon and returns its process, and where its API is.
func startKilled(t *testing.T, path string) (*exec.Cmd, string, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "freshet", "serve", "--config", path)
	log := &bytes.Buffer{}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4096)
	for text := ""; ; {
		n, err := out.Read(said)
		text += string(said[:n])
		if _, url, ok := strings.Cut(text, "listening on "); ok && strings.Contains(url, "\n") {
			go io.Copy(io.Discard, out)
			return cmd, strings.TrimSpace(strings.SplitN(url, "\n", 2)[0]), log
		}
		if err != nil {
			t.Fatalf("the daemon did not come up: %v\n%s", err, log)
		}
	}
}

// TestNoMatchIsLostOverKills kills the daemon again and again while queries with windows,
// digests, a rate and quiet hours are told to receivers of which some refuse. For a third of
// the kills, and again for the last ones, one of them takes nothing at all, so that retries
// and all that waits behind them cross many kills. KILLS says how often; make query-kills does
// it 200 times.
func TestNoMatchIsLostOverKills(t *testing.T) {
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	} else if testing.Short() {
		t.Skip("takes a while")
	}
	t.Parallel()
	w := newKillWorld(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "freshet.yaml")
	if err := os.WriteFile(path, []byte(w.settings(filepath.Join(dir, "data"))), 0o600); err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(1, uint64(kills)))
	w.set(func() {
		w.refuse = func(key string) bool { return strings.HasPrefix(key, "/bad ") && chance.IntN(3) == 0 }
	})
	for i := range kills {
		w.set(func() { w.down = i >= kills/3 && i < kills*2/3 || i >= kills-max(1, kills/10) })
		cmd, _, _ := startKilled(t, path)
		time.Sleep(time.Duration(chance.IntN(1500)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	w.set(func() { w.down = false })
	cmd, url, log := startKilled(t, path)
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	api := func(method, path string, body, into any) {
		t.Helper()
		var text bytes.Buffer
		if body != nil {
			json.NewEncoder(&text).Encode(body)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, &text)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
		}
	}
	sink := func(name string) (s client.SinkInfo) {
		api("GET", "/api/v1/sinks/"+name, nil, &s)
		return s
	}
	kit.Until(t, "a handful of changes, and matches of each query", func() bool {
		var status client.Status
		api("GET", "/api/v1/status", nil, &status)
		var all struct{ Items []client.Query }
		api("GET", "/api/v1/queries", nil, &all)
		none := slices.ContainsFunc(all.Items, func(q client.Query) bool { return q.Matches < 5 }) // of which a digest tells
		return status.LastChange.Cursor >= 30 && !none
	})
	w.set(func() { w.changes = false })
	kit.Until(t, "the last change of every page", func() (all bool) { // recorded before the page is polled again
		w.set(func() {
			all = true
			for n := range killPages {
				all = all && w.settled[fmt.Sprintf("/p%d", n)] > 1
			}
		})
		return all
	})
	var changes client.ChangesPage
	for after := "0"; ; {
		var page client.ChangesPage
		api("GET", "/api/v1/changes?limit=1000&after="+after, nil, &page)
		changes.Items = append(changes.Items, page.Items...)
		if after = page.Next.String(); len(page.Items) < 1000 {
			break
		}
	}
	delivered := map[string]int64{} // number of matches that are not held back, by query
	kit.Until(t, "the delivery of all matches", func() bool {
		var all struct{ Items []client.Query }
		api("GET", "/api/v1/queries", nil, &all)
		for _, q := range all.Items {
			delivered[q.ID] = q.Matches
			if q.Waiting != nil {
				delivered[q.ID] -= q.Waiting.Count
				if q.Waiting.For != string(queries.DelayDigest) {
					return false
				}
			}
		}
		return delivered["any"] == int64(len(changes.Items)) && sink("good").Standing.Open+sink("bad").Standing.Open+sink("raw").Standing.Open == 0
	})
	w.check(t, delivered, changes.Items)
	for _, q := range []client.QueryTest{{NewQuery: client.NewQuery{When: `count("2s") > 2`}}, {NewQuery: client.NewQuery{When: "now.n > 15"}}} {
		var found client.QueryFinding
		api("POST", "/api/v1/queries/test", q, &found)
		id := map[bool]string{true: "window", false: "night"}[strings.HasPrefix(q.When, "count")]
		if int64(found.Found) != delivered[id] {
			t.Errorf("query %s delivered %d matches over the kills, and has %d in one go", id, delivered[id], found.Found)
		}
	}
	t.Logf("%d kills: %d changes, matches %v, %d requests to receivers of which %d accepted events", kills, len(changes.Items), delivered, w.sends, len(w.taken))
}

// check holds what the receivers took against what was delivered.
func (w *killWorld) check(t *testing.T, delivered map[string]int64, changes []client.Change) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wrong := range w.wrong {
		t.Error(wrong)
	}
	for _, to := range []string{"/good", "/bad"} {
		numbers := map[string][]int64{}
		for key := range w.taken {
			if !strings.HasPrefix(key, to+" ") {
				continue
			}
			var e heard
			if err := json.Unmarshal([]byte(w.bodies[key]), &e); err != nil {
				t.Fatal(err)
			}
			if e.Query == "digest" && e.Last-e.First != 4 {
				t.Errorf("a digest of five has the matches %d to %d", e.First, e.Last)
			}
			for n := e.First; n <= e.Last; n++ {
				numbers[e.Query] = append(numbers[e.Query], n)
			}
		}
		for id, last := range delivered {
			slices.Sort(numbers[id])
			for i, n := range numbers[id] {
				if n != int64(i+1) {
					t.Errorf("%s was delivered match %d of %s as its number %d: one is lost, or delivered under two ids", to, n, id, i+1)
					break
				}
			}
			if int64(len(numbers[id])) != last || last == 0 {
				t.Errorf("%s was delivered %d of the %d matches of %s", to, len(numbers[id]), last, id)
			}
		}
	}
	for _, c := range changes {
		id := fmt.Sprintf("%s.%d~%s", c.Source, c.Seq, c.Cursor.Epoch)
		if !w.taken["/raw "+id] {
			t.Errorf("change %s was never delivered", id)
		}
	}
}
