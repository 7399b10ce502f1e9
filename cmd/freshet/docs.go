package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"freshet/docs"
)

func docsVerb(p *program) *cobra.Command {
	var listen, out string
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Show the documentation in the browser",
		Long: "Serve the documentation, with search, on this machine until you press Ctrl-C. It needs no Internet and no\n" +
			"daemon; a running daemon has it at /docs/. With --out, write it as a static site into a directory instead.",
		Example: "  freshet docs\n  freshet docs --out site",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out != "" {
				return writeDocs(out)
			}
			return serveDocs(cmd.Context(), listen, p.out)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to serve it on; port 0 picks a free one")
	cmd.Flags().StringVar(&out, "out", "", "`directory` to write the site to, instead of serving it")
	return cmd
}

// serveDocs serves the documentation until ctx is done.
func serveDocs(ctx context.Context, listen string, stdout io.Writer) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{file...}", docs.Serve)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Fprintf(stdout, "freshet: documentation on http://%s/\n", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// writeDocs writes the documentation as a static site into a directory.
func writeDocs(dir string) error {
	site, err := docs.Site()
	if err != nil {
		return err
	}
	for name, text := range site {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
