package main

import (
	"fmt"
	"strings"

	"freshet/internal/app/demo"
)

// A strip is one line of a picture: cells side by side, cut at the width.
type strip []cell

// write returns the strip no wider than width.
func (s strip) write(width int) string {
	var b strings.Builder
	for _, c := range s {
		text := []rune(c.text)
		if len(text) > width {
			text = text[:max(width, 0)]
		}
		width -= len(text)
		if c.paint == nil {
			b.WriteString(string(text))
		} else {
			b.WriteString(c.paint(string(text)))
		}
	}
	return b.String()
}

// demoPicture draws a scene in at most width columns and height rows.
func demoPicture(t *demo.Stage, s demo.Scene, width, height int, paint palette) []string {
	label := func(text string) cell { return cell{fmt.Sprintf(" %-11s ", text), paint.dim} }
	strips := []strip{
		{{" freshet demo ", paint.bold}, plain(" " + stopwatch(s.Clock) + "  "), {fmt.Sprintf("%d pages on %d hosts, all on this machine; press Ctrl-C to stop", len(t.Web.Pages()), len(t.Web.Hosts())), paint.dim}},
		{},
		{label("budget"), plain(fmt.Sprintf("%s: %s, %d failed", rate(t.Budget), counted(s.Polls, "poll"), s.Failed))},
		{label("truth"), plain(counted(s.Score.Changes, "change") + " so far: "),
			{fmt.Sprintf("%d captured", s.Score.Captured), paint.green}, plain(", "),
			{fmt.Sprintf("%d missed", s.Score.Missed), paint.red}, plain(", "),
			{fmt.Sprintf("%d pending", s.Score.Pending), paint.yellow}},
		{},
		append(strip{label(t.Policy)}, bar(s.Score, width, paint.green)...),
		append(strip{label("rival")}, bar(s.Rival, width, paint.cyan)...),
		{label(""), {"of changes, without those pending; the rival polls all pages equally", paint.dim}},
	}
	if line := sameColours(t.Policy); line != "" {
		strips = append(strips, strip{label(""), {line, paint.dim}})
	}
	strips = append(strips, courseStrips(&t.Course, t.Policy, width, paint)...)
	traffic, closest := mannersInWords(s.Manners, t.Delay)
	strips = append(strips, strip{}, strip{label("manners"), plain(traffic)}, strip{label(""), plain(closest), {", as the web counted", paint.dim}}, strip{})
	if s.FirstChange > 0 {
		strips = append(strips, strip{label("captured"), {fmt.Sprintf("first change captured after %.1fs", s.FirstChange), paint.dim}})
	} else {
		strips = append(strips, strip{label("captured"), {"no change yet", paint.dim}})
	}
	for _, c := range s.Recent {
		strips = append(strips, strip{plain(" " + clock(c.At) + "  "), {fmt.Sprintf("%-18s", c.Source), paint.bold}, {fmt.Sprintf("%5.1fs late  ", c.Late), paint.dim}, plain(harmless(c.Summary))})
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
		{strings.Repeat("█", full), paint},
		plain(strings.Repeat("░", room-full)),
		plain(fmt.Sprintf(" %4s  %5.1fs late", recall(s), s.MeanDelay)),
	}
}

// courseStrips draws the last points of both curves in the width there is.
func courseStrips(c *demo.Course, name string, width int, paint palette) []strip {
	policy, rival := c.Curves()
	if len(policy) == 0 {
		return nil
	}
	const figures = 44 // room for what stands before and after the curve
	room := min(max(width-figures, 8), 60)
	draw := func(label string, points [][2]float64, words string, colour func(string) string) strip {
		last := points[len(points)-1][1]
		points = points[max(0, len(points)-room):]
		return strip{{fmt.Sprintf(" %-11s ", label), paint.dim}, {spark(points), colour}, plain(fmt.Sprintf(" %3.0f%%  ", 100*last)), {words, paint.dim}}
	}
	return []strip{draw("last minute", policy, name, paint.green), draw("", rival, "the rival", paint.cyan)}
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
