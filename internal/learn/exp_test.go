package learn_test

import (
	"math"
	"testing"

	"freshet/internal/learn"
)

func TestExp(t *testing.T) {
	for x := 0.0; x > -710; x -= 0.0137 {
		if got, want := learn.Exp(x), math.Exp(x); math.Abs(got-want) > 1e-9*want+1e-300 {
			t.Fatalf("e^%v is %v, want %v", x, got, want)
		}
	}
}
