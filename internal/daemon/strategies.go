package daemon

import (
	"slices"
	"sync"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// tagStrategies are when sources with a tag are polled that have no strategy of their
// own.
type tagStrategies struct {
	mu    sync.Mutex
	byTag []freshet.TagStrategy
}

func (t *tagStrategies) tags() []freshet.TagStrategy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byTag
}

// SetStrategies changes when sources with a tag are polled that have no strategy of
// their own.
func (d *Daemon) SetStrategies(byTag []freshet.TagStrategy) {
	d.strategies.mu.Lock()
	defer d.strategies.mu.Unlock()
	if len(byTag)+len(d.strategies.byTag) == 0 {
		return
	}
	d.strategies.byTag = slices.Clone(byTag)
	if d.running.Load() && !d.cfg.Unbound { // a daemon that starts reads them then
		d.inbox.post(sched.StrategiesSet(d.strategies.tags))
	}
}
