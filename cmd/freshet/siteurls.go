package main

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"os"

	"github.com/spf13/cobra"

	"freshet/internal/cli/display"
	"freshet/internal/dates"
	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/sites/sitemap"
)

// A siteURLs is one run of the verb "site urls".
type siteURLs struct {
	*program
	base  string
	limit int
	json  bool
}

// A siteList is what site urls prints as JSON.
type siteList struct {
	Kind     sitemap.Kind      `json:"kind"`
	URLs     []siteURL         `json:"urls"`
	Sitemaps []string          `json:"sitemaps"`
	Complete bool              `json:"complete"`
	Problems []sitemap.Problem `json:"problems"`

	dates []dates.Date // of the sitemaps
	pages int          // listed in all
	more  int          // sitemaps listed in all
}

type siteURL struct {
	URL       string     `json:"url"`
	LastMod   dates.Date `json:"lastmod,omitzero"`
	Published dates.Date `json:"published,omitzero"`
}

// listBytes is how large a list may be that is fetched: the protocol's 50 MB, and
// some more, since a page of that size would not be watched.
const listBytes = 64 << 20

const siteURLsHelp = `Read one sitemap and print the pages that it lists, with the date of the last change
if it has one, and the sitemaps that it lists. They are not followed. Nothing is
stored.

It reads sitemaps and their indexes, also in gzip, plain lists of URLs, and RSS, Atom
and JSON feeds. What is wrong with a list is reported with its line, and the rest is
read. A file may be -, which is standard input; --base says where it is from, so that
relative URLs can be resolved.

docs/reference/sites.md has the details.`

func siteURLsVerb(p *program) *cobra.Command {
	v := siteURLs{program: p}
	cmd := &cobra.Command{
		Use:     "urls FILE|URL",
		Short:   "List the pages that a sitemap lists",
		Long:    siteURLsHelp,
		Example: "  freshet site urls https://example.com/sitemap.xml\n  freshet site urls sitemap.xml.gz --json\n  freshet site urls pages.txt --base https://example.com/ -n 20",
		Args:    takes(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.base, "base", "", "`URL` of the list, if it is read from a file")
	limitFlag(cmd, &v.limit, 0)
	optionFlags(flags, "allow-cidr")
	jsonFlag(cmd, &v.json)
	return cmd
}

func (v *siteURLs) run(cmd *cobra.Command, named string) error {
	from, o, err := v.open(cmd, named)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := v.read(from, o)
	if err != nil {
		err = fmt.Errorf("read %s: %w", mask.URL(named), err)
	}
	if err != nil && len(out.URLs)+len(out.Sitemaps) == 0 {
		return err
	}
	if v.json {
		if printed := v.printJSON(out); printed != nil {
			return printed
		}
		return err
	}
	if printed := v.show(out); printed != nil {
		return printed
	}
	return err
}

// open returns a list, and what is known of it.
func (v *siteURLs) open(cmd *cobra.Command, named string) (io.ReadCloser, sitemap.Options, error) {
	o := sitemap.Options{Base: v.base, Now: v.now()}
	switch {
	case named == "-":
		return io.NopCloser(v.in), o, nil
	case !hasScheme.MatchString(named):
		f, err := os.Open(named)
		return f, o, err
	case v.base != "":
		return nil, o, usagef("site urls: --base is for files; leave it out, or the URL")
	}
	resp, err := v.fetch(cmd, named)
	if err != nil {
		return nil, o, err
	}
	o.Base = resp.URL
	if _, params, err := mime.ParseMediaType(resp.MediaType); err == nil {
		o.Charset = params["charset"]
	}
	return io.NopCloser(bytes.NewReader(resp.Body)), o, nil
}

// fetch fetches a list as a daemon with these settings would.
func (v *siteURLs) fetch(cmd *cobra.Command, url string) (resp freshet.Response, err error) {
	settings, err := v.fetchSettings(cmd)
	if err != nil {
		return resp, err
	}
	checked, err := settings.CheckURL(url)
	if err != nil {
		return resp, fmt.Errorf("read %s: %w", mask.URL(url), err)
	}
	settings.Fetch.WireBytes = max(settings.Fetch.WireBytes, listBytes)
	settings.Fetch.DecodedBytes = max(settings.Fetch.DecodedBytes, listBytes)
	fetcher := auth.New(auth.Config{
		Fetcher: fetch.New(settings.Fetch), Profiles: settings.Requests, Media: settings.Media, Vault: secrets.Open(settings.SecretDir()), Env: v.env,
	})
	return fetcher.Fetch(cmd.Context(), freshet.Request{URL: checked})
}

// read reads a list. Of what it lists no more is kept than is printed.
func (v *siteURLs) read(from io.Reader, o sitemap.Options) (out siteList, err error) {
	out.URLs, out.Sitemaps = []siteURL{}, []string{}
	s, err := sitemap.Read(from, o, func(e sitemap.Entry) error {
		switch enough := v.limit > 0 && len(out.URLs)+len(out.Sitemaps) >= v.limit; {
		case enough:
		case e.Sitemap:
			out.Sitemaps = append(out.Sitemaps, e.URL)
			out.dates = append(out.dates, e.LastMod)
		default:
			u := siteURL{URL: e.URL, LastMod: e.LastMod, Published: e.Published}
			if u.Published == u.LastMod {
				u.Published = dates.Date{}
			}
			out.URLs = append(out.URLs, u)
		}
		return nil
	})
	out.Kind, out.Complete, out.pages, out.more = s.Kind, s.Complete, s.Pages, s.Sitemaps
	out.Problems = append([]sitemap.Problem{}, s.Problems...)
	return out, err
}

// show prints what a list says to people.
func (v *siteURLs) show(out siteList) error {
	t := display.Table{Head: []string{"LAST CHANGE", "URL"}}
	for i, url := range out.Sitemaps {
		t.Add(display.Plain(out.dates[i].String()), display.Plain(harmless(url)+" (a sitemap)"))
	}
	for _, u := range out.URLs {
		date := u.LastMod
		if date.IsZero() {
			date = u.Published
		}
		t.Add(display.Plain(date.String()), display.Plain(harmless(u.URL)))
	}
	s := v.screen()
	if len(t.Rows) > 0 {
		if err := t.Write(v.out, s); err != nil {
			return err
		}
	}
	count := counted(out.pages, "page")
	if out.more > 0 {
		count += " and " + counted(out.more, "sitemap")
	}
	if shown := len(t.Rows); shown < out.pages+out.more {
		count = fmt.Sprintf("%s; %d are shown", count, shown)
	}
	if !out.Complete {
		count += "; the list is not complete"
	}
	fmt.Fprintln(v.out, s.Dim(count))
	for _, p := range out.Problems {
		where, times := "", ""
		if p.Line > 0 {
			where = fmt.Sprintf("line %d: ", p.Line)
		}
		if p.Count > 1 {
			times = fmt.Sprintf(" (%d times)", p.Count)
		}
		v.remark("problem: %s%s%s", where, harmless(p.Text), times)
	}
	return nil
}
