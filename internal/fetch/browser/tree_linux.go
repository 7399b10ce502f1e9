package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processTree returns a process and all that descend from it.
func processTree(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all) && len(all) < 1000; i++ {
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(all[i]) + "/task/*/children")
		for _, file := range tasks {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for word := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(word); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// memoryOf returns how many bytes a process and its descendants have to themselves:
// what is mapped from files is shared and not counted.
func memoryOf(pid int) (total int64) {
	for _, pid := range processTree(pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue // it has ended
		}
		for line := range bytes.Lines(text) {
			name, rest, _ := strings.Cut(string(line), ":")
			if name != "RssAnon" && name != "RssShmem" {
				continue
			}
			if kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64); err == nil {
				total += kib << 10
			}
		}
	}
	return total
}

// usersOf returns the processes of a browser that was started with a profile.
func usersOf(profile string) (pids []int) {
	want := []byte("--user-data-dir=" + profile)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err != nil {
			continue
		}
		for arg := range bytes.SplitSeq(line, []byte{0}) {
			if bytes.Equal(arg, want) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// alive reports whether there is a process.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
