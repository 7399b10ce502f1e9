package storetest

import (
	"time"

	"freshet/internal/auth"
	"freshet/internal/freshet"
)

// claim asks for the key of a request.
func (b *bench) claim(key, request string, at time.Time) (auth.KeptAnswer, error) {
	b.Helper()
	return b.ClaimAnswer(b.Context(), auth.KeptAnswer{Key: freshet.HashOf([]byte(key)), Request: freshet.HashOf([]byte(request)), At: at}, at.Add(-time.Hour))
}

var answerTests = []test{
	{"an answer is kept under its key, and found after a restart", func(b *bench) {
		_, err := b.claim("k", "add a", noon)
		b.is("the first claim", err, freshet.ErrNotFound)
		under, err := b.claim("k", "add a", minute(1))
		b.ok("the second claim", err)
		want := auth.KeptAnswer{Key: freshet.HashOf([]byte("k")), Request: freshet.HashOf([]byte("add a")), At: noon}
		same(b, "what is under way", under, want)
		b.reopen()
		under, err = b.claim("k", "add b", minute(2))
		b.ok("a claim after a restart", err)
		same(b, "what was under way", under, want)
		want.Status, want.Header, want.Body = 201, map[string]string{"ETag": `"1"`}, []byte(`{"id":"a"}`)
		b.ok("keep", b.KeepAnswer(b.Context(), want))
		b.reopen()
		kept, err := b.claim("k", "add a", minute(3))
		b.ok("a claim of what is done", err)
		same(b, "what is kept", kept, want)
		_, err = b.claim("other", "add a", minute(3))
		b.is("a claim of another key", err, freshet.ErrNotFound)
	}},
	{"a key that was given up can be claimed again", func(b *bench) {
		_, err := b.claim("k", "add a", noon)
		b.is("the first claim", err, freshet.ErrNotFound)
		b.ok("give up", b.KeepAnswer(b.Context(), auth.KeptAnswer{Key: freshet.HashOf([]byte("k"))}))
		_, err = b.claim("k", "add b", minute(1))
		b.is("the second claim", err, freshet.ErrNotFound)
	}},
	{"answers are forgotten after a time", func(b *bench) {
		for i := range 3 {
			_, err := b.claim(string(rune('a'+i)), "add", minute(30*i))
			b.is("a claim", err, freshet.ErrNotFound)
		}
		_, err := b.claim("c", "add", minute(61))
		b.ok("a claim of what is kept", err)
		_, err = b.claim("a", "add", minute(61))
		b.is("a claim of what is forgotten", err, freshet.ErrNotFound)
		_, err = b.claim("b", "add", minute(61))
		b.ok("a claim of what is just kept", err)
	}},
}
