package paper

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Report is what experiments gave, ready to be read.
type Report struct {
	Setting Options
	Done    []Done // in the order of the papers
}

// NewReport runs experiments with every seed.
func NewReport(ctx context.Context, list []Experiment, s Options, progress func(Experiment)) (Report, error) {
	done, err := Run(ctx, list, s, progress)
	return Report{Setting: s, Done: done}, err
}

// Estimate returns about how long experiments take at full size on the processors that
// there are.
func Estimate(list []Experiment, s Options) time.Duration {
	sum, longest := 0, 0
	for _, r := range runsOf(list, s) {
		sum += list[r.place].Cost
		longest = max(longest, list[r.place].Cost)
	}
	return time.Duration(max(longest, sum/runtime.GOMAXPROCS(0))) * time.Second
}

// Runs returns how many runs of experiments a report takes.
func Runs(list []Experiment, s Options) int { return len(runsOf(list, s)) }

// Claims returns the claims of all figures in order.
func (r Report) Claims() []Claim {
	claims := []Claim{}
	for _, d := range r.Done {
		claims = append(claims, d.Claims...)
	}
	return claims
}

//go:embed report.html
var reportPage string

// A section is what a report says of one paper.
type section struct {
	Paper       Paper
	Counts      []Summary
	Experiments []entry
}

// An entry is an experiment with a name that links can use.
type entry struct {
	Anchor string
	Done
}

// Place returns where in its paper the experiment is, unless the title says so.
func (e entry) Place() string {
	if strings.HasPrefix(strings.ToLower(e.Figure.Title), strings.ToLower(e.Where)) {
		return ""
	}
	return e.Where
}

// An objection is a claim that does not hold, and where it is in the report.
type objection struct {
	Anchor string
	Claim
}

// Write writes the report as a page that needs nothing beside itself. A figure
// without a claim proves nothing, so it is an error.
func (r Report) Write(w io.Writer) error {
	page := struct {
		Setting    Options
		Whole      []Summary
		Counts     []Summary
		Sections   []section
		Objections []objection
	}{Setting: r.Setting, Whole: r.Whole(), Counts: r.Summaries()}
	for _, p := range Papers {
		part := section{Paper: p}
		for _, d := range r.Done {
			if d.Experiment.Paper != p {
				continue
			}
			if len(d.Claims) == 0 {
				return fmt.Errorf("writing the report: %s, %s has no claims", p, d.Where)
			}
			e := entry{anchor(d, len(part.Experiments)), d}
			part.Experiments = append(part.Experiments, e)
			for _, c := range d.Claims {
				if !c.Holds {
					page.Objections = append(page.Objections, objection{e.Anchor, c})
				}
			}
		}
		for _, s := range page.Counts {
			if s.Paper == p {
				part.Counts = append(part.Counts, s)
			}
		}
		if len(part.Experiments) > 0 {
			page.Sections = append(page.Sections, part)
		}
	}
	slices.SortStableFunc(page.Objections, func(a, b objection) int {
		return cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind))
	})
	tools := template.FuncMap{
		"svg":     func(s string) template.HTML { return template.HTML(s) }, // drawn by package plot, which escapes
		"figure":  isFigure,
		"figures": hasFigures,
	}
	t, err := template.New("report").Funcs(tools).Parse(reportPage)
	if err != nil {
		return fmt.Errorf("reading the report's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// anchor returns a name for an experiment that is its own in the report.
func anchor(d Done, place int) string {
	plain := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '-'
	}, d.Where)
	return fmt.Sprintf("%s-%d-%s", d.Experiment.Paper, place+1, plain)
}

// hasFigures reports whether a column of a table holds figures.
func hasFigures(t Table, column int) bool {
	return len(t.Rows) > 0 && column < len(t.Rows[0]) && isFigure(t.Rows[0][column])
}

// isFigure reports whether a cell of a table is a number, with or without a
// unit, and belongs to the right.
func isFigure(cell string) bool {
	s := strings.TrimLeft(cell, "+-−<>=≤≥~ ")
	return s != "" && (s[0] >= '0' && s[0] <= '9' || s[0] == '.') && len([]rune(s)) <= 14
}
