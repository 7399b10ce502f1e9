package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/mask"
)

// A suggested is a way to read a page, with what it would read.
type suggested struct {
	extract.Suggestion
	Preview triedPreview `json:"preview"`
}

// A triedPreview is what a suggestion makes of the page.
type triedPreview struct {
	Text   string         `json:"text"`
	Items  int            `json:"items"`
	Fields freshet.Fields `json:"fields,omitempty"`
	Error  string         `json:"error,omitempty"`
}

func suggestVerb(p *program) *cobra.Command {
	v := trial{program: p}
	cmd := &cobra.Command{
		Use:   "suggest [URL|SOURCE]",
		Short: "Propose how to read a page: its article, a list, a table, a price",
		Long: `Fetch a page once, look for an article, a list of items, a table, a price and a feed,
and show how to watch each of them, with a preview. Nothing is stored.

Save a chain that you like to a file, and give it to freshet add or edit with
--chain FILE.`,
		Example: "  freshet test suggest https://shop.example/pumps\n  freshet test suggest news --json\n  freshet test suggest --file page.html",
		Args:    takes(0, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.suggest(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.file, "file", "", "read this file instead of a page; - is standard input")
	serverFlags(flags)
	optionFlags(flags, "allow-cidr")
	jsonFlag(cmd, &v.json)
	return completed(p, cmd, 1)
}

func (v *trial) suggest(cmd *cobra.Command, args []string) error {
	get := fileResponse(v.in, v.file)
	switch {
	case v.file != "" && len(args) > 0:
		return usagef("suggest: --file reads a file; leave out the URL or the source")
	case v.file == "" && len(args) == 0:
		return freshet.WithHint(usagef("suggest: what is to be read?"), "name a URL or a source, or give --file PATH")
	case v.file == "":
		s := freshet.Source{URL: args[0]}
		var err error
		if !hasScheme.MatchString(s.URL) {
			if s, err = v.source(cmd, args[0]); err != nil {
				return err
			}
		}
		if get, err = v.fetching(cmd, s); err != nil {
			return err
		}
	}
	resp, err := get(cmd.Context())
	if err != nil {
		return err
	}
	found, err := extract.Suggest(resp)
	if err != nil {
		return err
	}
	if rd, err := extract.Extract(reading.Recipe{}, resp); err == nil && extract.NeedsScript(resp.MediaType, resp.Body, rd.Text) {
		v.remark("hint: the page has hardly any text without JavaScript; watch it in a browser with freshet add URL --render")
	}
	all := []suggested{}
	for _, s := range found {
		all = append(all, suggested{s, v.preview(cmd.Context(), s, resp)})
	}
	if v.json {
		return v.printJSON(all)
	}
	if len(all) == 0 {
		v.remark("no part of the page stands out; watch all of it, or choose a part with freshet test --css SELECTOR")
	}
	for _, s := range all {
		v.showSuggestion(s)
	}
	return nil
}

// preview reads the response as a suggestion says.
func (v *trial) preview(ctx context.Context, s extract.Suggestion, resp freshet.Response) triedPreview {
	if s.URL != "" {
		return triedPreview{}
	}
	rd, _, err := v.read(ctx, s.Recipe, resp)
	if err != nil {
		return triedPreview{Error: err.Error()}
	}
	return triedPreview{Text: mask.Shorten(string(rd.Text), 2000), Items: rd.Items.Len(), Fields: rd.Fields}
}

func (v *trial) showSuggestion(s suggested) {
	paint := v.screen()
	fmt.Fprintf(v.out, "%s %s\n", paint.Bold(s.What), paint.Dim(harmless("("+s.Why+")")))
	if s.URL != "" {
		fmt.Fprintln(v.out, "  watch this instead: "+harmless(s.URL))
		return
	}
	fmt.Fprintln(v.out, "  chain: "+harmless(s.Chain()))
	for _, line := range fieldLines(s.Preview.Fields) {
		fmt.Fprintln(v.out, "  "+harmless(line))
	}
	if s.Preview.Error != "" {
		fmt.Fprintln(v.out, "  "+harmless(s.Preview.Error))
	}
	if len(s.Preview.Fields) > 0 {
		return
	}
	for i, line := range strings.Split(strings.TrimSuffix(s.Preview.Text, "\n"), "\n") {
		if i == someLines/2 {
			fmt.Fprintln(v.out, paint.Dim("  ..."))
			break
		}
		fmt.Fprintln(v.out, paint.Dim("  | ")+harmless(line))
	}
}
