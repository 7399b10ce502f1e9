package membudget_test

import (
	"testing"
	"testing/fstest"

	"freshet/internal/daemon/membudget"
)

func TestMachine(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:    6000000 kB\n"
	const mib = 1 << 20
	for _, c := range []struct {
		name        string
		files       map[string]string
		total, free int64
	}{
		{"nothing is known", nil, 0, 0},
		{"no group", map[string]string{"proc/meminfo": meminfo}, 8000000 << 10, 6000000 << 10},
		{"version 2, no limit", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user/me\n", "sys/fs/cgroup/user/me/memory.max": "max\n",
		}, 8000000 << 10, 6000000 << 10},
		{"version 2, limited above", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user/me\n",
			"sys/fs/cgroup/user/me/memory.max": "max\n",
			"sys/fs/cgroup/user/memory.max":    "536870912\n", "sys/fs/cgroup/user/memory.current": "104857600\n",
		}, 512 * mib, 412 * mib},
		{"version 2, in a container", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/memory.max": "268435456\n",
		}, 256 * mib, 256 * mib},
		{"version 1", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "12:cpu,cpuacct:/a\n4:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "134217728\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
		}, 128 * mib, 128 * mib},
		{"a limit above what there is", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1099511627776\n",
		}, 8000000 << 10, 6000000 << 10},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if total, free := membudget.Machine(root); total != c.total || free != c.free {
			t.Errorf("%s: %d in all and %d free, want %d and %d", c.name, total, free, c.total, c.free)
		}
	}
}
