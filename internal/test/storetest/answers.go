package storetest

import (
	"context"
	"time"

	"freshet/internal/auth"
	"freshet/internal/freshet"
	"freshet/internal/store"
)

// kept looks for what is kept under a key at a time.
func (b *bench) kept(key string, at time.Time) (auth.KeptAnswer, error) {
	b.Helper()
	return b.Answer(b.Context(), freshet.HashOf([]byte(key)), at.Add(-time.Hour))
}

func answerUnder(key string, at time.Time) auth.KeptAnswer {
	return auth.KeptAnswer{
		Key: freshet.HashOf([]byte(key)), Request: freshet.HashOf([]byte("add " + key)), At: at,
		Status: 201, Header: map[string]string{"ETag": `"1"`}, Body: []byte(`{"id":"a"}`),
	}
}

var answerTests = []test{
	{"an answer is kept under its key, and found after a restart", func(b *bench) {
		_, err := b.kept("k", noon)
		b.is("what is under a new key", err, freshet.ErrNotFound)
		want := answerUnder("k", noon)
		b.ok("keep", b.KeepAnswer(b.Context(), want, noon.Add(-time.Hour)))
		b.reopen()
		got, err := b.kept("k", minute(3))
		b.ok("what is kept", err)
		same(b, "what is kept", got, want)
		_, err = b.kept("other", minute(3))
		b.is("what is under another key", err, freshet.ErrNotFound)
	}},
	{"an answer is committed with the work that it is of, or not at all", func(b *bench) {
		var got any
		with := func() (context.Context, *store.Rider) {
			return auth.WithAnswer(b.Context(), func(result any) auth.KeptAnswer {
				got = result
				return auth.KeptAnswer{Key: freshet.HashOf([]byte("k")), At: noon, Status: auth.Performed, Header: map[string]string{}}
			})
		}
		ctx, rider := with()
		_, err := b.AddSource(ctx, freshet.Source{ID: "?", URL: "https://a.example/"})
		if err == nil {
			b.Error("a source without a good ID was added")
		}
		_, err = b.kept("k", noon)
		b.is("the answer to what was not done", err, freshet.ErrNotFound)
		added, err := b.AddSource(ctx, freshet.Source{ID: "a", URL: "https://a.example/"})
		b.ok("add", err)
		same(b, "the result", got, any(added))
		if !rider.End() {
			b.Error("nothing was committed with it")
		}
		b.reopen()
		a, err := b.kept("k", noon)
		b.ok("the answer to what was done", err)
		same(b, "its status", a.Status, auth.Performed)
		ctx, rider = with()
		rider.End()
		b.ok("remove", b.RemoveSource(ctx, "a", false))
		if got = nil; rider.End() {
			b.Error("something was committed with it after its end")
		}
	}},
	{"answers are forgotten after a time", func(b *bench) {
		for i := range 3 {
			at := minute(30 * i)
			b.ok("keep", b.KeepAnswer(b.Context(), answerUnder(string(rune('a'+i)), at), at.Add(-time.Hour)))
		}
		_, err := b.kept("c", minute(61))
		b.ok("what is kept", err)
		_, err = b.kept("a", minute(61))
		b.is("what is forgotten", err, freshet.ErrNotFound)
		_, err = b.kept("b", minute(61))
		b.ok("what is just kept", err)
	}},
}
