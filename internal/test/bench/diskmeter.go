package bench

import (
	"sync/atomic"

	"freshet/internal/test/diskfault"
)

// A diskMeter counts what SQLite asks of the disk.
type diskMeter struct {
	files         *diskfault.Files
	syncs, writes atomic.Int64
}

func newDiskMeter() (*diskMeter, error) {
	files, err := diskfault.NewFiles()
	if err != nil {
		return nil, err
	}
	m := &diskMeter{files: files}
	files.SetHook(func(c diskfault.Call) error {
		switch c.Op {
		case diskfault.Write:
			m.writes.Add(int64(c.Size))
		case diskfault.Sync:
			m.syncs.Add(1)
		}
		return nil
	})
	return m, nil
}
