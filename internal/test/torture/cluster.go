//go:build unix

package torture

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A ClusterConfig says what a campaign against a cluster does. Freshet is needed.
type ClusterConfig struct {
	Seed     uint64
	For      time.Duration // for so long things are broken
	Faults   int           // or so many times; zero means no such end
	Only     []string      // kinds of faults, of [ClusterFaults]; none means all
	Freshet  string        // the shipped program
	Dir      string        // where data goes; "" means the system's place for such things
	Logs     string        // where all that processes say is kept; "" means nowhere
	Progress func(string)  // prints progress; may be nil
}

// The cluster that is broken, and what it may do.
const (
	clusterNodes  = 3
	clusterHands  = 3
	clusterLease  = 2 * time.Second
	clusterBudget = 40 // requests
	clusterPer    = 4 * time.Second
	clusterDelay  = 400 * time.Millisecond // between requests to a host
	clusterHosts  = 8
	clusterPages  = 24
	clusterSinks  = 8
)

// A ClusterReport is what became of a campaign against a cluster.
type ClusterReport struct {
	Seed       uint64         `json:"seed"`
	Seconds    float64        `json:"seconds"`
	Faults     map[string]int `json:"faults"`
	Requests   int            `json:"requests"`
	Changes    int            `json:"changes"`
	Heard      int            `json:"heard"` // changes that came over streams
	Edits      int            `json:"edits"` // that were acknowledged
	Delivered  int            `json:"delivered"`
	Repeated   int            `json:"repeated"`
	Together   int            `json:"together"` // deliveries of a source that came while another was under way
	Epochs     int64          `json:"epochs"`
	Pause      float64        `json:"pause_seconds"` // the longest without a request
	Pauses     []Pause        `json:"pauses"`        // those over 10 s
	Excused    int            `json:"excused"`       // requests of a process that was stopped just before it sent them
	Violations []string       `json:"violations"`
	Log        string         `json:"log,omitempty"` // the last lines of all processes, if a promise did not hold

	mu sync.Mutex
}

// violate notes that a promise did not hold.
func (r *ClusterReport) violate(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// fault counts a fault.
func (r *ClusterReport) fault(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Faults[kind]++
}

// count returns how many faults there were.
func (r *ClusterReport) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.Faults {
		n += times
	}
	return n
}

// Print writes the report for people.
func (r *ClusterReport) Print(w io.Writer) {
	fmt.Fprintf(w, "%d faults in %s, seed %d\n", r.count(), time.Duration(r.Seconds*float64(time.Second)).Round(time.Second), r.Seed)
	fmt.Fprintf(w, "  %d requests, %d changes, %d of them heard over streams, %d edits acknowledged, %d deliveries to %d sinks (%d repeats, %d while another of their source was under way), %d epochs\n",
		r.Requests, r.Changes, r.Heard, r.Edits, r.Delivered, clusterSinks, r.Repeated, r.Together, r.Epochs)
	fmt.Fprintf(w, "  the longest pause without a request took %.1f s\n", r.Pause)
	for _, p := range r.Pauses {
		fmt.Fprintf(w, "    %.1f s from %s on: %s\n", p.Seconds, p.From.Format("15:04:05.0"), strings.Join(p.Broken, "; "))
	}
	if r.Excused > 0 {
		fmt.Fprintf(w, "  %d requests excused: sent by a process that was stopped between check and write\n", r.Excused)
	}
	fmt.Fprint(w, "  faults:")
	for _, k := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(w, " %s %d", k, r.Faults[k])
	}
	fmt.Fprintln(w)
	if len(r.Violations) == 0 {
		fmt.Fprintln(w, "every promise held")
		return
	}
	fmt.Fprintf(w, "%d violations\n", len(r.Violations))
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  %s\n", v)
	}
	fmt.Fprintln(w, r.Log)
}

// RunCluster breaks a cluster again and again, and holds it to its promises from outside: by the
// log of the web server, by what streams and receivers were told, and by what was acknowledged.
// The error is only of the campaign itself.
func RunCluster(ctx context.Context, c ClusterConfig) (*ClusterReport, error) {
	r := &ClusterReport{Seed: c.Seed, Faults: map[string]int{}, Pauses: []Pause{}, Violations: []string{}}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	dir, err := os.MkdirTemp(c.Dir, "freshet-torture-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	g, err := newGrove(ctx, c, dir, r)
	defer g.close()
	if err != nil {
		return r, err
	}
	began := time.Now()
	judged, stop := context.WithCancel(ctx)
	defer stop()
	j := newJury(g)
	var judging sync.WaitGroup
	for _, watch := range []func(context.Context){j.follow, j.edit, j.count, g.supervise, g.probe} {
		judging.Go(func() { watch(judged) })
	}
	err = g.breakThings(ctx, rand.New(rand.NewPCG(c.Seed, 1)))
	if err == nil {
		err = j.settle(ctx)
	}
	stop()
	judging.Wait()
	if err == nil {
		err = j.verdict(ctx)
	}
	r.Seconds = time.Since(began).Seconds()
	if len(r.Violations) > 0 || err != nil {
		r.Log = g.logs()
	}
	return r, err
}
