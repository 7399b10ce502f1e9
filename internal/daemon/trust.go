package daemon

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// IndexTrusts returns how far the indexes of a site can be believed, as far as they have
// spoken. There is nothing if nothing is learnt.
func (d *Daemon) IndexTrusts(ctx context.Context, site freshet.SourceID) (map[freshet.SourceID]learn.IndexTrust, error) {
	found := map[freshet.SourceID]learn.IndexTrust{}
	if d.brain.learner == nil {
		return found, nil
	}
	err := d.inLoop(ctx, func(_ time.Time, s *sched.Scheduler) {
		for slot, source := range s.All() {
			if source.ID != site && (source.Of != site || !source.Index) {
				continue
			}
			if trust, ok := d.brain.learner.IndexTrust(slot); ok {
				found[source.ID] = trust
			}
		}
	})
	return found, err
}
