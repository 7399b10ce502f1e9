//go:build unix

package torture

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Violation is a promise that did not hold.
type Violation struct {
	Promise string `json:"promise"`
	Detail  string `json:"detail"`
	Seed    uint64 `json:"seed"`
	Round   int    `json:"round"`
	Fault   Kind   `json:"fault"` // the last before it was seen
	Times   int    `json:"times"` // in its episode
	Replay  string `json:"replay"`
	Log     string `json:"log,omitempty"` // the daemon's last lines
}

// A Report is what became of a campaign.
type Report struct {
	Seed       uint64          `json:"seed"`
	Seconds    float64         `json:"seconds"`
	Episodes   int             `json:"episodes"`
	Lives      int             `json:"lives"`
	Faults     map[Kind]int    `json:"faults"`
	Checks     map[string]int  `json:"checks"`
	Excused    map[string]int  `json:"excused"` // what physics explains
	Requests   int             `json:"requests"`
	Versions   int             `json:"versions"`
	Changes    int             `json:"changes"`
	Edits      int             `json:"edits"`
	Deliveries int             `json:"deliveries"`
	Repeats    int             `json:"repeats"`
	Events     int             `json:"events"`
	Recovery   [3]float64      `json:"recovery_seconds"` // median, 99th percentile, longest
	Stops      [3]float64      `json:"stop_seconds"`     // likewise, from SIGTERM to the end
	Peak       usage           `json:"peak"`
	Unable     map[Kind]string `json:"unable,omitempty"` // kinds that could not be tried here, and why
	Violations []Violation     `json:"violations"`

	mu         sync.Mutex
	replay     string
	recoveries []time.Duration
	stops      []time.Duration
}

func newReport(c Config) *Report {
	r := &Report{Seed: c.Seed, Faults: map[Kind]int{}, Checks: map[string]int{}, Excused: map[string]int{}, Unable: map[Kind]string{}, Violations: []Violation{}}
	r.replay = fmt.Sprintf("--episodes 1 --rounds %d", c.Rounds)
	if len(c.Only) > 0 {
		names := make([]string, len(c.Only))
		for i, k := range c.Only {
			names[i] = string(k)
		}
		r.replay += " --faults-only " + strings.Join(names, ",")
	}
	return r
}

// fault counts a fault.
func (r *Report) fault(k Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Faults[k]++
}

// unable notes that a kind of fault cannot be tried on this machine.
func (r *Report) unable(k Kind, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Unable[k] = why
}

// checked counts checks of a promise.
func (r *Report) checked(promise string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Checks[promise] += n
}

// excuse counts what looks like a violation and is not.
func (r *Report) excuse(promise string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Excused[promise]++
}

// violated notes a violation. Further ones of the same promise in the same
// episode are only counted.
func (r *Report) violated(v Violation) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.Violations {
		if old := &r.Violations[i]; old.Seed == v.Seed && old.Promise == v.Promise {
			old.Times++
			return false
		}
	}
	v.Times = 1
	v.Replay = fmt.Sprintf("--seed %d %s", v.Seed, r.replay)
	r.Violations = append(r.Violations, v)
	return true
}

// episode adds what an episode amounted to.
func (r *Report) episode(e *episode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Episodes++
	r.Lives += e.lives
	r.Requests += e.web.visits.count()
	r.Changes += len(e.chronicle.log())
	for _, versions := range e.chronicle.versions {
		r.Versions += len(versions)
	}
	r.Edits += e.editor.edits
	for _, x := range e.receivers {
		r.Deliveries += x.deliveries
		r.Repeats += x.repeats
	}
	r.Events += e.follower.events
	r.Peak = r.Peak.most(e.peak)
	r.recoveries = append(r.recoveries, e.recoveries...)
	r.stops = append(r.stops, e.stops...)
	r.Recovery, r.Stops = quantiles(r.recoveries), quantiles(r.stops)
}

// quantiles returns the median, the 99th percentile and the longest, in seconds.
func quantiles(all []time.Duration) (q [3]float64) {
	if len(all) == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	for i, at := range []int{n / 2, n * 99 / 100, n - 1} {
		q[i] = sorted[at].Seconds()
	}
	return q
}

// count returns how many faults there were.
func (r *Report) count() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.Faults {
		n += times
	}
	return n
}

func (r *Report) took(d time.Duration) { r.Seconds = d.Seconds() }

// line says in a line how far the campaign is.
func (r *Report) line(d time.Duration) string {
	faults := r.count()
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%8s  %d episodes, %d faults, %d requests, %d changes, %d edits, %d deliveries, %d violations",
		d.Round(time.Second), r.Episodes, faults, r.Requests, r.Changes, r.Edits, r.Deliveries, len(r.Violations))
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%d faults in %d episodes and %d lives of the daemon, %s\n", r.count(), r.Episodes, r.Lives, time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	fmt.Fprintf(w, "  %d requests, %d versions, %d changes, %d edits, %d deliveries (%d repeats), %d events\n", r.Requests, r.Versions, r.Changes, r.Edits, r.Deliveries, r.Repeats, r.Events)
	fmt.Fprintf(w, "  ready after %.2fs in the median, %.2fs at 99%%, %.2fs at most; SIGTERM took %.2fs, %.2fs, %.2fs\n", r.Recovery[0], r.Recovery[1], r.Recovery[2], r.Stops[0], r.Stops[1], r.Stops[2])
	fmt.Fprintf(w, "  at most %d MB of memory and %d files open\n", r.Peak.Memory>>20, r.Peak.Files)
	printCounts(w, "faults", r.Faults)
	printCounts(w, "checks", r.Checks)
	printCounts(w, "excused", r.Excused)
	for _, k := range slices.Sorted(maps.Keys(r.Unable)) {
		fmt.Fprintf(w, "  not tried: %s (%s)\n", k, r.Unable[k])
	}
	if len(r.Violations) == 0 {
		fmt.Fprintln(w, "every promise held")
		return
	}
	fmt.Fprintf(w, "%d violations\n", len(r.Violations))
	for _, v := range r.Violations {
		fmt.Fprintf(w, "\n%s, %d times; seed %d, round %d, after %s\n  %s\n  replay: %s\n", v.Promise, v.Times, v.Seed, v.Round, v.Fault, v.Detail, v.Replay)
		if v.Log != "" {
			fmt.Fprintf(w, "  the daemon's last lines:\n    %s\n", strings.ReplaceAll(v.Log, "\n", "\n    "))
		}
	}
}

func printCounts[K ~string](w io.Writer, title string, counts map[K]int) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(w, "  %s:", title)
	for i, k := range slices.Sorted(maps.Keys(counts)) {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, " %s %d", k, counts[k])
	}
	fmt.Fprintln(w)
}
