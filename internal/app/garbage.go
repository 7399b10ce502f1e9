package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent returns the value of GOGC for a live heap: 100 up to 256 MiB and less above, so that
// the garbage of a node with a million sources is a fifth of its heap.
func gcPercent(live uint64) int {
	const spare = 256 * mib
	percent := spare * 100 / max(live, 1)
	return int(min(100, max(20, percent/5*5))) // in steps, because each change stops the world
}

// TuneGC adjusts GOGC to the live heap until ctx is done.
func TuneGC(ctx context.Context) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	was := 100
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(live)
		if is := gcPercent(live[0].Value.Uint64()); is != was {
			debug.SetGCPercent(is)
			was = is
		}
	}
}
