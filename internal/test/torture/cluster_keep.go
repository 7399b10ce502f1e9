//go:build unix

package torture

import (
	"context"
	"slices"
	"strings"
	"time"
)

// restartAfter is how long a supervisor takes to start a process again.
const restartAfter = 500 * time.Millisecond

// supervise starts processes again that have ended by themselves, until ctx is done. A node may
// end only if it cannot start, and a hand only if a brain has asked it to.
func (g *grove) supervise(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, restartAfter)
		for _, p := range append(slices.Clone(g.nodes), g.hands...) {
			if !p.take() {
				continue
			}
			if p.over() && ctx.Err() == nil {
				g.mourn(p)
				if err := p.start(g.Freshet); err != nil {
					g.report.violate("process: %s cannot be started: %v", p.name, err)
				}
			}
			p.leave()
		}
	}
}

// mourn judges whether a process may have ended.
func (g *grove) mourn(p *proc) {
	defer g.diary.note("%s had ended by itself", p.name)()
	said := p.log.now()
	began := strings.Contains(said, "msg=running") || strings.Contains(said, "standing by:") || strings.Contains(said, "working for the leader")
	asked := p.at == "" && p.cmd.ProcessState.ExitCode() == 0
	if began && !asked {
		lines := strings.Split(strings.TrimSpace(said), "\n")
		g.report.violate("process: %s ended by itself: %s", p.name, strings.Join(lines[max(0, len(lines)-2):], " "))
	}
}
