//go:build unix

package torture

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"freshet/internal/fetch"
)

const (
	fewestFiles = 64        // that a daemon has to get along with
	littleRoom  = 128 << 20 // GOMEMLIMIT of a life with little memory
	unreaders   = 60        // clients that ask for large bodies and do not read them

	// memoryRoom is what a daemon may take beside its limit: its code, the cache
	// and memory of SQLite, and what the kernel keeps for sockets.
	memoryRoom = 160 << 20

	// mostMemory bounds a life of which nothing was asked.
	mostMemory = 700 << 20
)

// fewFiles starts the daemon with a small limit of open files: its API stays up
// and its polls go on.
func (e *episode) fewFiles(ctx context.Context) {
	e.endSomehow()
	if !e.up(ctx, start{files: fewestFiles}) {
		return
	}
	e.dwell(ctx, 1500*time.Millisecond)
	e.check(ctx)
	if e.now.over() {
		return // which is found
	}
	e.endSomehow()
}

// littleMemory starts the daemon with little memory, and lets clients ask for
// large bodies that they do not read, while large pages are polled.
func (e *episode) littleMemory(ctx context.Context) {
	e.endSomehow()
	if !e.up(ctx, start{env: []string{fmt.Sprintf("GOMEMLIMIT=%d", littleRoom)}}) {
		return
	}
	e.now.memory = littleRoom + memoryRoom
	asking, stop := context.WithCancel(ctx)
	defer stop()
	c := fetch.Trusted(500 * time.Millisecond) // some are made to wait
	defer c.CloseIdleConnections()
	for i := range unreaders {
		url := fmt.Sprintf("%s/api/v1/sources/%s/versions/latest/raw", e.now.base, []string{"heavy0", "heavy1", "heavy2"}[i%3])
		req, err := http.NewRequestWithContext(asking, http.MethodGet, url, nil)
		if err != nil {
			continue
		}
		if resp, err := c.Do(req); err == nil {
			defer resp.Body.Close()
		}
	}
	e.dwell(ctx, time.Second)
	if status, _, err := e.get(ctx, "/api/v1/status"); err != nil || status != http.StatusOK {
		if !e.now.over() && ctx.Err() == nil {
			e.violate("API", "with %d clients that do not read, the status is answered with %d, %v", unreaders, status, err)
		}
	}
	e.report.checked("unread bodies", 1)
	if !e.now.over() {
		e.endSomehow()
	}
}

// endSomehow ends the daemon the hard or the gentle way.
func (e *episode) endSomehow() {
	if e.chance.IntN(2) == 0 {
		e.term()
	} else {
		e.kill()
	}
}

// checkUsage wants a life to have taken no more than it was given.
func (e *episode) checkUsage(l *life) {
	e.peak = e.peak.most(l.peak)
	e.report.checked("memory", 1)
	if l.peak.Memory > l.memory {
		e.violate("memory", "the daemon took %d MB, want at most %d MB", l.peak.Memory>>20, l.memory>>20)
	}
}
