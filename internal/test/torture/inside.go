//go:build unix

package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"freshet/internal/app"
	"freshet/internal/app/config"
	machine "freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// An order steers the daemon inside, one JSON object a line on its standard
// input.
type order struct {
	Clock *int64 `json:"clock,omitempty"` // set the clock to be so many seconds ahead
	Disk  ill    `json:"disk,omitempty"`  // what the disk does from now on
	Skip  int    `json:"skip,omitempty"`  // but not to so many writes or syncs
}

// Inside is the daemon whose clock and disk obey the campaign. It does what
// "freshet serve" does with the same settings, and takes orders on standard
// input until that ends. It returns the exit code.
func Inside(ctx context.Context, args []string, extract []string) int {
	flags := flag.NewFlagSet("inside", flag.ContinueOnError)
	file := flags.String("config", "", "the file of settings")
	offset := flags.Duration("offset", 0, "how far the clock is ahead")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	clock := &clock{}
	clock.ahead.Store(int64(*offset / time.Second))
	d, err := newSickDisk()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go obey(os.Stdin, clock, d)
	if err := serve(ctx, *file, extract, clock, d); err != nil {
		fmt.Fprintf(os.Stderr, "{\"level\":\"FATAL\",\"msg\":%q}\n", err)
		return exitCode(err)
	}
	return 0
}

// serve runs the daemon.
func serve(ctx context.Context, file string, extract []string, c *clock, d *sickDisk) error {
	load := func() (config.Settings, error) {
		return config.Load(config.Input{File: file, Env: os.Getenv, Flag: func(string) (string, bool) { return "", false }})
	}
	s, err := load()
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	return app.Serve(ctx, s, app.ServeConfig{
		Extract: extract,
		Version: "torture",
		Now:     c.now,
		Uptime:  machine.Uptime,
		Store:   sqlite.Config{VFS: d.files.VFS()},
		Log:     slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Load:    load,
		Hangups: hangups,
		Announce: func(url string) error {
			_, err := fmt.Printf("freshet: listening on %s\n", url)
			return err
		},
	})
}

// exitCode is that of the shipped program, as far as the campaign looks at it.
func exitCode(err error) int {
	switch {
	case errors.Is(err, freshet.ErrConflict), errors.Is(err, freshet.ErrBusy):
		return exitInTheWay
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged), errors.Is(err, freshet.ErrStoreFailed):
		return exitStorage
	}
	return 1
}

// The exit codes that the campaign looks at.
const (
	exitStorage  = 3
	exitInTheWay = 5
)

// obey carries out orders until there are no more. A daemon whose campaign has
// died must not live on.
func obey(r io.Reader, c *clock, d *sickDisk) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			break
		}
		if o.Clock != nil {
			c.ahead.Store(*o.Clock)
		}
		if o.Disk != "" {
			d.fall(o.Disk, o.Skip)
		}
	}
	os.Exit(1)
}

// A clock can be set while it runs.
type clock struct {
	ahead atomic.Int64 // seconds
}

// now returns the time as a process reads it whose machine's clock was set: the
// wall has moved, the monotonic reading has not. Package time offers no way to
// make such a time (Add moves both), so the seconds are changed where they are
// kept: 33 bits above the 30 bits of nanoseconds, while the top bit says that
// there is a monotonic reading.
func (c *clock) now() time.Time {
	t := time.Now()
	ahead := c.ahead.Load()
	if ahead == 0 {
		return t
	}
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(ahead) << 30
	return t
}
