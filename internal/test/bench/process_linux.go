package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc.
const tick = 10 * time.Millisecond

// processTime returns how much CPU time a process has used, with its children: those that run, and those that have ended.
func processTime(pid int) (used time.Duration, err error) {
	parent, used, err := processStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	others, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, other := range others {
		var child time.Duration
		if parent, child, err = processStat(other); err == nil && parent == pid { // otherwise it has ended meanwhile
			used += child
		}
	}
	return used, nil
}

// processStat reads the parent of a process and the CPU time of the process and of its children that have ended.
func processStat(file string) (parent int, used time.Duration, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from the third on
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("read the CPU time of a process: %s has %d fields", file, len(fields))
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	for _, field := range fields[11:15] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read the CPU time of a process: %w", err)
		}
		used += time.Duration(ticks) * tick
	}
	return parent, used, nil
}
