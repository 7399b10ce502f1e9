package membudget

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Machine returns how many bytes of memory this process may use, and how many of
// them are free. That is what the machine has, or the container, whichever is
// less. Zero means that it is not known. Root is the file system of the
// machine, where /proc and /sys are looked for.
func Machine(root fs.FS) (total, free int64) {
	total, free = meminfo(root)
	limit, used := cgroup(root)
	if limit > 0 && (total == 0 || limit < total) {
		total = limit
		if left := max(0, limit-used); free == 0 || left < free {
			free = left
		}
	}
	return total, free
}

// meminfo returns what the kernel says of the whole machine.
func meminfo(root fs.FS) (total, available int64) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "MemTotal":
			total = n << 10
		case name == "MemAvailable":
			available = n << 10
		}
	}
	return total, available
}

// cgroup returns the tightest limit of the control groups that this process is
// in, and what is used of it. Zero means none.
func cgroup(root fs.FS) (limit, used int64) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		// hierarchy:controllers:path, where version 2 has no controllers
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, most, now := "sys/fs/cgroup", "memory.max", "memory.current"
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			base, most, now = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		}
		// A group is bound by those above it too. In a container the path may
		// be that of the outside, and only the root is there.
		for at := path.Join("/", parts[2]); ; at = path.Dir(at) {
			dir := path.Join(base, at)
			if n := number(root, path.Join(dir, most)); n > 0 && (limit == 0 || n < limit) {
				limit, used = n, number(root, path.Join(dir, now))
			}
			if at == "/" {
				break
			}
		}
	}
	return limit, used
}

// number reads a file that holds one number. Zero means that there is none, or
// that it stands for no limit.
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= math.MaxInt64/2 {
		return 0
	}
	return n
}
