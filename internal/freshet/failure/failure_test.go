package failure_test

import (
	"testing"

	"freshet/internal/freshet/failure"
)

func TestFailureIs(t *testing.T) {
	tests := []struct {
		failure, class failure.Class
		want           bool
	}{
		{failure.Timeout, failure.Timeout, true},
		{failure.TimeoutHeader, failure.Timeout, true},
		{failure.Timeout, failure.TimeoutHeader, false},
		{failure.HTTP.WithStatus(404), failure.HTTP, true},
		{"http.404", failure.HTTP.WithStatus(404), true},
		{"https", failure.HTTP, false}, // longer, but of another word
		{"", failure.HTTP, false},
	}
	for _, tt := range tests {
		if got := tt.failure.Is(tt.class); got != tt.want {
			t.Errorf("whether %q is a failure of class %q is answered with %v", tt.failure, tt.class, got)
		}
	}
}
