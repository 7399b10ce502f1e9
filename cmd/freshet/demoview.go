package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"freshet/internal/app/demo"
)

// A demoView shows a demo: as a picture that is redrawn, as lines, or as JSON.
type demoView struct {
	*program
	stage *demo.Stage
	form  demoForm
	drawn int // scenes so far
}

// A demoForm is how a demo is shown.
type demoForm uint8

const (
	asPicture demoForm = iota
	asLines
	asJSON
)

// Escape sequences for a picture on a screen of its own.
const (
	ownScreen  = "\x1b[?1049h\x1b[?25l"
	leaveIt    = "\x1b[?25h\x1b[?1049l"
	toTop      = "\x1b[H"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

func (d *demoRun) newView(stage *demo.Stage) *demoView {
	v := &demoView{program: d.program, stage: stage}
	switch {
	case d.json:
		v.form = asJSON
	case d.plain || !isTerminal(d.out) || d.env("TERM") == "dumb":
		v.form = asLines
	}
	return v
}

// redraws reports whether the view is a picture.
func (v *demoView) redraws() bool { return v.form == asPicture }

// every returns how often the view is to be drawn.
func (v *demoView) every() time.Duration {
	if v.redraws() {
		return 250 * time.Millisecond
	}
	return time.Second
}

// open begins the view.
func (v *demoView) open() {
	switch v.form {
	case asPicture:
		fmt.Fprint(v.out, ownScreen)
	case asLines:
		fmt.Fprintf(v.out, "watching %d pages on %d hosts of a simulated web: %s, policy %s\n", len(v.stage.Web.Pages()), len(v.stage.Web.Hosts()), rate(v.stage.Budget), v.stage.Policy)
		fmt.Fprintf(v.out, "polling every page once took %.1fs and %d requests; the clock starts now\n", v.stage.Began.Sub(v.stage.Started).Seconds(), v.stage.Baseline)
		if line := sameColours(v.stage.Policy); line != "" {
			fmt.Fprintln(v.out, line)
		}
	}
}

// close leaves the terminal as it was.
func (v *demoView) close() {
	if v.redraws() {
		fmt.Fprint(v.out, leaveIt)
	}
}

// draw shows a scene.
func (v *demoView) draw(s demo.Scene) error {
	switch v.form {
	case asJSON:
		return v.printLine(s)
	case asLines:
		return v.drawLines(s)
	}
	width, height := v.size()
	var b strings.Builder
	b.WriteString(toTop)
	for i, line := range demoPicture(v.stage, s, width, height, v.screen().palette) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + clearRight)
	}
	b.WriteString(clearBelow)
	_, err := fmt.Fprint(v.out, b.String())
	return err
}

// size returns the columns and rows of the terminal.
func (v *demoView) size() (width, height int) {
	if f, ok := v.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// scoreLineEvery is after how many scenes the lines say how things stand.
const scoreLineEvery = 5

func (v *demoView) drawLines(s demo.Scene) error {
	paint := v.screen()
	var b strings.Builder
	for _, c := range s.Fresh {
		fmt.Fprintf(&b, "%s  %-18s %s %s\n", clock(c.At), c.Source, paint.dim(fmt.Sprintf("%5.1fs late", c.Late)), harmless(c.Summary))
	}
	if v.drawn++; v.drawn%scoreLineEvery == 0 && !s.Final {
		fmt.Fprintln(&b, paint.bold(scoreLine(s)))
	}
	_, err := fmt.Fprint(v.out, b.String())
	return err
}

// scoreLine says in one line how things stand.
func scoreLine(s demo.Scene) string {
	line := fmt.Sprintf("[%s] %s; of %s: %d captured, %d missed, %d pending; captured %s, rival %s",
		stopwatch(s.Clock), counted(s.Polls, "poll"), counted(s.Score.Changes, "change"),
		s.Score.Captured, s.Score.Missed, s.Score.Pending, recall(s.Score), recall(s.Rival))
	if s.OfLate != nil && s.Clock > demo.Late {
		line += fmt.Sprintf("; in the last minute %.0f%% and %.0f%%", 100**s.OfLate, 100**s.RivalOfLate)
	}
	return line
}

// finish shows how the demo ended.
func (v *demoView) finish(s demo.Scene) error {
	s.Final = true
	if v.form == asJSON {
		return v.printLine(s)
	}
	if v.form == asLines {
		if err := v.drawLines(s); err != nil {
			return err
		}
	}
	v.close()
	v.form = asLines
	_, err := fmt.Fprint(v.out, demoSummary(v.stage, s))
	return err
}

// demoSummary says at the end what happened.
func demoSummary(t *demo.Stage, s demo.Scene) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s: %s, %d failed\n", stopwatch(s.Clock), rate(t.Budget), counted(s.Polls, "poll"), s.Failed)
	fmt.Fprintf(&b, "%s happened: %d captured, %d missed, %d pending\n", counted(s.Score.Changes, "change"), s.Score.Captured, s.Score.Missed, s.Score.Pending)
	fmt.Fprintf(&b, "captured %s, %.1fs late on average (policy %s)\n", recall(s.Score), s.Score.MeanDelay, s.Policy)
	fmt.Fprintf(&b, "captured %s, %.1fs late on average (rival that polls all pages equally)\n", recall(s.Rival), s.Rival.MeanDelay)
	b.WriteString(minutesInWords(t.Course.Minutes(), s.Policy))
	if s.FirstChange > 0 {
		fmt.Fprintf(&b, "first change captured %.1fs after the start\n", s.FirstChange)
	}
	traffic, closest := mannersInWords(s.Manners, t.Delay)
	fmt.Fprintf(&b, "as the servers counted: %s, %s\n", traffic, closest)
	return b.String()
}

// mannersInWords says whether budget and politeness were kept.
func mannersInWords(m demo.Manners, owed time.Duration) (traffic, closest string) {
	traffic = fmt.Sprintf("at most %s in a minute, %d during a Retry-After", counted(m.Busiest, "request"), m.Unwelcome)
	if m.Closest == 0 {
		return traffic, "no host polled twice"
	}
	return traffic, fmt.Sprintf("requests to one host at least %.1fs apart (%.1fs required)", m.Closest, owed.Seconds())
}

// sameColours says what to expect of a policy that learns nothing.
func sameColours(policy string) string {
	switch policy {
	case "uniform":
		return "uniform against uniform: the two should be close"
	case "round-robin":
		return "round-robin learns nothing either: the two should be close"
	}
	return ""
}

// stopwatch writes seconds as minutes and seconds.
func stopwatch(seconds float64) string {
	return fmt.Sprintf("%d:%02d", int(seconds)/60, int(seconds)%60)
}

// recall says which share of the decided changes was captured.
func recall(s demo.Score) string {
	if !s.Decided() {
		return "--"
	}
	return fmt.Sprintf("%.0f%%", 100*s.Recall)
}

// minutesInWords says minute by minute what both captured, as far as there is
// room for.
func minutesInWords(minutes []demo.Minute, policy string) string {
	const most = 10 // that fit beside each other
	if len(minutes) < 2 {
		return "" // one minute shows no course
	}
	rows := [3]string{fmt.Sprintf("%-11s", "minute"), fmt.Sprintf("%-11s", policy), fmt.Sprintf("%-11s", "rival")}
	for _, m := range minutes[max(0, len(minutes)-most):] {
		rows[0] += fmt.Sprintf(" %5s", stopwatch(m.End))
		rows[1] += fmt.Sprintf(" %4.0f%%", 100*m.Policy)
		rows[2] += fmt.Sprintf(" %4.0f%%", 100*m.Rival)
	}
	return "captured, minute by minute:\n  " + strings.Join(rows[:], "\n  ") + "\n"
}
