package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"freshet/internal/lab"
	"freshet/internal/units"
)

// A page is results as Markdown.
type page struct {
	*Results
	strings.Builder
}

// An Origin is how a page of results came about.
type Origin struct {
	Command string // that made it
	Day     string
	Picture string // beside it, if any
	Data    string // the file of all settings beside it, if any
}

// WritePage writes the results as a page of Markdown.
func (r *Results) WritePage(w io.Writer, o Origin) error {
	p := &page{Results: r}
	if len(r.Reference) > 0 {
		p.preface(o)
		p.summary()
		p.record()
		p.part("Reference settings", "Changes are overwritten by the next, and late is as good as early.", r.Reference)
		p.luck()
		p.part("Held out", "Other periods of the recordings, which nobody had looked at while policies were made; where there are none, the half of the pages on which no constant was chosen, which is part of the reference settings, at a budget in proportion.", r.HeldOut)
	}
	p.literature()
	_, err := io.WriteString(w, p.String())
	return err
}

// say writes a paragraph.
func (p *page) say(format string, args ...any) { fmt.Fprintf(p, format+"\n\n", args...) }

// table writes a table; columns from the left are words, the others figures.
func (p *page) table(words int, head []string, rows [][]string) {
	line := func(cells []string) { p.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	marks := make([]string, len(head))
	for i := range marks {
		marks[i] = "---"
		if i >= words {
			marks[i] = "---:"
		}
	}
	line(marks)
	for _, row := range rows {
		line(row)
	}
	p.WriteString("\n")
}

// preface says what the page is, and how it came about.
func (p *page) preface(o Origin) {
	p.say("# Results")
	p.say("What policies capture of recorded histories, as a share of the limit: what somebody could have captured who knew every change beforehand. Made on %s by\n\n    %s", o.Day, o.Command)
	if o.Data != "" {
		p.say("[%s](%s) has every setting.", o.Data, o.Data)
	}
	p.say("A policy starts from nothing, learns as it goes, and sees only whether a page differs from the last time. " +
		"Time is cut into instants, and the budget is polls an instant. All pages count as seen when the period begins. " +
		"`wic` goes by what the learner forecasts, as in the daemon; `miniflux`, `nutch` and `stormcrawler` have their intervals fitted to the instant. " +
		"Many recordings were made by a scraper, and the time of a change is then when the scraper saw it.")
	if len(p.Informed) > 0 {
		p.say("*Dated* is the same policy where every poll also shows when the page last changed, as Last-Modified would; " +
			"with *feed:5* it shows the last five times, as a feed does. " +
			"With *index* each site (what comes before the first slash of a page's name) has an index that dates every page, as a sitemap does. " +
			"Its polls are paid from the same budget, and capture nothing.")
	}
	if len(p.Daemon) > 0 {
		p.say("*Daemon* is the same policy as `freshet serve` runs it: with the same learner and tick, in continuous time and under the default limits. "+
			"The budget is spread evenly, a poll takes %s, and polls fall anywhere within an instant, not at its end. So it can come a little above what is possible by the instant.", units.FormatDuration(lab.InDaemon().Latency))
	}
	if len(p.Missing) > 0 {
		p.say("Not there, and left out: %s.", strings.Join(p.Missing, ", "))
	}
	if o.Picture != "" {
		p.say("![mean share of the limit by policy and budget](%s)", o.Picture)
	}
}

// summary writes the means.
func (p *page) summary() {
	p.say("## Mean share of the limit")
	head := []string{"policy", "reference"}
	parts := [][]Result{p.Reference}
	for i, list := range [][]Result{p.Shares, p.Decayed} {
		for _, share := range Shares {
			if some := AtShare(list, share); len(some) > 0 {
				head = append(head, fmt.Sprintf("%.0f%%%s", 100*share, []string{"", ", urgent"}[i]))
				parts = append(parts, some)
			}
		}
	}
	for i, list := range [][]Result{p.HeldOut, p.HeldOutDecayed} {
		if len(list) > 0 {
			head = append(head, "held out"+[]string{"", ", urgent"}[i])
			parts = append(parts, list)
		}
	}
	head = append(head, "fresh")
	var rows [][]string
	for _, c := range slices.Concat(p.Contenders, p.Informed, p.Daemon) {
		row := []string{c.Name}
		for _, list := range parts {
			cell := ""
			if _, ok := list[0].of(c.Name); ok {
				cell = fmt.Sprintf("%.3f", MeanOfLimit(list, c.Name))
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", meanFresh(p.Reference, c.Name))))
	}
	p.table(1, head, rows)
	p.say("*Reference* are the budgets of the recordings, *30%%* to *90%%* those at which the limit is so much of all changes. Where it is *urgent*, changes stay (append) and lose a tenth of their worth every instant (exp:0.9). Nothing was chosen on settings that are *held out*. *Fresh* is the share of the time that copies were up to date in the reference settings, at which only `freshness` and `age` aim.")
}

// tie is how near to each other two have to be, as a share of the limit, for
// neither to have won.
const tie = 0.005

// record says against whom the first contender won and lost.
func (p *page) record() {
	if len(p.Contenders) < 2 {
		return
	}
	first, everything := p.Contenders[0].Name, [][]Result{p.Reference, p.Shares, p.Decayed, p.HeldOut, p.HeldOutDecayed}
	p.say("## Wins and losses of %s", first)
	p.say("Settings in which `%s` had more than, as much as (within %s of the limit) or less than each of the others.", first, lab.FormatPercent(tie, 1))
	var rows [][]string
	for _, c := range p.Contenders[1:] {
		row := []string{c.Name}
		for _, list := range everything {
			if len(list) == 0 {
				continue
			}
			wins, ties, lost := 0, 0, 0
			for _, r := range list {
				ours, _ := r.of(first)
				theirs, _ := r.of(c.Name)
				switch d := ours.OfLimit - theirs.OfLimit; {
				case math.Abs(d) <= tie:
					ties++
				case d > 0:
					wins++
				default:
					lost++
				}
			}
			row = append(row, fmt.Sprintf("%d / %d / %d", wins, ties, lost))
		}
		rows = append(rows, row)
	}
	p.table(1, []string{"against", "reference", "shares", "urgent", "held out", "held out, urgent"}[:len(rows[0])], rows)
}

// luck says how far runs with other seeds lie apart.
func (p *page) luck() {
	for _, c := range p.Contenders {
		var deviations []float64
		for _, r := range p.Reference {
			if f, _ := r.of(c.Name); len(f.Reruns) > 0 {
				deviations = append(deviations, runsOf(append([]float64{f.Utility}, f.Reruns...)).Deviation)
			}
		}
		if len(deviations) > 0 {
			p.say("Luck: the recall of `%s` in %d runs with different seeds has a standard deviation of %.4f to %.4f.", c.Name, 1+reruns, slices.Min(deviations), slices.Max(deviations))
		}
	}
}

// spread returns the mean and the standard deviation of figures.
func spread(list []float64) (mean, deviation float64) {
	for _, x := range list {
		mean += x / float64(len(list))
	}
	for _, x := range list {
		deviation += (x - mean) * (x - mean) / float64(max(1, len(list)-1))
	}
	return mean, math.Sqrt(deviation)
}

// part writes a section with one table.
func (p *page) part(title, about string, list []Result) {
	if len(list) == 0 {
		return
	}
	p.say("## %s", title)
	p.say("%s", about)
	p.say("The limit is a share of all changes, the others are shares of the limit. **Bold** is the best of a row of those that see and meet the same.")
	head := []string{"recording", "instant, budget, period", "limit"}
	for _, f := range list[0].Feats {
		head = append(head, f.Name)
	}
	var rows [][]string
	means := []string{"*mean*", "", ""}
	for _, r := range list {
		rows = append(rows, r.cells())
	}
	for _, f := range list[0].Feats {
		means = append(means, fmt.Sprintf("%.3f", MeanOfLimit(list, f.Name)))
	}
	p.table(2, head, append(rows, means))
}

// cells returns the row of a setting.
func (r *Result) cells() []string {
	limit := fmt.Sprintf("%.3f", r.Limit)
	if !r.Exact {
		limit = "≤ " + limit
	}
	row := []string{r.Trace, r.circumstances(), limit}
	best := 0.0
	for _, f := range r.Feats {
		if f.onEqualTerms() {
			best = max(best, f.Utility)
		}
	}
	for _, f := range r.Feats {
		cell := fmt.Sprintf("%.3f", f.OfLimit)
		if f.onEqualTerms() && f.Utility == best {
			cell = "**" + cell + "**"
		}
		row = append(row, cell)
	}
	return row
}

// circumstances says in which setting a result was had.
func (r *Result) circumstances() string {
	day := func(s string) string { return strings.TrimSuffix(s, "T00:00:00Z") }
	half := ""
	if r.Half {
		half = ", half of the pages"
	}
	return fmt.Sprintf("%s, %s, %s to %s%s", length(r.Instant), lab.FormatNumber(r.Budget), day(r.Start), day(r.End), half)
}

// length writes seconds as hours, minutes or seconds, without what is zero.
func length(seconds float64) string {
	s := time.Duration(seconds * float64(time.Second)).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
