package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A Progress shows on a terminal how far a piece of work has come. Several
// goroutines may add to it at once.
type Progress struct {
	bar *progressbar.ProgressBar // nil unless it is shown
}

// NewProgress begins to show a piece of work of so many steps. It shows nothing if w is
// not a terminal that can move its cursor; term is the TERM of the environment.
func NewProgress(w io.Writer, term, what string, steps int) *Progress {
	if !IsTerminal(w) || term == "dumb" {
		return &Progress{}
	}
	return &Progress{bar: progressbar.NewOptions(max(1, steps),
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// Shown reports whether there is a terminal to show it.
func (g *Progress) Shown() bool { return g.bar != nil }

// Add counts steps as done. A bar that cannot be drawn is no reason to stop the work.
func (g *Progress) Add(steps int) {
	if g.bar != nil {
		_ = g.bar.Add(steps)
	}
}

// Done clears the view.
func (g *Progress) Done() {
	if g.bar != nil {
		_ = g.bar.Finish()
	}
}
