package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/extract"
	"freshet/internal/freshet"
)

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
func (v *trial) overHistory(cmd *cobra.Command, named string, recipe freshet.Recipe) error {
	ctx := cmd.Context()
	c, err := v.connect(cmd, app.Reading)
	if err != nil {
		return err
	}
	defer c.close()
	s, err := c.find(ctx, named)
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
	versions, err := c.Versions(ctx, s.ID, 0)
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
		body, err := c.Raw(ctx, s.ID, version.Number)
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
	t := table{head: []string{"VERSION", "SEEN", "WOULD", "SUMMARY"}}
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
		t.add(plain(fmt.Sprint(one.Version)), plain(one.SeenAt.Local().Format(time.DateTime)), plain(would), plain(harmless(summary)))
	}
	if err := t.write(v.out, v.screen()); err != nil {
		return err
	}
	v.remark("%s would be reported and %d spared; %s could not be read", counted(out.Reported, "change"), out.Spared, counted(out.Failed, "version"))
	return nil
}
