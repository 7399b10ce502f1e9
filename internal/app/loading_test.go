package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/diskfault"
)

// get returns the status and the text of an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// held returns a disk whose writes hang once so many bytes have been written,
// until the test is over. The store in dir is then waited for.
func held(t *testing.T, dir string, bytes int64) (vfs string) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err == nil {
		err = store.Close() // its tables are there: what is written from now on is sources
	}
	d, also := diskfault.NewFiles()
	if err := errors.Join(err, also); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	t.Cleanup(func() {
		close(gate)
		for { // whoever hung is still at work
			store, err := sqlite.Open(context.Background(), sqlite.Config{Features: features.All(), Dir: dir})
			if errors.Is(err, freshet.ErrBusy) {
				<-time.After(10 * time.Millisecond)
				continue
			}
			if err := errors.Join(err, store.Close(), d.Close()); err != nil {
				t.Error(err)
			}
			return
		}
	})
	var written atomic.Int64
	d.SetHook(func(c diskfault.Call) error {
		if c.Op == diskfault.Write && written.Add(int64(c.Size)) > bytes {
			<-gate
		}
		return nil
	})
	return d.VFS()
}

func listed(n int) (list []freshet.Source) {
	for i := range n {
		list = append(list, freshet.Source{ID: freshet.SourceID(fmt.Sprint("page", i)), URL: fmt.Sprintf("http://127.0.0.1:9/%d", i)})
	}
	return list
}

// The API is served while the sources of the file are taken on, says how far
// that is, and a stop in the midst of it is in time although the disk hangs.
func TestServesWhileItLoads(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.File, s.Sources = "freshet.yaml", freshet.PackSources(listed(3000)...)
	vfs := held(t, s.Data, 400<<10)
	begun, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		ended <- app.Serve(ctx, s, app.ServeConfig{
			Store: sqlite.Config{VFS: vfs}, Grace: 2 * time.Second,
			Announce: func(url string) error { begun <- url; return nil },
		})
	}()
	var url string
	select {
	case url = <-begun:
	case err := <-ended:
		t.Fatalf("serving ended at once with %v", err)
	}
	if status, _ := get(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("healthz says %d while sources are loaded", status)
	}
	status, text := get(t, url+"/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "of 3000") {
		t.Errorf("while sources are loaded readyz says %d %s", status, text)
	}
	st, err := client.New(url, http.DefaultClient.Do).Status(t.Context())
	if err != nil || st.Loading == nil || st.Loading.Of != 3000 || st.Loading.Done == 0 || st.Loading.Done == 3000 {
		t.Errorf("while sources are loaded the status is %+v, %v", st.Loading, err)
	}
	asked := time.Now()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serving ended with %v", err)
	}
	if took := time.Since(asked); took > 5*time.Minute { // the disk hangs until the test is over
		t.Errorf("with a disk that hangs the stop took %v, want about the grace of 2s", took)
	}
}

// A list that is loaded is all there in the end, and a reload in the midst of it
// counts more than the list that it replaces.
func TestReloadsWhileItLoads(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.File, s.Sources = "freshet.yaml", freshet.PackSources(listed(2000)...)
	next := s
	next.Sources = freshet.PackSources(listed(2010)[10:]...)
	c, url, _ := serve(t, s, app.ServeConfig{Load: func() (config.Settings, error) { return next, nil }})
	if err := c.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Sources != 2000 || st.Loading != nil {
		t.Errorf("after the reload there are %d sources (%+v, %v), want 2000", st.Sources, st.Loading, err)
	}
	if _, err := c.Sources.Get(t.Context(), "page0"); err == nil {
		t.Error("a source of the first list alone is still there")
	}
	if _, err := c.Sources.Get(t.Context(), "page2009"); err != nil {
		t.Errorf("a source of the second list alone: %v", err)
	}
	if status, text := get(t, url+"/readyz"); status != http.StatusOK {
		t.Errorf("all is loaded, and readyz says %d %s", status, text)
	}
}
