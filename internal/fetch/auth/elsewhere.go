package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// elsewhere brings the state of a source that is not a page of the Web. Like a request
// it asks for leave, and counts as one.
func (c *Client) elsewhere(ctx context.Context, medium freshet.Medium, req freshet.Request) (freshet.Response, error) {
	resp := freshet.Response{URL: req.URL}
	if req.Leave != nil {
		if err := req.Leave(ctx, freshet.Hop{URL: req.URL}); err != nil {
			return resp, err
		}
	}
	resp.Requests = 1
	limits := c.cfg.Fetcher.Limits()
	within := limits.Total
	if req.Source != nil && req.Source.Request.Limit() > 0 {
		within = min(within, req.Source.Request.Limit())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, &freshet.FetchError{Class: failure.TimeoutTotal, Err: fmt.Errorf("not finished within %v", within)})
	defer cancel()
	_, rest, _ := strings.Cut(req.URL, ":")
	resp.MediaType = "text/plain; charset=utf-8"
	var err error
	switch medium {
	case freshet.InFile:
		err = c.readFile(ctx, req, limits.WireBytes, &resp)
	case freshet.InExec:
		resp.Body, err = c.run(ctx, req, rest, limits.WireBytes)
	case freshet.InDNS:
		name, kind, _ := strings.Cut(rest, "?type=")
		var lines []string
		lines, err = c.cfg.Fetcher.Records(ctx, name, kind)
		resp.Body = joined(lines)
	case freshet.InTLS:
		var lines []string
		lines, err = c.cfg.Fetcher.Certificates(ctx, rest)
		resp.Body = joined(lines)
	}
	if err != nil {
		if _, ok := errors.AsType[*freshet.FetchError](err); !ok && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return resp, err
	}
	resp.Status, resp.WireBytes = 200, int64(len(resp.Body))
	if req.Source != nil {
		err = judge(req.Source.Expect, resp.Body)
	}
	return resp, err
}

func joined(lines []string) []byte {
	if len(lines) == 0 {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

func fileFailure(format string, args ...any) error {
	return &freshet.FetchError{Class: failure.File, Err: fmt.Errorf(format, args...)}
}

// readFile reads a file below a directory that is allowed. A link that leads out of it
// is not followed.
func (c *Client) readFile(ctx context.Context, req freshet.Request, most int64, resp *freshet.Response) error {
	media := *c.media.Load()
	path, err := media.path(req.URL)
	if err != nil {
		return fileFailure("%w", err)
	}
	dir, below, _ := media.root(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fileFailure("%w", err)
	}
	defer root.Close()
	file, err := root.OpenFile(below, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return fileFailure("%w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return fileFailure("%w", err)
	case !info.Mode().IsRegular():
		return fileFailure("%s is not a regular file", path)
	case info.Size() > most:
		return &freshet.FetchError{Class: failure.LargeWire, Err: fmt.Errorf("the file is larger than %d bytes", most)}
	}
	if req.Room != nil {
		if err := req.Room(ctx, info.Size()); err != nil {
			return err
		}
	}
	resp.Body, err = io.ReadAll(io.LimitReader(file, most+1))
	if err != nil || int64(len(resp.Body)) > most {
		return fileFailure("%s cannot be read: %w", path, errors.Join(err, errors.New("it may have grown meanwhile")))
	}
	resp.Modified = info.ModTime().Truncate(time.Second)
	if kind := mime.TypeByExtension(filepath.Ext(path)); kind != "" {
		resp.MediaType = kind
	}
	return nil
}
