package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// BenchmarkStream tells every change to a crowd of clients. It reports the
// time for one change to have reached one client.
func BenchmarkStream(b *testing.B) {
	for _, clients := range []int{1, 10, 100, 500} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			r := newRig(b)
			r.watch("page")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var told, ended sync.WaitGroup
			for range clients {
				req, err := http.NewRequestWithContext(ctx, "GET", r.API.URL+"/api/v1/changes/stream", nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				ended.Go(func() {
					defer resp.Body.Close()
					stream := readSSE(bufio.NewScanner(resp.Body))
					for e, ok := stream.next(); ok; e, ok = stream.next() {
						if e.event != "" {
							told.Done()
						}
					}
				})
			}
			n := 0
			for b.Loop() {
				n++
				told.Add(clients)
				r.capture("page", n)
				told.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*clients), "ns/event")
			cancel()
			ended.Wait()
		})
	}
}
