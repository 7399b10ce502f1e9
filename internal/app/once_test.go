package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/diskfault"
	"freshet/internal/test/tier"
)

// A keyedWrite is a request that is sent with an idempotency key.
type keyedWrite struct {
	method, path, body string
	status             int
	look               []string // what shows its effect
}

var keyedWrites = []keyedWrite{
	{"POST", "/sources", `{"id":"b","url":"http://127.0.0.1:9/b"}`, 201, []string{"/sources", "/sources/b"}},
	{"POST", "/sources", `{"url":"http://127.0.0.1:9/c"}`, 201, []string{"/sources"}},
	{"PATCH", "/sources/a", `{"name":"other"}`, 200, []string{"/sources/a"}},
	{"DELETE", "/sources/a", "", 204, []string{"/sources/a", "/sources"}},
	{"DELETE", "/sources/a?purge=true", "", 204, []string{"/sources/a", "/sources"}},
	{"POST", "/queries", `{"name":"new","when":"true"}`, 201, []string{"/queries"}},
	{"PATCH", "/queries/q", `{"name":"other"}`, 200, []string{"/queries/q"}},
	{"DELETE", "/queries/q", "", 204, []string{"/queries/q"}},
	{"PUT", "/sinks/t", `{"kind":"webhook","url":"http://127.0.0.1:9/t","settings":{"unsigned":"true"}}`, 200, []string{"/sinks", "/sinks/t"}},
	{"PATCH", "/sinks/s", `{"url":"http://127.0.0.1:9/other"}`, 200, []string{"/sinks/s"}},
	{"DELETE", "/sinks/s", "", 204, []string{"/sinks/s"}},
	{"DELETE", "/sources/a/chances", "", 204, []string{"/sources/a/chances"}},
	{"PUT", "/sources/a/chances", `{"rate_per_day":2,"from":"2040-01-01T00:00:00Z","until":"2041-01-01T00:00:00Z"}`, 200, []string{"/sources/a/chances"}},
	{"POST", "/sources/bulk", `{"ids":["a"],"action":"tag","tag":"x"}`, 200, []string{"/sources?tag=x"}},
	{"PATCH", "/settings", `{"set":{"budget":"30/m"}}`, 200, nil},
}

// A crash comes between any two commits that a request makes. Sent again with its key after a restart, the
// request has its effect once and the answer that it would have had, and never stays refused.
func TestACrashBetweenTheCommitsOfARequest(t *testing.T) {
	tier.Slow(t, "it starts many nodes")
	t.Parallel()
	for _, w := range keyedWrites {
		t.Run(w.method+" "+w.path+" "+w.body, func(t *testing.T) {
			want := crashedRequest(t, w, -1)
			if want.cut {
				t.Fatal("the disk failed where it was not to")
			}
			for commits := range 10 {
				got := crashedRequest(t, w, commits)
				if got.answer != want.answer || got.effect != want.effect {
					t.Errorf("after a crash behind %d commits it is answered with %s and leaves\n%s\nwant %s and\n%s", commits, got.answer, got.effect, want.answer, want.effect)
				}
				if !got.cut {
					return
				}
			}
			t.Error("it has no end")
		})
	}
}

// What a request came to.
type cameTo struct {
	cut            bool // its first answer says that it failed
	answer, effect string
}

// crashedRequest sends a request to a node whose disk fails after so many commits, starts the node again and
// sends the request again. With less than zero commits the disk does not fail.
func crashedRequest(t *testing.T, k keyedWrite, commits int) (c cameTo) {
	disk, err := diskfault.NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	s := settings(t)
	s.Policy, s.NoSearch = "uniform", true
	api, end := serveOn(t, s, disk.VFS())
	for path, body := range map[string]string{
		"PUT /sinks/s":  `{"kind":"webhook","url":"http://127.0.0.1:9/s","settings":{"unsigned":"true"}}`,
		"POST /queries": `{"id":"q","name":"q","when":"true"}`, "POST /sources": `{"id":"a","url":"http://127.0.0.1:9/a","paused":true}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		if status, text, _ := api.send(method, path, body, ""); status >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
	}
	var synced atomic.Int64
	if commits >= 0 {
		disk.SetHook(func(call diskfault.Call) error {
			switch {
			case !strings.HasSuffix(call.Path, "-wal"):
			case call.Op == diskfault.Write && synced.Load() >= int64(commits):
				return errors.New("the machine is off")
			case call.Op == diskfault.Sync:
				synced.Add(1)
			}
			return nil
		})
	}
	status, _, _ := api.send(k.method, k.path, k.body, "key")
	c.cut = status != k.status || synced.Load() >= int64(commits) && commits >= 0
	_ = end() // it cannot write what it has in memory
	disk.SetHook(nil)

	api, end = serveOn(t, s, "")
	status, text, header := api.send(k.method, k.path, k.body, "key")
	c.answer = fmt.Sprint(status, " ", header.Get("ETag"), " ", drawnID.ReplaceAllString(header.Get("Location"), "drawn"), " ", thingIn(text))
	for _, path := range k.look {
		status, text, header := api.send("GET", path, "", "")
		c.effect += fmt.Sprintln(path, status, header.Get("ETag"), thingIn(text))
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	return c
}

// drawnID finds the random ID of a source.
var drawnID = regexp.MustCompile(`\b[a-z2-7]{10}\b`)

// thingIn returns what an answer is of, without times.
func thingIn(text string) string {
	var one struct {
		ID, Name, Title, URL, Budget string
		Tags                         []string
		Items                        []struct {
			ID, Name, URL string
			Tags          []string
		}
	}
	_ = json.Unmarshal([]byte(text), &one) // some are empty
	sort.Slice(one.Items, func(i, j int) bool { return one.Items[i].URL < one.Items[j].URL })
	return drawnID.ReplaceAllString(fmt.Sprintf("%+v", one), "drawn")
}

// A calledAPI is the API of a node.
type calledAPI struct {
	t   *testing.T
	url string
}

func (a calledAPI) send(method, path, body, key string) (status int, text string, header http.Header) {
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, string(said), resp.Header
}

// serveOn serves a node with its store on a disk, until the function is called.
func serveOn(t *testing.T, s config.Settings, vfs string) (calledAPI, func() error) {
	there, ended := make(chan string, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ended <- app.Serve(ctx, s, app.ServeConfig{
			Load: func() (config.Settings, error) { return s, nil }, Store: sqlite.Config{VFS: vfs}, Grace: 20 * time.Second,
			Announce: func(url string) error { there <- url; return nil },
		})
	}()
	end := sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = end() }) // a test that goes so far looks itself
	select {
	case url := <-there:
		return calledAPI{t, url}, end
	case err := <-ended:
		cancel()
		t.Fatalf("a node does not start: %v", err)
		return calledAPI{}, nil
	}
}
