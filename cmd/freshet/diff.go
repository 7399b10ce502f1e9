package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

const diffHelp = `Show what changed between two versions of a source. Without FROM and TO, compare
the newest version with the one before it; with FROM alone, compare it with the
newest. "freshet history SOURCE" lists the version numbers. --from and --to take
times instead: the versions that were current then are compared. --as-of compares the
version that was current at a time with the one before it.

In a terminal, changed words are highlighted, long lines are cut to the sentences
that changed, and blocks that were moved are marked. In a pipe you get a plain
unified diff.

  --unified       a plain unified diff, also in a terminal
  --side-by-side  the old text on the left and the new text on the right
  --word          word by word: [-removed-]{+added+}, or in colour
  --html          a web page of its own, safe to open
  --json-patch    a JSON Patch (RFC 6902): of JSON documents, or else of the
                  extracted fields and the items of the versions
  --json          hunks and lines as JSON

Where versions have extracted fields or items, all formats say first what became of
them: fields with old and new value, and items that are new (+), back (+), updated
(~, with the fields that differ) or gone (-). In text formats these lines begin with
"#", so that patch passes over them.

--visual compares the screenshots of the versions instead, and writes the new one
with everything that changed marked in red.`

// diffForms are the flags of how a diff is shown, of which one can be given.
var diffForms = []struct{ flag, help string }{
	{"unified", "print a plain unified diff"},
	{"side-by-side", "show the old text on the left and the new text on the right"},
	{"word", "show the words that changed"},
	{"html", "print a web page"},
	{"json-patch", "print a JSON Patch (RFC 6902)"},
	{"json", "print JSON"},
}

func diffVerb(p *program) *cobra.Command {
	forms := make([]bool, len(diffForms))
	var visual bool
	var out, from, to, asOf string
	cmd := &cobra.Command{
		Use:     "diff SOURCE [FROM] [TO]",
		Short:   "Show what changed between two versions",
		Long:    diffHelp,
		Example: "  freshet diff news\n  freshet diff news 3 7\n  freshet diff news --from 7d --to 1d\n  freshet diff --side-by-side news\n  freshet diff --word news\n  freshet diff --html news > news.html\n  freshet diff --visual shop --out changed.png",
		Args:    takes(1, 3),
	}
	for i, f := range diffForms {
		cmd.Flags().BoolVar(&forms[i], f.flag, false, f.help)
	}
	cmd.Flags().BoolVar(&visual, "visual", false, "compare the screenshots, pixel by pixel; needs --out")
	cmd.Flags().StringVar(&out, "out", "", "`file` to write the marked screenshot to; - means standard output")
	cmd.Flags().StringVar(&from, "from", "", "compare the version of this `time`: a date, a time, or how long ago, such as 2d")
	cmd.Flags().StringVar(&asOf, "as-of", "", "compare the version of this `time` with the one before it")
	cmd.Flags().StringVar(&to, "to", "", "with the version of this `time` (default: the newest)")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		form, err := diffForm(forms)
		if err != nil {
			return err
		}
		between, err := diffBetween(args[1:])
		if err != nil {
			return err
		}
		times, err := diffTimes(p, from, to, asOf, args[1:])
		if err != nil {
			return err
		}
		asJSON := form == "json"
		if visual != (out != "") || out == "-" && asJSON || visual && form != "" && !asJSON {
			return usagef("diff: --visual and --out FILE.png go together, and only --json goes with them")
		}
		s, err := c.Sources.Find(ctx, args[0])
		if err != nil {
			return err
		}
		for i, at := range times {
			if at.IsZero() {
				continue
			}
			v, err := c.Sources.VersionAt(ctx, s.ID, at)
			if err != nil {
				return err
			}
			between[i] = v.Number
		}
		if between[0] == between[1] && !times[0].IsZero() {
			p.remark("version %d was current at both times", between[0])
			return nil
		}
		if visual {
			return diffPictures(p, ctx, c, s, between, out, asJSON)
		}
		return showDiff(p, ctx, c, s.ID, between, form)
	}), 1)
}

// diffTimes returns the times whose versions are to be compared; zero where none is given.
func diffTimes(p *program, from, to, asOf string, numbers []string) (times [2]time.Time, err error) {
	switch {
	case from == "" && to == "" && asOf == "":
		return times, nil
	case len(numbers) > 0:
		return times, usagef("diff: name versions or use times, not both")
	case asOf != "" && from+to != "":
		return times, usagef("diff: --as-of goes with neither --from nor --to")
	case asOf != "":
		times[1], err = p.moment("as-of", asOf)
		return times, err
	case from == "":
		return times, usagef("diff: --to needs --from")
	}
	if times[0], err = p.moment("from", from); err != nil {
		return times, err
	}
	if times[1] = p.now(); to != "" {
		times[1], err = p.moment("to", to)
	}
	return times, err
}

// diffForm returns the form that is asked for; "" if none is.
func diffForm(forms []bool) (form string, err error) {
	for i, given := range forms {
		if !given {
			continue
		}
		if form != "" {
			return "", freshet.WithHint(usagef("diff: --%s and --%s cannot be used together", form, diffForms[i].flag), "leave out one of them")
		}
		form = diffForms[i].flag
	}
	return form, nil
}

// diffBetween returns the numbers of the versions to compare; zero means that the API
// chooses.
func diffBetween(args []string) (between [2]int, err error) {
	for i, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return between, usagef("diff: %q is not a version number; freshet history lists them", arg)
		}
		between[i] = n
	}
	return between, nil
}

// showDiff prints a diff in one of the forms.
func showDiff(p *program, ctx context.Context, c *connection, id freshet.SourceID, between [2]int, form string) error {
	switch f := client.DiffFormat(form); f {
	case client.DiffHTML, client.DiffJSONPatch:
		text, err := c.Sources.FormattedDiff(ctx, id, between[0], between[1], f)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(p.out, strings.TrimSuffix(text, "\n")+"\n")
		return err
	}
	d, err := c.Sources.Diff(ctx, id, between[0], between[1])
	if err != nil {
		return err
	}
	view := newDiffView(p)
	switch form {
	case "json":
		return p.printJSON(d)
	case "unified":
		view.Screen = display.Screen{}
		view.Notes(d)
		view.Unified(d)
		return nil
	}
	view.Notes(d)
	switch form {
	case "side-by-side":
		view.Sides(d)
	case "word":
		view.Words(d)
	default:
		view.Unified(d)
	}
	return nil
}
