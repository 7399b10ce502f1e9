package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cli/display"
	"freshet/internal/extract"
	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/browser"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
	"freshet/internal/lazyregexp"
	"freshet/internal/mask"
	"freshet/internal/units"
)

// A trial is one run of the verb test.
type trial struct {
	*program
	chain   chainFlags
	file    string
	history bool
	render  string
	picture string // file to write the picture of the page to
	full    bool
	json    bool
}

// testPatience is how long a response may take to read at a terminal. A
// daemon gives up sooner.
const (
	testPatience   = 20 * time.Second
	daemonPatience = 2 * time.Second
)

func testVerb(p *program) *cobra.Command {
	v := trial{program: p}
	cmd := &cobra.Command{
		Use:   "test [URL|SOURCE]",
		Short: "Try how a page is read, step by step",
		Long: `Fetch a page once, read it, and print the output of each step of the chain, with
the time it took, and the text, values and items at the end. Nothing is stored.

The steps are those of the source, or those that you give: with --chain FILE, or
with one flag a step, in the order in which they are to run. With --file a response
that you saved is read instead of a page: HTML, JSON, a feed, CSV, iCalendar, PDF or
XLSX.

With --history the chain is tried on the stored versions of a source: which changes
it would have reported, and which it would have spared you.

docs/reference/reading.md has every step with an example.`,
		Example: "  freshet test https://example.com/ --main --text\n" +
			"  freshet test https://shop.example/pump --css .price --regex '[0-9.,]+'\n" +
			"  freshet test https://api.example/items --jq '.items[] | .name' --json\n" +
			"  freshet test --file page.html --extract 'price=css .price | number'\n" +
			"  freshet test news --chain chain.yaml --history",
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.file, "file", "", "read this file instead of a page; - is standard input")
	flags.BoolVar(&v.history, "history", false, "try the chain on the stored versions of a source")
	flags.BoolVar(&v.full, "full", false, "print all that each step makes, not only its first lines")
	serverFlags(flags)
	flags.StringVar(&v.render, "render", "", "show the page in Chromium first, as with freshet add --render")
	flags.Lookup("render").NoOptDefVal = "true"
	flags.StringVar(&v.picture, "out", "", "`file` to write the picture of the page to, if --render takes one")
	v.chain.register(flags)
	optionFlags(flags, "allow-cidr")
	jsonFlag(cmd, &v.json)
	return completed(p, cmd, 1)
}

// hasScheme matches what is a URL and not the name of a source.
var hasScheme = lazyregexp.New(`^[a-z][a-z0-9+.-]*:\S`)

func (v *trial) run(cmd *cobra.Command, args []string) error {
	recipe, err := v.chain.recipe(v.in)
	if err != nil {
		return err
	}
	switch {
	case v.file != "" && (len(args) > 0 || v.history):
		return usagef("test: --file reads a file; leave out the URL, the source and --history")
	case v.file != "":
		return v.try(cmd.Context(), recipe, fileResponse(v.in, v.file))
	case len(args) == 0:
		return freshet.WithHint(usagef("test: what is to be read?"), "name a URL or a source, or give --file PATH")
	case v.history:
		return v.overHistory(cmd, args[0], recipe)
	}
	s := freshet.Source{URL: args[0]}
	if !hasScheme.MatchString(s.URL) {
		if s, err = v.source(cmd, args[0]); err != nil {
			return err
		}
		if !v.chain.given() {
			kind := recipe.Kind
			if recipe = s.Recipe; kind != "" {
				recipe.Kind = kind
			}
		}
	}
	get, err := v.fetching(cmd, s)
	if err != nil {
		return err
	}
	return v.try(cmd.Context(), recipe, get)
}

// fetching returns how a source is fetched, as a daemon with these settings would.
func (v *trial) fetching(cmd *cobra.Command, s freshet.Source) (func(context.Context) (freshet.Response, error), error) {
	settings, err := v.fetchSettings(cmd)
	if err != nil {
		return nil, err
	}
	if s.URL, err = settings.CheckURL(s.URL); err != nil {
		return nil, fmt.Errorf("test %s: %w", mask.URL(s.URL), err)
	}
	req := freshet.Request{URL: s.URL}
	if s.Request != nil || s.Expect != nil {
		req.Source = &s
	}
	fetcher := auth.New(auth.Config{
		Fetcher: fetch.New(settings.Fetch), Profiles: settings.Requests, Media: settings.Media, Vault: secrets.Open(settings.SecretDir()), Env: v.env,
	})
	how := s.Recipe.Render
	if v.render != "" {
		if err := json.Unmarshal([]byte(v.render), &how); err != nil {
			return nil, usagef("test: --render: %v", err)
		}
	}
	return func(ctx context.Context) (freshet.Response, error) {
		resp, err := fetcher.Fetch(ctx, req)
		if err != nil || !how.On || !browser.Readable(resp) {
			return resp, err
		}
		return v.shownPage(ctx, settings, how, resp)
	}, nil
}

// shownPage returns a page as a browser shows it.
func (v *trial) shownPage(ctx context.Context, s config.Settings, how rendering.Settings, resp freshet.Response) (freshet.Response, error) {
	r, err := app.NewRenderer(s, nil)
	if err != nil {
		return resp, err
	}
	b, err := r.Open(ctx)
	if err != nil {
		return resp, err
	}
	defer b.Close()
	view, err := b.Render(ctx, browser.Page{Settings: how, Document: resp})
	if err == nil {
		err = v.savePicture(view.Picture)
	}
	return view.Response, err
}

// savePicture writes the picture of the page to the file that was named, or says how large it is.
func (v *trial) savePicture(picture []byte) error {
	if v.picture != "" && picture == nil {
		return usagef("test: --out writes a picture; --render='{\"compare\": \"picture\"}' takes one")
	}
	if picture == nil {
		return nil
	}
	if c, err := png.DecodeConfig(bytes.NewReader(picture)); err == nil {
		v.remark("the picture has %d x %d pixels and %s", c.Width, c.Height, units.FormatSize(int64(len(picture))))
	}
	if v.picture == "" {
		return nil
	}
	return writePicture(v.program, v.picture, picture)
}

// source returns what is said of a source, with its whole URL.
func (v *trial) source(cmd *cobra.Command, named string) (s freshet.Source, err error) {
	c, err := v.connect(cmd, app.Reading)
	if err != nil {
		return s, err
	}
	defer c.close()
	found, err := c.Sources.Find(cmd.Context(), named)
	if err == nil && mask.Applied(found.URL) { // otherwise a reader could do it, too
		found, err = c.Sources.Reveal(cmd.Context(), found.ID)
	}
	if err != nil {
		return s, err
	}
	return found.Defined()
}

// fileResponse returns a saved response. What it is shows by its name and look.
func fileResponse(in io.Reader, name string) func(context.Context) (freshet.Response, error) {
	return func(context.Context) (freshet.Response, error) {
		read := func() ([]byte, error) { return os.ReadFile(name) }
		if name == "-" {
			read = func() ([]byte, error) { return io.ReadAll(in) }
		}
		body, err := read()
		if err != nil {
			return freshet.Response{}, fmt.Errorf("read the response: %w", err)
		}
		return freshet.Response{Status: http.StatusOK, Body: body, MediaType: mediaTypeOf(name)}, nil
	}
}

// mediaTypeOf returns the media type that the name of a file stands for; "" if
// the look of what is in it has to tell.
func mediaTypeOf(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	switch ext {
	case ".html", ".htm", ".xhtml":
		return "text/html"
	case ".json", ".jsonl", ".ndjson", ".geojson":
		return "application/json"
	case ".rss", ".atom", ".rdf":
		return "application/rss+xml"
	case ".xml":
		return "application/xml"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".ics", ".ical", ".ifb":
		return "text/calendar"
	case ".pdf":
		return "application/pdf"
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".yaml", ".yml":
		return "application/yaml"
	case "", ".txt", ".log", ".md", ".body", ".bin", ".gz":
		return ""
	}
	media := mime.TypeByExtension(ext)
	if strings.HasPrefix(media, "image/") || strings.HasPrefix(media, "video/") || strings.HasPrefix(media, "audio/") {
		return media
	}
	return ""
}

// A triedStep is what a step made of the response, as JSON.
type triedStep struct {
	Step   string  `json:"step"`
	Out    string  `json:"out"`
	TookMS float64 `json:"took_ms"`
}

// A tried is what became of a response, as JSON.
type tried struct {
	URL     string            `json:"url,omitempty"`
	Kind    reading.Kind      `json:"kind,omitempty"`
	Title   string            `json:"title,omitempty"`
	Steps   []triedStep       `json:"steps"`
	Text    string            `json:"text"`
	Items   []freshet.Item    `json:"items"`
	Fields  freshet.Fields    `json:"fields"`
	Missing map[string]string `json:"missing,omitempty"` // why a field is null
	Error   string            `json:"error,omitempty"`
}

// try reads a response and shows what became of it.
func (v *trial) try(ctx context.Context, recipe reading.Recipe, get func(context.Context) (freshet.Response, error)) error {
	resp, err := get(ctx)
	if err != nil {
		return err
	}
	rd, took, err := v.read(ctx, recipe, resp)
	out := tried{URL: mask.URL(resp.URL), Kind: rd.Kind, Title: rd.Title, Text: string(rd.Text), Items: rd.Items.All(), Fields: rd.Fields, Missing: rd.Missing, Steps: []triedStep{}}
	for _, s := range rd.Steps {
		out.Steps = append(out.Steps, triedStep{s.Step, s.Out, float64(s.Took.Microseconds()) / 1000})
	}
	if out.Items == nil {
		out.Items = []freshet.Item{}
	}
	if out.Fields == nil {
		out.Fields = freshet.Fields{}
	}
	if err != nil {
		out.Error = err.Error()
	}
	if took > daemonPatience {
		v.remark("reading took %s; a daemon gives up after %s", roughDuration(took), roughDuration(daemonPatience))
	}
	if extract.IsChecksum(rd.Text) {
		v.remark("hint: the response is compared by its size and checksum: it is not text, or is in a format that cannot be read; --kind says what it is")
	}
	if err == nil && len(rd.Text) == 0 && rd.Kind == reading.HTML && !recipe.Render.On {
		v.remark("hint: the page has no text as it is sent: it needs JavaScript, or consists of frames; --render shows it in a browser")
	}
	if v.json {
		if printed := v.printJSON(out); printed != nil {
			return printed
		}
		return err
	}
	v.show(out, recipe, err == nil)
	return err
}

// read reads a response as a daemon would, in a process that can be stopped.
func (v *trial) read(ctx context.Context, recipe reading.Recipe, resp freshet.Response) (extract.Reading, time.Duration, error) {
	command, err := extractor()
	if err != nil {
		return extract.Reading{}, 0, err
	}
	reader := extract.NewReader(extract.ReaderConfig{Command: command, Workers: 1, Timeout: testPatience, Memory: app.ExtractMemory})
	defer reader.Close()
	began := time.Now()
	rd, err := reader.Trace(ctx, recipe, resp)
	return rd, time.Since(began), err
}

// someLines is how many lines are shown of what a step makes.
const someLines = 8

func (v *trial) show(out tried, recipe reading.Recipe, worked bool) {
	paint := v.screen()
	for i, s := range out.Steps {
		name := s.Step
		if i < len(recipe.Read) {
			name = stepLabel(recipe.Read[i])
		}
		fmt.Fprintf(v.out, "%s %s\n", paint.Bold(harmless(fmt.Sprintf("%d %s", i+1, name))), paint.Dim(fmt.Sprintf("(%.1f ms)", s.TookMS)))
		v.lines(s.Out)
	}
	if !worked {
		return
	}
	fmt.Fprintf(v.out, "%s %s\n", paint.Bold("text"), paint.Dim(fmt.Sprintf("(%s, %s)", out.Kind, counted(strings.Count(out.Text, "\n"), "line"))))
	v.lines(out.Text)
	if len(out.Fields) > 0 {
		fmt.Fprintln(v.out, paint.Bold("fields"))
	}
	for _, name := range slices.Sorted(maps.Keys(out.Fields)) {
		text := fmt.Sprint(out.Fields[name])
		if why := out.Missing[name]; why != "" {
			text = "none: " + why
		}
		fmt.Fprintf(v.out, "  %s  %s\n", name, harmless(text))
	}
	if len(out.Items) > 0 {
		fmt.Fprintf(v.out, "%s %s\n", paint.Bold("items"), paint.Dim(fmt.Sprintf("(%d)", len(out.Items))))
	}
	for i, item := range out.Items {
		if i == someLines && !v.full {
			fmt.Fprintln(v.out, paint.Dim(fmt.Sprintf("  ... %d more; --full shows them", len(out.Items)-i)))
			break
		}
		fmt.Fprintf(v.out, "  %s  %s\n", harmless(item.Key), harmless(item.Label()))
	}
}

// lines shows the first lines of a text, or all of them.
func (v *trial) lines(text string) {
	paint := v.screen()
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range all {
		if i == someLines && !v.full {
			fmt.Fprintln(v.out, paint.Dim(fmt.Sprintf("  ... %s more; --full shows them", counted(len(all)-i, "line"))))
			return
		}
		fmt.Fprintln(v.out, "  "+harmless(line))
	}
}

// stepLabel returns a step as it could stand in a file.
func stepLabel(s reading.Step) string {
	text := s.Arg
	if s.Arg == "" {
		return s.Name
	}
	if json.Unmarshal([]byte(s.Arg), &text) != nil {
		text = s.Arg
	}
	return s.Name + ": " + text
}

// A triedVersion is what a chain makes of a stored version.
type triedVersion struct {
	Version int       `json:"version"`
	SeenAt  time.Time `json:"seen_at"`
	Was     bool      `json:"was_reported"`    // as a change
	Would   bool      `json:"would_report"`    // with this chain
	Summary string    `json:"summary"`         // of the change that it would report
	Error   string    `json:"error,omitempty"` // why the chain could not read it
}

// A triedHistory is what a chain makes of the history of a source.
type triedHistory struct {
	Source   freshet.SourceID `json:"source"`
	Versions []triedVersion   `json:"versions"`
	Reported int              `json:"reported"` // changes that the chain would report
	Spared   int              `json:"spared"`   // that were reported, and would not be
	Failed   int              `json:"failed"`   // versions that it cannot read
}

// overHistory reads the stored versions of a source with a chain.
func (v *trial) overHistory(cmd *cobra.Command, named string, recipe reading.Recipe) error {
	ctx := cmd.Context()
	c, err := v.connect(cmd, app.Reading)
	if err != nil {
		return err
	}
	defer c.close()
	s, err := c.Sources.Find(ctx, named)
	if err != nil {
		return err
	}
	if !v.chain.given() {
		defined, err := s.Defined()
		if err != nil {
			return err
		}
		recipe = defined.Recipe
	}
	versions, err := c.Sources.Versions(ctx, s.ID, freshet.Between{}, 0)
	if err != nil {
		return err
	}
	slices.Reverse(versions)
	command, err := extractor()
	if err != nil {
		return err
	}
	reader := extract.NewReader(extract.ReaderConfig{Command: command, Workers: 1, Timeout: testPatience, Memory: app.ExtractMemory})
	defer reader.Close()

	out := triedHistory{Source: s.ID, Versions: []triedVersion{}}
	var before []byte
	read := false // some version has been
	for i, version := range versions {
		body, err := c.Sources.Raw(ctx, s.ID, version.Number)
		if err != nil {
			return err
		}
		one := triedVersion{Version: version.Number, SeenAt: version.SeenAt, Was: i > 0}
		rd, err := reader.Read(ctx, recipe, freshet.Response{Body: body, MediaType: version.MediaType, URL: version.URL})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
			one.Error = err.Error()
			out.Failed++
		case read && !bytes.Equal(rd.Text, before):
			one.Would, one.Summary = true, extract.Diff(before, rd.Text).Summary()
			out.Reported++
		case one.Was:
			out.Spared++
		}
		if err == nil {
			before, read = rd.Text, true
		}
		out.Versions = append(out.Versions, one)
	}
	if v.json {
		return v.printJSON(out)
	}
	return v.showHistory(out)
}

func (v *trial) showHistory(out triedHistory) error {
	t := display.Table{Head: []string{"VERSION", "SEEN", "WOULD", "SUMMARY"}}
	for _, one := range out.Versions {
		would, summary := "spare", one.Summary
		switch {
		case one.Error != "":
			would, summary = "fail", one.Error
		case one.Would:
			would = "report"
		case !one.Was:
			would = "first"
		}
		t.Add(display.Plain(fmt.Sprint(one.Version)), display.Plain(one.SeenAt.Local().Format(time.DateTime)), display.Plain(would), display.Plain(harmless(summary)))
	}
	if err := t.Write(v.out, v.screen()); err != nil {
		return err
	}
	v.remark("%s would be reported and %d spared; %s could not be read", counted(out.Reported, "change"), out.Spared, counted(out.Failed, "version"))
	return nil
}
