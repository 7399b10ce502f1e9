package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
)

// A build says which freshet this is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"-"`                  // of the commit
	Modified bool   `json:"modified,omitempty"` // built from a tree with local edits
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild returns what the linker and the toolchain wrote into the binary.
func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func versionVerb(p *program) *cobra.Command {
	var asJSON, licences, bill bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of freshet, the source revision and Go version it was built from,\nand the platform.",
		Example: "  freshet version\n  freshet version --json\n  freshet version --sbom > freshet.spdx.json",
		Args:    takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			info, known := debug.ReadBuildInfo()
			switch {
			case licences:
				_, err := io.WriteString(p.out, notices)
				return err
			case bill && !known:
				return fmt.Errorf("this program was built without the list of its modules")
			case bill:
				return p.printJSON(billOf(thisBuild(), info))
			case asJSON:
				return p.printJSON(thisBuild())
			}
			return printBuild(p, thisBuild())
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&licences, "licenses", false, "print the licences of the software it contains")
	cmd.Flags().BoolVar(&bill, "sbom", false, "print what it contains as SPDX 2.3, in JSON")
	return cmd
}

// printBuild prints a build for people, on one line.
func printBuild(p *program, b build) error {
	revision := ""
	if b.Revision != "" {
		revision = " " + b.Revision[:min(12, len(b.Revision))]
	}
	_, err := fmt.Fprintf(p.out, "freshet %s%s (%s, %s)\n", b.Version, revision, b.Go, b.Platform)
	return err
}

// firstOf returns the first items of a list; all if limit is 0.
func firstOf[T any](items []T, limit int) []T {
	if limit > 0 && len(items) > limit {
		return items[:limit]
	}
	return items
}

// jsonFlag lets a verb print its data for programs.
func jsonFlag(cmd *cobra.Command, to *bool) { cli.JSONFlag(cmd, to) }

// upTo gathers at most a number of items of a list that comes in pages; 0 means all. A page is
// asked for with the number of items before it and the most it may have, and says whether
// there are more.
func upTo[T any](limit int, page func(have, most int) (items []T, more bool, err error)) (all []T, err error) {
	for more := true; more && (limit == 0 || len(all) < limit); {
		most := 1000
		if limit > 0 {
			most = min(most, limit-len(all))
		}
		var items []T
		if items, more, err = page(len(all), most); err != nil {
			return all, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// limitFlag adds the flag that says how many to show at most.
func limitFlag(cmd *cobra.Command, to *int, usual int) {
	*to = usual
	cmd.Flags().VarP((*rowLimit)(to), "limit", "n", "print at most this many; 0 means all")
}

// A rowLimit is a number that is not negative.
type rowLimit int

// Set implements [pflag.Value].
func (l *rowLimit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("it must be a number, and not below 0")
	}
	*l = rowLimit(n)
	return nil
}

// String implements [pflag.Value].
func (l *rowLimit) String() string { return strconv.Itoa(int(*l)) }

// Type implements [pflag.Value].
func (*rowLimit) Type() string { return "int" }
