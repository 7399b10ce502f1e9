package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/extract/visual"
	"freshet/internal/freshet"
)

func screenshotVerb(p *program) *cobra.Command {
	var number int
	var out string
	cmd := &cobra.Command{
		Use:   "screenshot SOURCE",
		Short: "Save the screenshot of a version",
		Long: `Save the screenshot that was taken with a version, as a PNG file. Only sources with
render: {screenshot: true} or render: {compare: picture} have them. Without --version, save that of the newest
version. Compare two of them with freshet diff --visual.`,
		Example: "  freshet history screenshot shop --out shop.png\n  freshet history screenshot shop --version 3 --out - > shop.png",
		Args:    takes(1, 1),
	}
	cmd.Flags().IntVar(&number, "version", 0, "number of the version (default the newest)")
	cmd.Flags().StringVar(&out, "out", "", "`file` to write to; - means standard output")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		if out == "" {
			return usagef("screenshot: say where to with --out FILE.png")
		}
		if number < 0 {
			return usagef("screenshot: %d is not a version number; freshet history lists them", number)
		}
		s, err := c.Sources.Find(ctx, args[0])
		if err != nil {
			return err
		}
		picture, err := c.Sources.Screenshot(ctx, s.ID, number)
		if err != nil {
			return err
		}
		return writePicture(p, out, picture)
	}), 1)
}

// writePicture writes a picture to a file, or to standard output.
func writePicture(p *program, out string, picture []byte) error {
	if out == "-" {
		if isTerminal(p.out) {
			return usagef("a picture cannot be shown on a terminal; use --out FILE.png")
		}
		_, err := p.out.Write(picture)
		return err
	}
	return os.WriteFile(out, picture, fs.FileMode(0o644))
}

// diffPictures compares the screenshots of two versions. Zero means the newest for the
// second, and the one before that for the first.
func diffPictures(p *program, ctx context.Context, c *connection, s client.Source, between [2]int, out string, asJSON bool) error {
	d, err := c.Sources.Diff(ctx, s.ID, between[0], between[1])
	if err != nil {
		return err
	}
	defined, err := s.Defined()
	if err != nil {
		return err
	}
	_, ignored := defined.Recipe.Render.Ignored()
	var pictures [2][]byte
	for i, n := range []int{d.From.Number, d.To.Number} {
		if pictures[i], err = c.Sources.Screenshot(ctx, s.ID, n); err != nil {
			return err
		}
	}
	v, err := visual.Compare(pictures[0], pictures[1], ignored)
	if err != nil {
		return fmt.Errorf("compare the screenshots of versions %d and %d: %w", d.From.Number, d.To.Number, err)
	}
	picture, err := v.Picture()
	if err != nil {
		return err
	}
	if err := writePicture(p, out, picture); err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(map[string]any{"source": s.ID, "from": d.From.Number, "to": d.To.Number, "share": v.Share, "regions": v.Regions})
	}
	if out != "-" {
		change := freshet.PictureChange{Share: v.Share, Count: len(v.Regions), Regions: v.Regions}
		fmt.Fprintf(p.out, "%s between versions %d and %d; see %s\n", change.Where(), d.From.Number, d.To.Number, out)
	}
	return nil
}
