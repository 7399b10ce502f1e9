//go:build unix

package torture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/test/netfault"
)

// A jury looks at a grove from outside.
type jury struct {
	*grove

	mu    sync.Mutex
	heard []string // places of changes, in the order in which a stream told of them
	epoch int64
	edits map[freshet.SourceID]*edited
	log   []client.Change // all changes, at the end
}

// An edited is what became of the edits of a source.
type edited struct {
	acked string   // the last that was acknowledged
	maybe []string // all of which it is not known: one may also be made late
}

func newJury(g *grove) *jury { return &jury{grove: g, edits: map[freshet.SourceID]*edited{}} }

// pageOf names a source.
func pageOf(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("p%02d", i)) }

// follow follows the changes at one node after the other, for a moment at each.
func (j *jury) follow(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		turn, cancel := context.WithTimeout(ctx, 3*time.Second)
		if err := j.stream(turn, j.nodes[i%len(j.nodes)].at); err != nil {
			pause(turn, 100*time.Millisecond)
		}
		cancel()
	}
}

func (j *jury) stream(ctx context.Context, at string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/api/v1/changes/stream", nil)
	if err != nil {
		return err
	}
	j.mu.Lock()
	last := "0"
	if n := len(j.heard); n > 0 {
		last = j.heard[n-1]
	}
	j.mu.Unlock()
	req.Header.Set("Last-Event-ID", last)
	c := fetch.Trusted(5 * time.Second)
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusBadGateway {
			j.report.violate("stream: after %s it is answered with %s", last, resp.Status)
		}
		return errors.New(resp.Status)
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			j.mu.Lock()
			j.heard = append(j.heard, id)
			j.mu.Unlock()
		}
	}
	return nil
}

// edit renames sources through whatever node.
func (j *jury) edit(ctx context.Context) {
	chance := rand.New(rand.NewPCG(j.Seed, 3))
	for n := 0; ctx.Err() == nil; n++ {
		id, name := pageOf(chance.IntN(clusterPages)), fmt.Sprintf("edit %d", n)
		e := j.edits[id]
		if e == nil {
			e = &edited{}
			j.edits[id] = e
		}
		if j.rename(ctx, some(chance, j.nodes).at, id, name) {
			e.acked = name
			j.report.Edits++
		} else {
			e.maybe = append(e.maybe, name)
		}
		pause(ctx, time.Duration(chance.IntN(400))*time.Millisecond)
	}
}

// rename reports whether a rename was acknowledged.
func (j *jury) rename(ctx context.Context, at string, id freshet.SourceID, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, _ := json.Marshal(map[string]string{"name": name})
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, at+"/api/v1/sources/"+string(id), bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	c := fetch.Trusted(10 * time.Second)
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return true
	case http.StatusServiceUnavailable:
		if resp.Header.Get("Retry-After") == "" {
			j.report.violate("answers: %s says 503 without when to try again", at)
		}
	case http.StatusBadGateway:
	default:
		j.report.violate("answers: an edit through %s is answered with %s", at, resp.Status)
	}
	return false
}

// count holds that epochs never fall.
func (j *jury) count(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		if all, err := j.nodes[i%len(j.nodes)].api().Cluster(ctx); err == nil {
			if all.Brain.Epoch < j.epoch {
				j.report.violate("epochs: %d comes after %d", all.Brain.Epoch, j.epoch)
			}
			j.epoch = max(j.epoch, all.Brain.Epoch)
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// settle makes everything whole, and waits until nothing more happens.
func (j *jury) settle(ctx context.Context) error {
	for _, w := range append(slices.Clone(j.store), j.front...) {
		w.Set(netfault.State{})
	}
	for _, p := range append(slices.Clone(j.nodes), j.hands...) {
		p.signal(syscall.SIGCONT)
		if p.over() {
			if err := p.start(j.Freshet); err != nil {
				return err
			}
		}
	}
	if err := j.insist(ctx, "the cluster is whole again", j.whole(ctx)); err != nil {
		j.report.violate("recovery: %v", err)
		return nil
	}
	j.frozen.Store(int64(time.Since(j.began)/editionEvery) + 1)
	pause(ctx, 3*clusterPer) // every page is seen once more
	if err := j.insist(ctx, "everybody has heard of everything", func() error { return j.told(ctx) }); err != nil {
		j.report.violate("delivery: %v", err)
	}
	return ctx.Err()
}

// whole returns what looks whether all are there, as each node sees it.
func (j *jury) whole(ctx context.Context) func() error {
	return func() error {
		for _, n := range j.nodes {
			all, err := n.api().Cluster(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			if all.Brain.Address == "" || len(all.Nodes) != clusterNodes || len(all.Hands) != clusterHands {
				return fmt.Errorf("%s sees the brain %q, %d nodes and %d hands", n.name, all.Brain.Address, len(all.Nodes), len(all.Hands))
			}
			if sinks, by := delivered(all); sinks != clusterSinks || by < 2 {
				return fmt.Errorf("%s sees %d sinks that %d nodes deliver to", n.name, sinks, by)
			}
		}
		return nil
	}
}

// delivered returns to how many sinks how many nodes deliver.
func delivered(all client.Cluster) (sinks, nodes int) {
	for _, n := range all.Nodes {
		if sinks += n.Sinks; n.Sinks > 0 {
			nodes++
		}
	}
	return sinks, nodes
}

// told reads all changes, and says who has not heard of which.
func (j *jury) told(ctx context.Context) error {
	j.log = nil
	for after := (freshet.Place{}); ; {
		page, err := j.nodes[0].api().Changes(ctx, client.ChangeQuery{After: after})
		if err != nil {
			return err
		}
		j.log = append(j.log, page.Items...)
		if after = page.Next; len(page.Items) == 0 {
			break
		}
	}
	j.mu.Lock()
	heard := len(j.heard)
	j.mu.Unlock()
	if heard < len(j.log) {
		return fmt.Errorf("streams told of %d of %d changes", heard, len(j.log))
	}
	return j.sinks.lack(j.log)
}
