package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"freshet/internal/lab/plot"
)

// pictureFlags say where pictures go.
type pictureFlags struct{ svg, html string }

func (f *pictureFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.svg, "svg", "", "draw a chart to this SVG file")
	set.StringVar(&f.html, "html", "", "write a report with charts to this HTML file")
}

// wanted reports whether anybody wants a picture.
func (f *pictureFlags) wanted() bool { return f.svg != "" || f.html != "" }

// write draws the picture into the files that were named.
func (f *pictureFlags) write(p plot.Page) error {
	if f.svg != "" {
		if err := os.WriteFile(f.svg, []byte(p.SVG()), 0o644); err != nil {
			return fmt.Errorf("write the chart: %w", err)
		}
	}
	if f.html != "" {
		if err := os.WriteFile(f.html, []byte(p.HTML()), 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}
