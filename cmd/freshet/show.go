package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

func showVerb(p *program) *cobra.Command {
	var asJSON, reveal bool
	var asOf string
	cmd := &cobra.Command{
		Use:   "show SOURCE",
		Short: "Show everything about a source",
		Long: `Show the settings and the state of a source. Name the source by its id, name
or URL. With --as-of, show the version that was current at a time instead.`,
		Example: "  freshet show news\n  freshet show --json https://example.com/\n  freshet show news --as-of 2026-11-01",
		Args:    takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&reveal, "reveal", false, "show the URL in full, including parts that look like a secret")
	cmd.Flags().StringVar(&asOf, "as-of", "", "show the version of this `time`: a date, a time, or how long ago, such as 2d")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		at, err := p.moment("as-of", asOf)
		if err != nil {
			return err
		}
		s, err := c.Sources.Find(ctx, args[0])
		if err == nil && asOf != "" {
			return showAsOf(ctx, p, c, s, at, asJSON)
		}
		if err == nil && reveal {
			s, err = c.Sources.Reveal(ctx, s.ID)
		}
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(s)
		}
		var why *client.Why
		if !s.Removed {
			why, err = c.whyIfKnown(ctx, s.ID)
		}
		if err != nil {
			return err
		}
		var fields map[string]any
		if len(s.Extract) > 0 && s.Standing.Version > 0 {
			v, err := c.Sources.Version(ctx, s.ID, 0)
			if err != nil {
				return err
			}
			fields = v.Fields
		}
		if err := printSource(p, s, why); err != nil {
			return err
		}
		for i, line := range fieldLines(fields) {
			name := ""
			if i == 0 {
				name = "values"
			}
			fmt.Fprintf(p.out, "%s %s\n", p.screen().Dim(display.Pad(name, showIndent-1)), harmless(line))
		}
		return nil
	}), 1)
}

// showIndent is where the values begin that show prints.
const showIndent = 15

// printSource prints a source, and when and why it is polled next if that is known.
func printSource(p *program, s client.Source, why *client.Why) error {
	paint, now := p.screen(), p.now()
	line := func(name, value string) {
		if value != "" && value != "0s" && value != "0" {
			if name != "url" { // which is shown whole, to be copied
				value = strings.Join(display.Wrap(value, max(0, paint.Width-showIndent), ""), "\n"+strings.Repeat(" ", showIndent))
			}
			fmt.Fprintf(p.out, "%s %s\n", paint.Dim(display.Pad(name, showIndent-1)), value)
		}
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return fmt.Sprintf("%s (%s)", ago(t, now), t.Local().Format(time.DateTime))
	}
	defined, err := s.Defined()
	if err != nil {
		return err
	}
	st := s.Standing
	line("id", string(s.ID))
	line("url", s.URL)
	line("name", harmless(s.Name))
	line("title", harmless(st.Title))
	if defined.Noise == freshet.NoiseAuto { // the default
		defined.Noise = freshet.NoiseUnset
	}
	for _, f := range freshet.SourceFields() {
		if !slices.Contains([]string{"id", "url", "name", "paused"}, f.Name) {
			line(strings.NewReplacer("_", " ", ".", " ").Replace(strings.TrimPrefix(f.Name, "select.")), strings.Join(f.Show(&defined), ", "))
		}
	}
	if st.MovedTo != "" {
		line("moved to", fmt.Sprintf("%s (freshet edit %s --url %s)", harmless(st.MovedTo), s.ID, harmless(st.MovedTo)))
	}
	line("origin", string(s.Origin))
	line("added", at(s.CreatedAt))
	state, colour := stateOf(s, paint.Palette)
	line("state", colour(state))
	if st.Suspect != nil {
		line("suspect", harmless(st.Suspect.String()))
		if st.Held != nil {
			line("held", heldInWords(s.ID, *st.Held, now))
		}
	} else if st.LandedOn != "" {
		line("landed on", harmless(st.LandedOn))
	}
	if st.Taught != nil {
		line("history", st.Taught.Words())
	}
	for i, text := range noiseInWords(s) {
		line([]string{"noisy", ""}[min(i, 1)], text)
	}
	if st.LastError != nil {
		line("last error", harmless(st.LastError.Message))
	}
	for i, r := range st.Remedies {
		if !slices.Contains([]string{"follow", "ignore", "choose"}, r.What) { // named above
			line([]string{"remedy", ""}[min(i, 1)], remedyInWords(r))
		}
	}
	line("last seen", at(st.LastSeen))
	line("last tried", at(st.LastAttempt))
	if !st.NotBefore.IsZero() {
		line("not before", st.NotBefore.Local().Format(time.DateTime))
	}
	if why != nil {
		line("next poll", nextInWords(why, now))
		line("chances", harmless(why.ChancesWords(time.Local)))
		line("foretold", harmless(why.ForetoldWords(time.Local)))
	}
	line("polls", fmt.Sprint(st.Polls))
	line("version", fmt.Sprint(st.Version))
	line("changes", fmt.Sprint(st.Changes))
	if q := st.Quiet; q != nil {
		line("not reported", quietInWords(*q))
	}
	if !st.ChangedAt.IsZero() {
		line("changed", at(st.ChangedAt))
	}
	return nil
}

// noiseInWords says where a source changes at nearly every poll, what becomes of that,
// and what to do about it.
func noiseInWords(s client.Source) (lines []string) {
	n := s.Standing.Noise
	if n == nil {
		if s.Is(client.Noisy) {
			lines = append(lines, fmt.Sprintf("it changes at almost every poll; watch only the part you need (freshet edit %s --css SELECTOR), or poll it less often (--min-gap 1h)", s.ID))
		}
		return lines
	}
	lines = append(lines, n.String()+":")
	for _, p := range n.Places {
		lines = append(lines, "- "+harmless(p.String()))
	}
	if n.Only > 0 && s.Noise != "auto" { // with auto, another line says how many were quiet
		lines = append(lines, fmt.Sprintf("with noise: auto, %d of these %d changes would not have been reported (freshet edit %s --noise auto)", n.Only, n.Differ, s.ID))
	}
	if try := stepFlags(n.Places); try != "" && len(s.Read) == 0 && s.Select == (client.Select{}) {
		lines = append(lines, fmt.Sprintf("to see which changes are left with these steps: freshet test %s%s --history", s.ID, try))
	}
	return lines
}

// stepFlags returns the steps that leave places out as flags of the verb "test".
func stepFlags(places []client.NoisePlace) (flags string) {
	for _, p := range places {
		step, ok := p.Step.(map[string]any) // of one name
		if !ok {
			continue
		}
		for name, arg := range step {
			text, plain := arg.(string)
			if !plain {
				written, err := json.Marshal(arg)
				if err != nil {
					continue
				}
				text = string(written)
			}
			if !strings.Contains(text, "'") {
				flags += fmt.Sprintf(" --%s '%s'", name, harmless(text))
			}
		}
	}
	return flags
}

// heldInWords says what is held, since when, and what becomes of it.
func heldInWords(id freshet.SourceID, h client.Quarantined, now time.Time) string {
	words := fmt.Sprintf("version %d, since %s (%s), seen in %s; ", h.Version, h.Since.Local().Format(time.DateTime), ago(h.Since, now), counted(h.Looks, "poll"))
	if !h.Again.IsZero() {
		words += "next look at " + h.Again.Local().Format(time.TimeOnly) + "; "
	}
	return words + fmt.Sprintf("%s; to accept it as the current content: freshet confirm %s", h.Next, id)
}

// quietInWords counts versions that were stored and not reported.
func quietInWords(q client.Quiets) string {
	var parts []string
	if q.Suspect > 0 {
		parts = append(parts, counted(q.Suspect, "suspect version"))
	}
	if q.Noise > 0 {
		parts = append(parts, counted(q.Noise, "version")+" with noise only")
	}
	return strings.Join(parts, ", ")
}
