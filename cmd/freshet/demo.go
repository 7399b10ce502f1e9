package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"freshet/internal/app/config"
	"freshet/internal/app/demo"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A demoRun is one run of the verb demo: a daemon that watches a web whose truth
// is known.
type demoRun struct {
	*program
	demo.Demo
	length time.Duration // zero means until interrupted
	json   bool
	plain  bool
	chart  string // file for a picture of the course; "" means none
}

// demoLength is how long the demo runs without a terminal to interrupt it.
const demoLength = 3 * time.Minute

func demoVerb(p *program) *cobra.Command {
	d := demoRun{program: p, Demo: demo.Demo{Settings: config.Defaults(p.env)}}
	var budget, chosen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See Freshet work on a simulated web, without any setup",
		Long: `Start a small simulated web on this machine and watch it with a real daemon under a
tight budget. No Internet access is needed, and nothing is left behind.

The simulation knows when each page changes, so the demo can show what is impossible
to know on the real web: how many changes were missed. Some pages change every few
seconds and some almost never; some change in bursts, at fixed times, or together
with the rest of their site. For comparison, a rival spends the same budget on all
pages equally. At first both capture about the same share of changes. As Freshet
learns when each page changes, it captures more.

Every page is polled once before the clock starts. On a terminal the demo runs until
you press Ctrl-C, otherwise for three minutes. --plot draws both curves to an SVG
file at the end.`,
		Example: "  freshet lab demo\n  freshet lab demo --for 10m --plot demo.svg\n  freshet lab demo --for 30s --json | tail -1",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Started = time.Now()
			err := errors.Join(wrongFlag("budget", d.Settings.SetBudget(budget)), wrongFlag("policy", d.Settings.SetPolicy(chosen)))
			if err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.Var((*lengthFlag)(&d.length), "for", "how long to run (default: until Ctrl-C on a terminal, otherwise "+units.FormatDuration(demoLength)+")")
	flags.StringVar(&budget, "budget", "80/m", "most requests to make, such as 80/m or 2/s")
	flags.StringVar(&chosen, "policy", policy.Default, "what to poll next: "+strings.Join(policy.Names, ", "))
	flags.Uint64Var(&d.Seed, "seed", 1, "seed of the simulation: the same seed gives the same changes")
	flags.BoolVar(&d.plain, "plain", false, "print lines instead of redrawing the screen")
	flags.StringVar(&d.chart, "plot", "", "draw the share captured over time to this SVG file")
	jsonFlag(cmd, &d.json)
	return cmd
}

// run shows the demo until ctx is done or its time is over.
func (d *demoRun) run(ctx context.Context) (err error) {
	if d.Extract, err = extractor(); err != nil {
		return err
	}
	return d.Run(ctx, d.show)
}

// show shows what happens, until ctx is done, the time is over, or what runs
// beside it ends.
func (d *demoRun) show(ctx, running context.Context, s *demo.Stage) error {
	view := d.newView(s)
	view.open()
	defer view.close()
	var over <-chan time.Time
	if d.length == 0 && !view.redraws() {
		d.length = demoLength
	}
	if d.length > 0 {
		over = time.After(d.length)
	}
	tick := time.NewTicker(view.every())
	defer tick.Stop()
	for {
		select {
		case <-running.Done():
			return nil
		case <-ctx.Done():
			return d.finish(running, s, view)
		case <-over:
			return d.finish(running, s, view)
		case <-tick.C:
		}
		scene, err := s.Look(running, time.Now())
		if err != nil {
			return err
		}
		if err := view.draw(scene); err != nil {
			return err
		}
	}
}

// finish shows how it ended.
func (d *demoRun) finish(ctx context.Context, s *demo.Stage, view *demoView) error {
	scene, err := s.Look(ctx, time.Now())
	if err != nil {
		return err
	}
	if err := view.finish(scene); err != nil || d.chart == "" {
		return err
	}
	chart := s.Chart(fmt.Sprintf("Share of changes captured in the last minute, at %s", cli.Rate(s.Budget)), scene.At.Sub(s.Began))
	if err := os.WriteFile(d.chart, []byte(chart.SVG()), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

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
		fmt.Fprintf(v.out, "watching %d pages on %d hosts of a simulated web: %s, policy %s\n", len(v.stage.Web.Pages()), len(v.stage.Web.Hosts()), cli.Rate(v.stage.Budget), v.stage.Policy)
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
	for i, line := range demoPicture(v.stage, s, width, height, v.screen().Palette) {
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
		fmt.Fprintf(&b, "%s  %-18s %s %s\n", clock(c.At), c.Source, paint.Dim(fmt.Sprintf("%5.1fs late", c.Late)), harmless(c.Summary))
	}
	if v.drawn++; v.drawn%scoreLineEvery == 0 && !s.Final {
		fmt.Fprintln(&b, paint.Bold(scoreLine(s)))
	}
	_, err := fmt.Fprint(v.out, b.String())
	return err
}

// scoreLine says in one line how things stand.
func scoreLine(s demo.Scene) string {
	line := fmt.Sprintf("[%s] %s; of %s: %d captured, %d missed, %d pending; captured %s, rival %s",
		cli.Stopwatch(s.Clock), counted(s.Polls, "poll"), counted(s.Score.Changes, "change"),
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
	fmt.Fprintf(&b, "%s at %s: %s, %d failed\n", cli.Stopwatch(s.Clock), cli.Rate(t.Budget), counted(s.Polls, "poll"), s.Failed)
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

// mannersInWords describes whether budget and politeness were kept.
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
		rows[0] += fmt.Sprintf(" %5s", cli.Stopwatch(m.End))
		rows[1] += fmt.Sprintf(" %4.0f%%", 100*m.Policy)
		rows[2] += fmt.Sprintf(" %4.0f%%", 100*m.Rival)
	}
	return "captured, minute by minute:\n  " + strings.Join(rows[:], "\n  ") + "\n"
}

// A strip is one line of a picture: cells side by side, cut at the width.
type strip []display.Cell

// write returns the strip no wider than width.
func (s strip) write(width int) string {
	var b strings.Builder
	for _, c := range s {
		text := []rune(c.Text)
		if len(text) > width {
			text = text[:max(width, 0)]
		}
		width -= len(text)
		if c.Paint == nil {
			b.WriteString(string(text))
		} else {
			b.WriteString(c.Paint(string(text)))
		}
	}
	return b.String()
}

// demoPicture draws a scene in at most width columns and height rows.
func demoPicture(t *demo.Stage, s demo.Scene, width, height int, paint display.Palette) []string {
	label := func(text string) display.Cell { return display.Painted(fmt.Sprintf(" %-11s ", text), paint.Dim) }
	strips := []strip{
		{display.Painted(" freshet lab demo ", paint.Bold), display.Plain(" " + cli.Stopwatch(s.Clock) + "  "), display.Painted(fmt.Sprintf("%d pages on %d hosts, all on this machine; press Ctrl-C to stop", len(t.Web.Pages()), len(t.Web.Hosts())), paint.Dim)},
		{},
		{label("budget"), display.Plain(fmt.Sprintf("%s: %s, %d failed", cli.Rate(t.Budget), counted(s.Polls, "poll"), s.Failed))},
		{label("truth"), display.Plain(counted(s.Score.Changes, "change") + " so far: "),
			display.Painted(fmt.Sprintf("%d captured", s.Score.Captured), paint.Green), display.Plain(", "),
			display.Painted(fmt.Sprintf("%d missed", s.Score.Missed), paint.Red), display.Plain(", "),
			display.Painted(fmt.Sprintf("%d pending", s.Score.Pending), paint.Yellow)},
		{},
		append(strip{label(t.Policy)}, bar(s.Score, width, paint.Green)...),
		append(strip{label("rival")}, bar(s.Rival, width, paint.Cyan)...),
		{label(""), display.Painted("of changes, without those pending; the rival polls all pages equally", paint.Dim)},
	}
	if line := sameColours(t.Policy); line != "" {
		strips = append(strips, strip{label(""), display.Painted(line, paint.Dim)})
	}
	strips = append(strips, courseStrips(&t.Course, t.Policy, width, paint)...)
	traffic, closest := mannersInWords(s.Manners, t.Delay)
	strips = append(strips, strip{}, strip{label("manners"), display.Plain(traffic)}, strip{label(""), display.Plain(closest), display.Painted(", as the web counted", paint.Dim)}, strip{})
	if s.FirstChange > 0 {
		strips = append(strips, strip{label("captured"), display.Painted(fmt.Sprintf("first change captured after %.1fs", s.FirstChange), paint.Dim)})
	} else {
		strips = append(strips, strip{label("captured"), display.Painted("no change yet", paint.Dim)})
	}
	for _, c := range s.Recent {
		strips = append(strips, strip{display.Plain(" " + clock(c.At) + "  "), display.Painted(fmt.Sprintf("%-18s", c.Source), paint.Bold), display.Painted(fmt.Sprintf("%5.1fs late  ", c.Late), paint.Dim), display.Plain(harmless(c.Summary))})
	}
	var lines []string
	for _, s := range strips[:min(len(strips), height)] {
		lines = append(lines, s.write(width))
	}
	return lines
}

// bar draws a share of the width, and says it and the delay in figures.
func bar(s demo.Score, width int, paint func(string) string) strip {
	const figures = 36 // room for what stands before and after the bar
	room := min(max(width-figures, 8), 60)
	full := 0
	if s.Decided() {
		full = int(s.Recall*float64(room) + 0.5)
	}
	return strip{
		display.Painted(strings.Repeat("█", full), paint),
		display.Plain(strings.Repeat("░", room-full)),
		display.Plain(fmt.Sprintf(" %4s  %5.1fs late", recall(s), s.MeanDelay)),
	}
}

// courseStrips draws the last points of both curves in the width there is.
func courseStrips(c *demo.Course, name string, width int, paint display.Palette) []strip {
	policy, rival := c.Curves()
	if len(policy) == 0 {
		return nil
	}
	const figures = 44 // room for what stands before and after the curve
	room := min(max(width-figures, 8), 60)
	draw := func(label string, points [][2]float64, words string, colour func(string) string) strip {
		last := points[len(points)-1][1]
		points = points[max(0, len(points)-room):]
		return strip{display.Painted(fmt.Sprintf(" %-11s ", label), paint.Dim), display.Painted(spark(points), colour), display.Plain(fmt.Sprintf(" %3.0f%%  ", 100*last)), display.Painted(words, paint.Dim)}
	}
	return []strip{draw("last minute", policy, name, paint.Green), draw("", rival, "the rival", paint.Cyan)}
}

// spark draws shares as a line of blocks.
func spark(points [][2]float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points {
		b.WriteRune(blocks[min(len(blocks)-1, max(0, int(p[1]*float64(len(blocks)))))])
	}
	return b.String()
}
