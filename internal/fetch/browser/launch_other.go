//go:build !linux

package browser

import (
	"context"
	"errors"
	"net"
	"os"

	"freshet/internal/freshet/rendering"
)

const supported = false

// A process is a browser that runs; there is none on this system.
type process struct {
	profile           string
	commands, answers *os.File
	listener          net.Listener
	said              *tail
	over              chan struct{}
}

func (r *Renderer) start(context.Context, string, string, rendering.Viewport, bool) (*process, error) {
	return nil, errors.ErrUnsupported
}

func (p *process) kill() {}

func (p *process) memory() int64 { return 0 }

func refusedByKernel(error) bool { return false }

func clearAway(profile string) { os.RemoveAll(profile) }

func alive(int) bool { return true }

// Launch starts a browser in a network of its own, which this system has not.
func Launch([]string) error { return errors.ErrUnsupported }
