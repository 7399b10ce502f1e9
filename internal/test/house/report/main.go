// Command report prints the size and shape of a checkout: `make house`, or
// `go run ./internal/test/house/report [--json] [--binary FILE] [FOLDER]`.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"freshet/internal/test/house"
)

// A report adds to the shape of the source what only a built program shows.
type report struct {
	house.Report
	BinaryBytes int64   `json:"binary_bytes,omitempty"`
	StartMillis float64 `json:"start_ms,omitempty"` // median of 20 runs of "version"
}

func main() {
	asJSON := flag.Bool("json", false, "print JSON with all packages, types and interfaces")
	binary := flag.String("binary", "", "a built freshet, to measure its size and the time that `freshet version` takes")
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if err := run(os.Stdout, dir, *binary, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, dir, binary string, asJSON bool) error {
	var r report
	var err error
	if r.Report, err = house.Measure(dir); err != nil {
		return err
	}
	if r.TopLevel, err = topLevel(dir); err != nil {
		return err
	}
	if binary != "" {
		if r.BinaryBytes, r.StartMillis, err = start(binary); err != nil {
			return err
		}
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	text(w, r)
	return nil
}

// topLevel counts the entries at the top of the repository.
func topLevel(dir string) (int, error) {
	out, err := exec.Command("git", "-C", dir, "ls-files").Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	entries := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		entries[strings.Split(strings.TrimSpace(line), "/")[0]] = true
	}
	return len(entries), nil
}

// start returns the size of a program, and the median time of 20 runs of its version verb.
func start(binary string) (size int64, millis float64, err error) {
	info, err := os.Stat(binary)
	if err != nil {
		return 0, 0, err
	}
	var times []time.Duration
	for range 20 {
		began := time.Now()
		if err := exec.Command(binary, "version").Run(); err != nil {
			return 0, 0, fmt.Errorf("%s version: %w", binary, err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return info.Size(), float64(times[10].Microseconds()) / 1000, nil
}

func text(w io.Writer, r report) {
	fmt.Fprintf(w, "%-10s %8s %8s %8s\n", "area", "packages", "files", "lines")
	packages, files, lines := 0, 0, 0
	for _, a := range r.Areas {
		fmt.Fprintf(w, "%-10s %8d %8d %8d\n", a.Name, a.Packages, a.Files, a.Lines)
		if a.Name != "tests" {
			packages, files, lines = packages+a.Packages, files+a.Files, lines+a.Lines
		}
	}
	fmt.Fprintf(w, "%-10s %8d %8d %8d\n\n", "non-test", packages, files, lines)
	fmt.Fprintf(w, "top-level entries in git     %d\n", r.TopLevel)
	fmt.Fprintf(w, "exported names of %-16s %d\n", r.Kernel, r.Exported)
	fmt.Fprintf(w, "comment share                %.0f%%\n", 100*r.Comments)
	if r.BinaryBytes > 0 {
		fmt.Fprintf(w, "size of the binary           %.1f MB\nfreshet version, median of 20 %.0f ms\n", float64(r.BinaryBytes)/1e6, r.StartMillis)
	}
	for _, f := range r.Features {
		fmt.Fprintf(w, "%-28s %d packages, %d files\n", f.Name, f.Packages, f.Files)
	}
	list := func(title string, counts []house.Count) {
		fmt.Fprintf(w, "\n%s\n", title)
		for _, c := range counts[:min(8, len(counts))] {
			fmt.Fprintf(w, "%6d  %s\n", c.N, c.Name)
		}
	}
	list("largest interfaces, composed", r.Interfaces)
	list("types with most methods", r.Types)
	list("structs with most fields", r.Structs)
	fmt.Fprintf(w, "\n%8s %6s %8s %8s  %s\n", "lines", "files", "tests", "exported", "package")
	for _, p := range r.Packages {
		if p.Files > 0 {
			fmt.Fprintf(w, "%8d %6d %8d %8d  %s (%s)\n", p.Lines, p.Files, p.TestLines, p.Exported, p.Dir, p.Area)
		}
	}
}
