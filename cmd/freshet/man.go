package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manVerb(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write the manual pages",
		Long:    "Write a manual page for each command into a directory. Packages contain them.",
		Example: "  freshet man /usr/local/share/man/man1\n  man freshet-add",
		Args:    takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writePages(p.root(), args[0], thisBuild().Version)
		},
	}
}

// writePages writes the pages of a command and of those below it that help lists.
func writePages(cmd *cobra.Command, dir, version string) error {
	var page strings.Builder
	writePage(&page, cmd, version)
	if err := os.WriteFile(filepath.Join(dir, manualName(cmd)+".1"), []byte(page.String()), 0o644); err != nil {
		return err
	}
	for _, part := range listed(cmd) {
		if err := writePages(part, dir, version); err != nil {
			return err
		}
	}
	return nil
}

func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// listed returns the commands below cmd that help lists, without those that cobra adds.
func listed(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			all = append(all, c)
		}
	}
	return all
}

// writePage writes the manual page of a command, in the macros of man(7).
func writePage(w io.Writer, cmd *cobra.Command, version string) {
	fmt.Fprintf(w, ".TH %q 1 \"\" \"freshet %s\" \"Freshet\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(manualName(cmd)), version, roff(manualName(cmd)), roff(cmd.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(w, ".SH DESCRIPTION\n")
		for i, text := range strings.Split(strings.TrimSpace(cmd.Long), "\n\n") {
			if i > 0 {
				fmt.Fprintln(w, ".PP")
			}
			writeParagraph(w, text)
		}
	}
	if parts := listed(cmd); len(parts) > 0 {
		fmt.Fprintln(w, ".SH COMMANDS")
		for _, part := range parts {
			fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(manualName(part)), roff(part.Short))
		}
	}
	for _, of := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", cmd.LocalNonPersistentFlags()}, {"OPTIONS OF ALL COMMANDS", cmd.Root().PersistentFlags()}} {
		if of.flags.HasAvailableFlags() {
			fmt.Fprintln(w, ".SH", of.title)
			of.flags.VisitAll(func(f *pflag.Flag) { writeFlag(w, f) })
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(w, ".SH SEE ALSO\n.BR %s (1)\n", roff(manualName(cmd.Parent())))
	}
}

// writeParagraph writes a paragraph; a table, whose lines are indented, keeps its lines.
func writeParagraph(w io.Writer, text string) {
	if strings.HasPrefix(text, " ") || strings.Contains(text, "\n ") {
		fmt.Fprintf(w, ".nf\n%s\n.fi\n", roff(text))
		return
	}
	fmt.Fprintln(w, roff(text))
}

func writeFlag(w io.Writer, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	fmt.Fprintf(w, ".TP\n.B %s\n%s\n", strings.TrimSpace(roff(name+" "+kind)), roff(usage))
}

// roff returns text as it stands, where roff would take some of it for commands.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
