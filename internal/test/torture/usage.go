package torture

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// usage is what a process takes of its machine. It is zero where there is no
// /proc to say it.
type usage struct {
	Memory int64 `json:"memory_bytes"` // resident
	Files  int   `json:"files"`        // open
}

// usageOf returns what a process takes at this moment.
func usageOf(pid int) (u usage) {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				u.Memory = kib << 10
			}
		}
	}
	if files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); err == nil {
		u.Files = len(files)
	}
	return u
}

// most returns the larger of each.
func (u usage) most(other usage) usage {
	return usage{max(u.Memory, other.Memory), max(u.Files, other.Files)}
}
