package kit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Goroutines are the goroutines that there are, counted by the places that started them.
type Goroutines map[string]int

// CountGoroutines counts the goroutines.
func CountGoroutines() Goroutines {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	count := Goroutines{}
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		_, by, ok := strings.Cut(stack, "\ncreated by ")
		if !ok {
			continue // the main goroutine
		}
		function, place, _ := strings.Cut(by, "\n\t")
		function, _, _ = strings.Cut(function, " in goroutine ")
		place, _, _ = strings.Cut(place, " +0x")
		count[function+" "+place]++
	}
	return count
}

// WaitForEnd waits until no place has more goroutines than before, and fails the test if one keeps
// them for minutes.
func (before Goroutines) WaitForEnd(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		left := ""
		for place, n := range CountGoroutines() {
			if n > before[place] {
				left += fmt.Sprintf("\n%d more of %s", n-before[place], place)
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("goroutines are left:%s", left)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}
