package worker_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/worker"
)

// A recording answers with pages that were fetched before, one after the other.
type recording struct {
	pages [][]byte
	turn  int
}

func (r *recording) Fetch(context.Context, freshet.Request) (freshet.Response, error) {
	r.turn++
	return freshet.Response{Status: 200, URL: "http://a.example/", MediaType: "text/html; charset=utf-8", Body: r.pages[r.turn%len(r.pages)], Header: http.Header{}}, nil
}

// record fetches the first versions of a page of 20 KiB.
func record(b *testing.B, versions int) *recording {
	server, err := synth.NewBench(b.Context(), synth.BenchConfig{Pages: 1, Changed: 1})
	if err != nil {
		b.Fatal(err)
	}
	go server.Run(b.Context())
	r := &recording{}
	for range versions {
		resp, err := http.Get(server.URL(0))
		if err != nil {
			b.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
		r.pages = append(r.pages, body)
	}
	return r
}

// BenchmarkLook measures what a look costs beside fetching: at a page for the first time, and
// at one that has changed.
func BenchmarkLook(b *testing.B) {
	pages := record(b, 24)
	h := worker.New(pages, nil)
	look := func(o worker.Task) *freshet.Capture {
		f := h.Look(b.Context(), o)
		if f.Capture == nil || f.Suspect != "" {
			b.Fatalf("%+v", f)
		}
		return f.Capture
	}
	first := worker.Task{Source: freshet.Source{ID: "page", URL: "http://a.example/"}, At: time.Now()}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			look(first)
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		c := look(first)
		for b.Loop() {
			o := first
			o.Head = freshet.Head{Number: 1, Hash: c.Hash, Recipe: c.Recipe}
			pastOf(&o).text = func(context.Context) ([]byte, error) { return c.Text, nil }
			pastOf(&o).body = func(context.Context) ([]byte, error) { return c.Raw.Body, nil }
			c = look(o)
		}
	})
}
