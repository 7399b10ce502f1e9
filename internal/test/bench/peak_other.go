//go:build !linux

package bench

// forgetPeak does nothing: the peak is not known here.
func forgetPeak() {}

// peakMemory returns 0: the peak is not known here.
func peakMemory() float64 { return 0 }
