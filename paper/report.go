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

// NewReport runs the experiments of papers. Those that take longest begin
// first, so that no processor is left with a long one at the end; the report
// has them in the order of the papers all the same.
func NewReport(ctx context.Context, list []Experiment, s Options, progress func(Experiment)) (Report, error) {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].Cost, list[a].Cost) })
	longest := make([]Experiment, len(list))
	for i, place := range order {
		longest[i] = list[place]
	}
	found, err := Run(ctx, longest, s, progress)
	if err != nil {
		return Report{}, err
	}
	r := Report{Setting: s, Done: make([]Done, len(list))}
	for i, place := range order {
		r.Done[place] = found[i]
	}
	return r, nil
}

// Estimate returns about how long experiments take at full size on the
// processors that there are.
func Estimate(list []Experiment) time.Duration {
	sum, longest := 0, 0
	for _, e := range list {
		sum += e.Cost
		longest = max(longest, e.Cost)
	}
	return time.Duration(max(longest, sum/runtime.GOMAXPROCS(0))) * time.Second
}

// Claims returns the claims of all figures in order.
func (r Report) Claims() []Claim {
	claims := []Claim{}
	for _, d := range r.Done {
		claims = append(claims, d.Claims...)
	}
	return claims
}

// A Summary counts the claims of a paper.
type Summary struct {
	Paper         Paper
	Figures       int
	Claims, Holds int
}

// Fails returns how many do not hold.
func (s Summary) Fails() int { return s.Claims - s.Holds }

// Summaries counts the claims of each paper that was run.
func (r Report) Summaries() (list []Summary) {
	for _, p := range Papers {
		s := Summary{Paper: p}
		for _, d := range r.Done {
			if d.Experiment.Paper != p {
				continue
			}
			s.Figures++
			s.Claims += len(d.Claims)
			for _, c := range d.Claims {
				if c.Holds {
					s.Holds++
				}
			}
		}
		if s.Figures > 0 {
			list = append(list, s)
		}
	}
	return list
}

//go:embed report.html
var reportPage string

// A section is what a report says of one paper.
type section struct {
	Summary
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
		Whole      Summary
		Sections   []section
		Objections []objection
	}{Setting: r.Setting}
	for _, s := range r.Summaries() {
		part := section{Summary: s}
		for _, d := range r.Done {
			if d.Experiment.Paper != s.Paper {
				continue
			}
			if len(d.Claims) == 0 {
				return fmt.Errorf("writing the report: %s, %s has no claims", s.Paper, d.Where)
			}
			e := entry{anchor(d, len(part.Experiments)), d}
			part.Experiments = append(part.Experiments, e)
			for _, c := range d.Claims {
				if !c.Holds {
					page.Objections = append(page.Objections, objection{e.Anchor, c})
				}
			}
		}
		page.Whole.Figures += s.Figures
		page.Whole.Claims += s.Claims
		page.Whole.Holds += s.Holds
		page.Sections = append(page.Sections, part)
	}
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
