package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
)

// What is known of the robots.txt files of many hosts is kept of each of them while the daemon runs, in the
// order of hosts, though it is taken down some hundred at a time, and also after it could not be kept once.
func TestMannersOfManyHostsAreKept(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it polls 1,200 hosts")
	const hosts = 1200
	inBubble(t, func(t *testing.T, dir string) {
		w := &relay{latency: 10 * time.Millisecond, answer: robots(step{body: "User-agent: *\nCrawl-delay: 10\n"})}
		limits := sched.Limits{
			Budget: sched.Budget{Polls: 100, Per: time.Second},
			Hosts:  sched.Politeness{Delay: time.Second, CrawlDelay: time.Minute},
		}
		var sources []freshet.Source
		for i := range 2 * hosts {
			sources = append(sources, freshet.Source{
				ID: freshet.SourceID(fmt.Sprintf("s%04d", i)), URL: fmt.Sprintf("https://h%d.example/%d", i/2, i),
			})
		}
		refused := 0
		store := &faulty{refuse: func(estimator string) error {
			if estimator == "robots" && refused == 0 {
				refused++
				return errors.New("not now")
			}
			return nil
		}}
		b := begin(t, dir, daemon.Config{Fetcher: w, Store: store, Limits: limits, Start: daemon.StartConfig{SaveEvery: time.Minute}}, sources...)
		defer b.stop()
		time.Sleep(2*time.Minute + 30*time.Second) // the second time has to keep all
		kept := keptHosts(t, b.store)
		read := map[string]int{} // before the first time
		for i := range hosts {
			host := fmt.Sprintf("h%d.example", i)
			for _, s := range w.of(host) {
				if strings.HasSuffix(s.url, "/robots.txt") && s.ended.Before(start.Add(time.Minute)) {
					read[host]++
				}
			}
		}
		if len(read) != hosts || refused != 1 {
			t.Fatalf("the robots.txt of %d hosts were read, and %d times they could not be kept; the test wants %d and once", len(read), refused, hosts)
		}
		for i, host := range kept {
			if read[host] == 0 || i > 0 && kept[i-1] >= host {
				t.Errorf("%s is kept at place %d, after %s", host, i, kept[max(0, i-1)])
			}
		}
		if len(kept) != hosts {
			t.Errorf("what is known is kept of %d hosts, want %d", len(kept), hosts)
		}
	})
}

// keptHosts returns the hosts whose manners are kept in a store.
func keptHosts(t *testing.T, store freshet.StateStore) (hosts []string) {
	t.Helper()
	for belief, err := range store.States(t.Context(), "robots") {
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Host string }
		if err := json.Unmarshal(belief.Value[:len(belief.Value)-4], &list); err != nil { // its end is a checksum
			t.Fatal(err)
		}
		for _, m := range list {
			hosts = append(hosts, m.Host)
		}
	}
	return hosts
}
