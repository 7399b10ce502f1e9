package freshet_test

import (
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/rendering"
)

func TestSameDocument(t *testing.T) {
	const url = "https://shop.example/pump"
	plain := freshet.Source{URL: url}
	edited := func(edit func(*freshet.Source)) freshet.Source {
		s := plain
		edit(&s)
		return s
	}
	german := edited(func(s *freshet.Source) { s.Request = &profile.Profile{Language: "de"} })
	for _, tt := range []struct {
		name string
		a, b freshet.Source
		want bool
	}{
		{"read otherwise", plain, edited(func(s *freshet.Source) {
			s.ID, s.Recipe.CSS, s.Noise, s.Origin = "b", ".price", freshet.NoiseAuto, freshet.FromFile
		}), true},
		{"nothing to ask for", freshet.Source{}, freshet.Source{}, false},
		{"another URL", plain, edited(func(s *freshet.Source) { s.URL += "s" }), false},
		{"asked for alike", german, edited(func(s *freshet.Source) { s.Request, s.Recipe.CSS = &profile.Profile{Language: "de"}, "p" }), true},
		{"asked for otherwise", plain, german, false},
		{"with an empty request", plain, edited(func(s *freshet.Source) { s.Request, s.Expect = &profile.Profile{}, &profile.Expect{} }), true},
		{"for as long as another", german, edited(func(s *freshet.Source) { s.Request = &profile.Profile{Language: "de", Timeout: "5s"} }), false},
		{"by who may do more", german, edited(func(s *freshet.Source) { s.Request, s.Origin = german.Request, freshet.FromFile }), false},
		{"expecting something else", plain, edited(func(s *freshet.Source) { s.Expect = &profile.Expect{Match: "price"} }), false},
		{"shown in a browser", plain, edited(func(s *freshet.Source) { s.Recipe.Render.On = true }), false},
		{"both shown in a browser", edited(func(s *freshet.Source) { s.Recipe.Render.On = true }), edited(func(s *freshet.Source) { s.Recipe.Render.On, s.Recipe.CSS = true, "p" }), true},
		{"with a picture", edited(func(s *freshet.Source) { s.Recipe.Render.On = true }), edited(func(s *freshet.Source) { s.Recipe.Render = rendering.Settings{On: true, Screenshot: true} }), false},
		{"with a jar that all share", edited(func(s *freshet.Source) { s.Request = &profile.Profile{Jar: "shop"} }), edited(func(s *freshet.Source) { s.Request = &profile.Profile{Jar: "shop"} }), true},
		{"with a jar of its own", edited(func(s *freshet.Source) { s.Request = &profile.Profile{Jar: profile.OwnJar} }), edited(func(s *freshet.Source) { s.Request = &profile.Profile{Jar: profile.OwnJar} }), false},
	} {
		if got, back := tt.a.SameDocument(&tt.b), tt.b.SameDocument(&tt.a); got != tt.want || back != tt.want {
			t.Errorf("%s: the same document %t and %t, want %t", tt.name, got, back, tt.want)
		}
	}
}
