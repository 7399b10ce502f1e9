package freshet_test

import (
	"testing"

	"freshet/internal/freshet"
)

func TestFailureIs(t *testing.T) {
	tests := []struct {
		failure, class freshet.Failure
		want           bool
	}{
		{freshet.FailTimeout, freshet.FailTimeout, true},
		{freshet.FailTimeoutHeader, freshet.FailTimeout, true},
		{freshet.FailTimeout, freshet.FailTimeoutHeader, false},
		{freshet.FailHTTP.WithStatus(404), freshet.FailHTTP, true},
		{"http.404", freshet.FailHTTP.WithStatus(404), true},
		{"https", freshet.FailHTTP, false}, // longer, but of another word
		{"", freshet.FailHTTP, false},
	}
	for _, tt := range tests {
		if got := tt.failure.Is(tt.class); got != tt.want {
			t.Errorf("whether %q is a failure of class %q is answered with %v", tt.failure, tt.class, got)
		}
	}
}
