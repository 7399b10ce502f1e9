package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli/display"
	"freshet/internal/fetch"
	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/units"
	"freshet/internal/worker"
)

// A robotsReading is one run of the verb site robots.
type robotsReading struct {
	*program
	agent string
	json  bool
	note  string // why the file could not be had
}

const siteRobotsHelp = `Say what a robots.txt allows a program to fetch, and which line decides. The file is
read as RFC 9309 says: the longest rule that matches decides, and Allow wins against a
Disallow that is as long.

Name a file, - for standard input, or a URL. Of a URL without a path, the robots.txt
of that site is read. If a site answers 404 or the like, everything is allowed; if it
cannot be reached, nothing is.`

func siteRobotsVerb(p *program) *cobra.Command {
	v := robotsReading{program: p}
	cmd := &cobra.Command{
		Use:   "robots FILE|URL [PATH...]",
		Short: "Say what a robots.txt allows, and which line decides",
		Long:  siteRobotsHelp,
		Example: "  freshet site robots https://example.com/ /private/page '/search?q=x'\n" +
			"  freshet site robots robots.txt --agent Googlebot /a --json",
		Args: takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, args[0], args[1:]) },
	}
	cmd.Flags().StringVar(&v.agent, "agent", "freshet", "`NAME` of the program, as robots.txt files call it")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &v.json)
	return cmd
}

func (v *robotsReading) run(cmd *cobra.Command, from string, paths []string) error {
	if v.agent == "" {
		return usagef("--agent: must not be empty")
	}
	answer, err := v.read(cmd, from)
	if err != nil {
		return err
	}
	report := v.report(answer, paths)
	if v.json {
		return v.printJSON(report)
	}
	return v.show(report)
}

// read returns the file, however it is to be had.
func (v *robotsReading) read(cmd *cobra.Command, from string) (a robots.Answer, err error) {
	switch u, parsed := url.Parse(from); {
	case from == "-":
		a.Body, err = io.ReadAll(v.in)
	case parsed == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return v.fetch(cmd, from)
	default:
		a.Body, err = os.ReadFile(from)
	}
	a.Status = 200
	if err != nil {
		return a, fmt.Errorf("read the robots.txt: %w", err)
	}
	return a, nil
}

// fetch asks a site for its file, as a daemon with these settings would.
func (v *robotsReading) fetch(cmd *cobra.Command, from string) (a robots.Answer, err error) {
	settings, err := v.fetchSettings(cmd)
	if err != nil {
		return a, err
	}
	at, err := settings.CheckURL(from)
	if err != nil {
		return a, fmt.Errorf("read %s: %w", mask.URL(from), err)
	}
	if u, err := url.Parse(at); err == nil && (u.Path == "" || u.Path == "/") {
		origin, _ := robots.Origin(at)
		at = robots.URL(origin)
	}
	return v.ask(cmd.Context(), settings.Fetch, at)
}

func (v *robotsReading) ask(ctx context.Context, config fetch.Config, at string) (robots.Answer, error) {
	resp, failed := fetch.New(config).Fetch(ctx, freshet.Request{URL: at, Enough: robots.MaxBytes + 1})
	a, err := worker.AnswerOf(resp, failed)
	switch {
	case err != nil:
		return a, fmt.Errorf("read %s: %w", mask.URL(at), err)
	case failed != nil:
		v.note = fmt.Sprintf("%s: %s", mask.URL(at), mask.Text(failed.Error()))
	}
	return a, nil
}

// A robotsReport is the content of a robots.txt as JSON.
type robotsReport struct {
	Verdicts   []robotsVerdict `json:"verdicts"`
	Sitemaps   []string        `json:"sitemaps"`
	CrawlDelay *float64        `json:"crawl_delay"` // seconds; null if there is none
	Problems   []robotsProblem `json:"problems"`
}

// A robotsVerdict says whether a path may be fetched.
type robotsVerdict struct {
	Path    string `json:"path"`
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"` // that decided; "" if none did
	Line    int    `json:"line,omitempty"`

	down bool // nothing is allowed because the file cannot be read
}

// A robotsProblem is something that is wrong with the file.
type robotsProblem struct {
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

// report returns the verdicts of the file on paths.
func (v *robotsReading) report(a robots.Answer, paths []string) robotsReport {
	report := robotsReport{Verdicts: []robotsVerdict{}, Sitemaps: []string{}, Problems: []robotsProblem{}}
	if v.note != "" {
		report.Problems = append(report.Problems, robotsProblem{Text: v.note})
	}
	now := time.Now()
	known := robots.Standing{}.Hear(now, v.agent, a)
	for _, path := range paths {
		verdict := known.Verdict(now, path)
		report.Verdicts = append(report.Verdicts, robotsVerdict{
			Path: path, Allowed: verdict.Allowed, Rule: verdict.Rule.String(), Line: verdict.Rule.Line, down: verdict.Unreachable,
		})
	}
	if d, asked := known.Rules.CrawlDelay(); asked {
		report.CrawlDelay = new(d.Seconds())
	}
	if known.Rules == nil {
		return report
	}
	file := robots.Parse(a.Body)
	report.Sitemaps = append(report.Sitemaps, file.Sitemaps()...)
	for _, p := range file.Problems() {
		report.Problems = append(report.Problems, robotsProblem{Line: p.Line, Text: p.Text})
	}
	return report
}

// show prints it for people.
func (v *robotsReading) show(report robotsReport) error {
	s := v.screen()
	t := display.Table{Head: []string{"PATH", "VERDICT", "LINE", "RULE"}, Short: map[string]int{"PATH": 60}, Drop: []string{"LINE"}}
	for _, x := range report.Verdicts {
		verdict, rule, line := display.Painted("allowed", s.Green), x.Rule, ""
		if !x.Allowed {
			verdict = display.Painted("disallowed", s.Red)
		}
		if x.Line > 0 {
			line = strconv.Itoa(x.Line)
		}
		if x.down {
			rule = "(the robots.txt cannot be read)"
		}
		t.Add(display.Plain(harmless(x.Path)), verdict, display.Plain(line), display.Plain(harmless(rule)))
	}
	if len(t.Rows) > 0 {
		if err := t.Write(v.out, s); err != nil {
			return err
		}
	}
	if report.CrawlDelay != nil {
		fmt.Fprintf(v.out, "crawl delay: %s\n", units.FormatDuration(time.Duration(*report.CrawlDelay*float64(time.Second))))
	}
	for _, at := range report.Sitemaps {
		fmt.Fprintln(v.out, "sitemap: "+harmless(at))
	}
	for _, p := range report.Problems {
		v.remark("%s", harmless(robots.Problem{Line: p.Line, Text: p.Text}.String()))
	}
	if len(report.Verdicts)+len(report.Sitemaps)+len(report.Problems) == 0 && report.CrawlDelay == nil {
		fmt.Fprintln(v.out, "There are no sitemaps, delays or problems. Name paths to see whether they are allowed.")
	}
	return nil
}
