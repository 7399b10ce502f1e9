package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/test/bench"
	"freshet/internal/units"
)

// A compareBench is one run of the verb "bench compare".
type compareBench struct {
	*program
	base   string
	cases  []string
	length time.Duration
	rounds int
	json   bool
}

func benchCompareVerb(p *program) *cobra.Command {
	b := compareBench{program: p, cases: bench.PollCases, length: 5 * time.Second}
	cmd := &cobra.Command{
		Use:   "compare --base PROGRAM",
		Short: "Measure polls of this program and of another build of it, in turn",
		Long: `Run "bench poll" of this program and of another build of freshet-lab in turn, and
report the medians of both, with the lowest and highest round in parentheses. A
case that the other build does not know is left out: name those that both know.`,
		Example: "  freshet-lab bench compare --base /tmp/freshet-lab\n  make bench-compare BASE=main~5",
		Args:    cli.Takes(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&b.base, "base", "", "the other build of freshet-lab")
	flags.StringSliceVar(&b.cases, "cases", b.cases, "kinds of answers to measure")
	flags.Var((*cli.Length)(&b.length), "for", "length of one round")
	flags.IntVar(&b.rounds, "rounds", 5, "number of rounds for each")
	cli.JSONFlag(cmd, &b.json)
	_ = cmd.MarkFlagRequired("base") // it is there
	return cmd
}

// A comparison is what both builds took for one kind of answers, round by round.
type comparison struct {
	Answers string             `json:"answers"`
	Base    []bench.PollResult `json:"base"`
	Now     []bench.PollResult `json:"now"`
}

// run measures and shows the results.
func (b *compareBench) run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	var all []comparison
	for _, answers := range b.cases {
		c := comparison{Answers: answers}
		for i := range b.rounds {
			b.say("%s: round %d of %d", answers, i+1, b.rounds)
			if err := b.measure(ctx, b.base, answers, &c.Base); err != nil {
				return err
			}
			if err := b.measure(ctx, self, answers, &c.Now); err != nil {
				return err
			}
		}
		all = append(all, c)
	}
	if b.json {
		return cli.WriteJSON(b.out, all)
	}
	t := table{head: "ANSWERS\tBUILD\tTIMES THE BARE LOOP\tCPU S PER 1,000\tALLOCS\tWRITTEN\tSYNCS"}
	for _, c := range all {
		t.add(append([]any{c.Answers, "base"}, spreads(c.Base)...)...)
		t.add(append([]any{c.Answers, "now"}, spreads(c.Now)...)...)
	}
	return t.write(b.out)
}

// measure runs one round of a build.
func (b *compareBench) measure(ctx context.Context, program, answers string, to *[]bench.PollResult) error {
	cmd := exec.CommandContext(ctx, program, "bench", "poll", "--json", "--rounds", "1", "--cases", answers, "--for", b.length.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	var results []bench.PollResult
	if err := json.Unmarshal(out, &results); err != nil {
		return fmt.Errorf("read what %s measured: %w", program, err)
	}
	*to = append(*to, results...)
	return nil
}

// spreads returns the cells of a build.
func spreads(rounds []bench.PollResult) (cells []any) {
	decimals := func(n int) func(float64) string {
		return func(x float64) string { return strconv.FormatFloat(x, 'f', n, 64) }
	}
	for _, column := range []struct {
		of   func(bench.PollResult) float64
		show func(float64) string
	}{
		{func(r bench.PollResult) float64 { return r.Ratio }, decimals(1)},
		{func(r bench.PollResult) float64 { return r.Freshet.CPU }, decimals(3)},
		{func(r bench.PollResult) float64 { return r.Freshet.Allocs }, decimals(0)},
		{func(r bench.PollResult) float64 { return r.Freshet.Written }, func(x float64) string { return units.FormatSize(int64(x)) }},
		{func(r bench.PollResult) float64 { return r.Freshet.Syncs }, decimals(3)},
	} {
		var values []float64
		for _, r := range rounds {
			values = append(values, column.of(r))
		}
		slices.Sort(values)
		cells = append(cells, fmt.Sprintf("%s (%s to %s)", column.show(values[len(values)/2]), column.show(values[0]), column.show(values[len(values)-1])))
	}
	return cells
}
