package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
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

// WritePage writes the results as a page of Markdown that says how it was made:
// by which command, and with which picture beside it, if any.
func (r *Results) WritePage(w io.Writer, command, picture string) error {
	p := &page{Results: r}
	if len(r.Reference) == 0 {
		p.literature()
		_, err := io.WriteString(w, p.String())
		return err
	}
	p.preface(command, picture)
	p.summary()
	p.record()
	p.reference()
	p.literature()
	for _, share := range Shares {
		p.part(fmt.Sprintf("Budgets for %.0f%%", 100*share), "Changes are overwritten by the next, and late is as good as early. Recall, and in brackets its share of the limit.", AtShare(r.Shares, share))
	}
	for _, share := range Shares {
		p.part(fmt.Sprintf("Budgets for %.0f%%, urgent", 100*share), "The same budgets, but changes stay (append) and lose a tenth of their worth every instant (exp:0.9). Utility of all changes, and in brackets its share of the limit, which is an upper bound here.", AtShare(r.Decayed, share))
	}
	p.part("Held out", "Other periods of the recordings, which nobody had looked at while policies were made, or, where there are none, the half of the pages on which no constant was chosen (though it is part of the reference settings), at a budget in proportion. Changes are overwritten by the next, and late is as good as early. Recall, and in brackets its share of the limit.", r.HeldOut)
	p.part("Held out, urgent", "The same, but changes stay (append) and lose a tenth of their worth every instant (exp:0.9). Utility of all changes, and in brackets its share of the limit, which is an upper bound here.", r.HeldOutDecayed)
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
func (p *page) preface(command, picture string) {
	p.say("# Results")
	p.say("What policies capture of recorded histories, beside what somebody could have captured who knew every change beforehand. Every number on this page was made by\n\n    %s", command)
	p.say("A policy starts from nothing and learns as it goes, and sees only what a poller sees: whether a page differs from the last time. " +
		"Time is cut into instants, and the budget is polls an instant. All pages count as seen when the period begins. " +
		"`wic` goes by what the learner forecasts, as in the daemon; `miniflux`, `nutch` and `stormcrawler` have their intervals fitted to the instant. " +
		"**Bold** is the best of a row.")
	if len(p.Informed) > 0 {
		p.say("A column marked *dated* is the same policy where every poll also shows when the page last changed, as Last-Modified would. " +
			"With *feed:5* it shows the last five times, as a feed does. " +
			"With *index* each site (what comes before the first slash of a page's name; pages without one are one site) has an index that says of every page when it last changed, as a sitemap does. " +
			"Its polls are paid from the same budget, and capture nothing.")
	}
	if len(p.Daemon) > 0 {
		p.say("A column marked *daemon* is what a user's daemon would have captured: the same policy as `freshet serve` runs it, with the same learner and tick, in continuous time and under its default limits. "+
			"Changes happen when the recording says, the budget is spread evenly, and a poll takes %s. "+
			"It counts the same changes as the other columns, but its polls fall anywhere within an instant, not at its end. So it can come a little above what is possible by the instant.", units.FormatDuration(lab.InDaemon().Latency))
	}
	p.say("Many recordings were made by a scraper, and the time of a change is then when the scraper saw it: a rhythm by the minute may be the scraper's own.")
	if len(p.Missing) > 0 {
		p.say("Not there, and left out: %s.", strings.Join(p.Missing, ", "))
	}
	if picture != "" {
		p.say("![mean share of the limit by policy and budget](%s)", picture)
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
	var rows [][]string
	for _, c := range append(p.Contenders[:len(p.Contenders):len(p.Contenders)], slices.Concat(p.Informed, p.Daemon)...) {
		row := []string{c.Name}
		for _, list := range parts {
			cell := ""
			if _, ok := list[0].of(c.Name); ok {
				cell = fmt.Sprintf("%.3f", MeanOfLimit(list, c.Name))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	p.table(1, head, rows)
	p.say("*Reference* are the budgets of the recordings, the others those at which the limit is so much of all changes; *urgent* is where late captures are worth less. *Held out* are settings on which nothing was chosen: see the end of the page.")
}

// tie is how near to each other two have to be, as a share of the limit, for
// neither to have won.
const tie = 0.005

// mostLosses is how many are listed.
const mostLosses = 40

// record says against whom the first contender won and lost.
func (p *page) record() {
	if len(p.Contenders) < 2 {
		return
	}
	first, everything := p.Contenders[0].Name, [][]Result{p.Reference, p.Shares, p.Decayed, p.HeldOut, p.HeldOutDecayed}
	p.say("## Wins and losses of %s", first)
	p.say("Settings in which `%s` had more than, as much as (within %s of the limit) or less than each of the others.", first, lab.FormatPercent(tie, 1))
	var rows [][]string
	var losses []string
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
					losses = append(losses, fmt.Sprintf("%s, budget %s, %s and %s: %.3f, and %s has %.3f", r.Trace, lab.FormatNumber(r.Budget), r.Life, r.Urgency, ours.Utility, c.Name, theirs.Utility))
				}
			}
			row = append(row, fmt.Sprintf("%d / %d / %d", wins, ties, lost))
		}
		rows = append(rows, row)
	}
	p.table(1, []string{"against", "reference", "shares", "urgent", "held out", "held out, urgent"}[:len(rows[0])], rows)
	if len(losses) > mostLosses {
		left := len(losses) - mostLosses
		losses = append(losses[:mostLosses], fmt.Sprintf("and %d more, as the tables show", left))
	}
	if len(losses) > 0 {
		p.say("Lost:")
		p.say("- %s", strings.Join(losses, "\n- "))
	}
}

// reference writes the first part, and how much of it was luck.
func (p *page) reference() {
	p.part("Reference settings", "Changes are overwritten by the next, and late is as good as early. Recall, and in brackets its share of the limit.", p.Reference)
	p.copies(p.Reference)
	var rows [][]string
	for _, r := range p.Reference {
		for _, f := range r.Feats {
			if len(f.Reruns) == 0 {
				continue
			}
			mean, deviation := spread(append([]float64{f.Utility}, f.Reruns...))
			rows = append(rows, []string{r.Trace, f.Name, fmt.Sprintf("%.3f", f.Utility), fmt.Sprintf("%.3f", mean), fmt.Sprintf("%.4f", deviation)})
		}
	}
	if len(rows) > 0 {
		p.say("How much is luck: recall as above, and the mean and the standard deviation of it and %d runs with other seeds. A policy that draws nothing by chance has what it ranks by moved by about a hundredth in these.", reruns)
		p.table(2, []string{"recording", "policy", "recall", "mean", "deviation"}, rows)
	}
}

// copies writes how fresh and how old copies were, which is not what policies that aim
// at captures are made for.
func (p *page) copies(list []Result) {
	if len(list) == 0 {
		return
	}
	p.say("The copies in the same settings: the share of the time that they were up to date, and in brackets their mean age, from the first change that they lacked; 0 while they lack none. Only `freshness` and `age`, and `auto` if it is told to, aim at these.")
	head := []string{"recording"}
	for _, f := range list[0].Feats {
		head = append(head, f.Name)
	}
	var rows [][]string
	means := []string{"*mean*"}
	for _, r := range list {
		row := []string{r.Trace}
		for _, f := range r.Feats {
			row = append(row, fmt.Sprintf("%.3f (%s)", f.Fresh, aged(f.Age)))
		}
		rows = append(rows, row)
	}
	for i := range list[0].Feats {
		sum := 0.0
		for _, r := range list {
			sum += r.Feats[i].Fresh / float64(len(list))
		}
		means = append(means, fmt.Sprintf("%.3f", sum))
	}
	p.table(1, head, append(rows, means))
}

// aged writes an age with the unit that suits it.
func aged(seconds float64) string {
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}} {
		if seconds >= u.seconds {
			return strconv.FormatFloat(seconds/u.seconds, 'f', 1, 64) + u.name
		}
	}
	return strconv.FormatFloat(seconds, 'f', 0, 64) + "s"
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
	head := []string{"recording", "instant, budget, period", "limit"}
	for _, f := range list[0].Feats {
		head = append(head, f.Name)
	}
	var rows [][]string
	means := []string{"*mean share of the limit*", "", ""}
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
		cell := fmt.Sprintf("%.3f", f.Utility)
		if f.onEqualTerms() && f.Utility == best {
			cell = "**" + cell + "**"
		}
		row = append(row, fmt.Sprintf("%s (%s)", cell, lab.FormatPercent(f.OfLimit, 0)))
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
