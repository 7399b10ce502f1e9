package main

import (
	"os"

	"github.com/spf13/cobra"

	"freshet/content"
)

// extractMemory is what one child process may use to apply selectors.
const extractMemory = 256 << 20

// extract is the child process that applies selectors, where it can be killed.
func (p *program) extract() *cobra.Command {
	return &cobra.Command{
		Use:    "extract",
		Short:  "Apply selectors for a daemon, over standard input and output",
		Hidden: true,
		Args:   takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return content.Serve(p.in, p.out, extractMemory)
		},
	}
}

// newReader returns a reader of responses that has selectors applied by
// children of this process.
func newReader() (*content.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return content.NewReader(content.ReaderConfig{Command: []string{self, "extract"}, Memory: extractMemory}), nil
}
