package fetch_test

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/test/hostile"
	"freshet/internal/test/kit"
)

// After polls of hostile servers nothing of them is left in the program, though the servers keep
// their side open, once the idle connections are closed.
func TestHostileServersKeepNoGoroutines(t *testing.T) {
	beasts := append(hostile.Beasts(), hostile.Beast{ID: "upgrade", Harm: "switches protocols and keeps the connection", Talk: func(conn net.Conn) {
		b := make([]byte, 4096)
		if _, err := conn.Read(b); err != nil {
			return
		}
		if _, err := conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")); err != nil {
			return
		}
		for {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	}})
	cage, err := hostile.Open(t.Context(), beasts, len(beasts))
	if err != nil {
		t.Fatal(err)
	}
	defer cage.Close()
	origin := kit.NewOrigin(t)
	origin.Mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	urls := []string{origin.URL + "/loop"}
	for i := range cage.Size() {
		urls = append(urls, cage.URL(i))
	}
	const soon = 500 * time.Millisecond
	client := newClient(t, fetch.Config{HeaderTimeout: soon, TLSTimeout: soon, BodyIdle: soon, Total: 4 * soon, RateWindow: soon})
	before := kit.CountGoroutines()
	var polls sync.WaitGroup
	for _, url := range urls {
		for range 3 {
			polls.Go(func() { _, _ = client.Fetch(t.Context(), freshet.Request{URL: url}) }) // TestZoo judges how it ends
		}
	}
	polls.Wait()
	client.CloseIdle()
	before.WaitForEnd(t)
}
